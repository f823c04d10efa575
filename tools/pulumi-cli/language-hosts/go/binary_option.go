package main

import (
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// The engine no longer gives the options of Pulumi.yaml as flags, but with each request, where the
// last host that is published as a Go module does not look.
const (
	infoField    = 14
	optionsField = 4
)

// binaryOption gives `runtime: { options: { binary } }`: the program, already built.
func binaryOption(req *pulumirpc.RunRequest) string {
	var options structpb.Struct
	if err := proto.Unmarshal(newField(req, infoField, optionsField), &options); err != nil {
		return ""
	}
	return options.Fields["binary"].GetStringValue()
}
