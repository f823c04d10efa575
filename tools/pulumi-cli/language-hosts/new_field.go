package main

import (
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// option gives what Pulumi.yaml has at `runtime: { options: { <name> } }`; nil when it is not set. The
// engine no longer gives the options as flags, but with each request, where the last host that is
// published as a Go module does not look.
func option(req *pulumirpc.RunRequest, name string) *structpb.Value {
	const info, infoOptions = 14, 4
	var options structpb.Struct
	if err := proto.Unmarshal(newField(req, info, infoOptions), &options); err != nil {
		return nil
	}
	return options.Fields[name]
}

// newField gives a field of a request that is newer than this host's protocol: the first number is
// the field's, each other one is of a field inside the one before. It gives nil when it is not set.
func newField(request proto.Message, path ...protowire.Number) []byte {
	message := request.ProtoReflect().GetUnknown()
	for _, wanted := range path {
		message = bytesField(message, wanted)
	}
	return message
}

func bytesField(message []byte, wanted protowire.Number) []byte {
	for len(message) > 0 {
		number, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil
		}
		message = message[size:]
		if number == wanted && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			return value
		}
		if size = protowire.ConsumeFieldValue(number, kind, message); size < 0 {
			return nil
		}
		message = message[size:]
	}
	return nil
}
