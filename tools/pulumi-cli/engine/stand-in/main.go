// A stand-in for a bridged provider in the benchmark: a plugin in Go that declares and stores only
// the arguments of a resource, with keys as secrets, and sends what bridged providers send: a GET
// after each write, and one for each resource of a refresh. It checks nothing.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"unicode"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

var paths = map[string]string{
	"standin:index:TLSCertificate": "/tls_certificates",
	"standin:index:TLSEdge":        "/edges/tls",
}

type provider struct {
	pulumirpc.UnimplementedResourceProviderServer
}

func main() {
	serving, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{Init: func(server *grpc.Server) error {
		pulumirpc.RegisterResourceProviderServer(server, &provider{})
		return nil
	}})
	if err == nil {
		fmt.Println(serving.Port)
		err = <-serving.Done
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (*provider) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: "0.0.1"}, nil
}

func (*provider) CheckConfig(_ context.Context, request *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	return &pulumirpc.CheckResponse{Inputs: request.News}, nil
}

func (*provider) DiffConfig(context.Context, *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	return &pulumirpc.DiffResponse{}, nil
}

func (*provider) Configure(context.Context, *pulumirpc.ConfigureRequest) (*pulumirpc.ConfigureResponse, error) {
	return &pulumirpc.ConfigureResponse{AcceptSecrets: true, SupportsPreview: true}, nil
}

func (*provider) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

func (*provider) Check(_ context.Context, request *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	return &pulumirpc.CheckResponse{Inputs: request.News}, nil
}

func (*provider) Diff(_ context.Context, request *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	olds, err := properties(request.OldInputs)
	if err != nil {
		return nil, err
	}
	news, err := properties(request.News)
	if err != nil {
		return nil, err
	}
	changed := []string{}
	for _, key := range news.StableKeys() {
		if !news[key].DeepEquals(olds[key]) {
			changed = append(changed, string(key))
		}
	}
	if len(changed) == 0 {
		return &pulumirpc.DiffResponse{Changes: pulumirpc.DiffResponse_DIFF_NONE}, nil
	}
	return &pulumirpc.DiffResponse{Changes: pulumirpc.DiffResponse_DIFF_SOME, Diffs: changed}, nil
}

func (*provider) Create(ctx context.Context, request *pulumirpc.CreateRequest) (*pulumirpc.CreateResponse, error) {
	if request.Preview {
		return &pulumirpc.CreateResponse{Properties: request.Properties}, nil
	}
	path := paths[resource.URN(request.Urn).Type().String()]
	answer, err := send(ctx, "POST", path, request.Properties)
	if err != nil {
		return nil, err
	}
	id := answer["id"].(string)
	stored, err := readBack(ctx, path+"/"+id, request.Properties)
	return &pulumirpc.CreateResponse{Id: id, Properties: stored}, err
}

func (*provider) Read(ctx context.Context, request *pulumirpc.ReadRequest) (*pulumirpc.ReadResponse, error) {
	path := paths[resource.URN(request.Urn).Type().String()] + "/" + request.Id
	stored, err := readBack(ctx, path, request.Properties)
	return &pulumirpc.ReadResponse{Id: request.Id, Properties: stored, Inputs: request.Inputs}, err
}

func (*provider) Update(ctx context.Context, request *pulumirpc.UpdateRequest) (*pulumirpc.UpdateResponse, error) {
	if request.Preview {
		return &pulumirpc.UpdateResponse{Properties: request.News}, nil
	}
	path := paths[resource.URN(request.Urn).Type().String()] + "/" + request.Id
	change, err := properties(request.News)
	if err != nil {
		return nil, err
	}
	delete(change, "certificatePem")
	delete(change, "privateKeyPem")
	body, err := plugin.MarshalProperties(change, kept)
	if err != nil {
		return nil, err
	}
	if _, err := send(ctx, "PATCH", path, body); err != nil {
		return nil, err
	}
	stored, err := readBack(ctx, path, request.News)
	return &pulumirpc.UpdateResponse{Properties: stored}, err
}

func (*provider) Delete(ctx context.Context, request *pulumirpc.DeleteRequest) (*emptypb.Empty, error) {
	path := paths[resource.URN(request.Urn).Type().String()] + "/" + request.Id
	_, err := send(ctx, "DELETE", path, nil)
	return &emptypb.Empty{}, err
}

var kept = plugin.MarshalOptions{KeepSecrets: true, KeepUnknowns: true}

func properties(values *structpb.Struct) (resource.PropertyMap, error) {
	return plugin.UnmarshalProperties(values, kept)
}

// readBack gives the properties with the values that the service has for them.
func readBack(ctx context.Context, path string, given *structpb.Struct) (*structpb.Struct, error) {
	answer, err := send(ctx, "GET", path, nil)
	if err != nil {
		return nil, err
	}
	stored, err := properties(given)
	if err != nil {
		return nil, err
	}
	for key, value := range resource.NewPropertyMapFromMap(renamed(answer, camelCase).(map[string]any)) {
		if old, ok := stored[key]; ok && !old.IsObject() || key == "subjectAlternativeNames" {
			stored[key] = value
		}
	}
	return plugin.MarshalProperties(stored, kept)
}

func send(ctx context.Context, method, path string, given *structpb.Struct) (map[string]any, error) {
	var body []byte
	if given != nil {
		plain, err := plugin.UnmarshalProperties(given, plugin.MarshalOptions{})
		if err != nil {
			return nil, err
		}
		if body, err = json.Marshal(renamed(plain.Mappable(), snakeCase)); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, os.Getenv("TLSEDGE_BASE_URL")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TLSEDGE_API_KEY"))
	request.Header.Set("Service-Version", "2")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent {
		return nil, nil
	}
	answer := map[string]any{}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %d", method, path, response.StatusCode)
	}
	return answer, nil
}

// renamed changes the names of all properties, at any depth.
func renamed(value any, rename func(string) string) any {
	switch value := value.(type) {
	case map[string]any:
		named := map[string]any{}
		for name, part := range value {
			named[rename(name)] = renamed(part, rename)
		}
		return named
	case []any:
		parts := make([]any, len(value))
		for index, part := range value {
			parts[index] = renamed(part, rename)
		}
		return parts
	}
	return value
}

func snakeCase(name string) string {
	var text strings.Builder
	for _, letter := range name {
		if unicode.IsUpper(letter) {
			text.WriteByte('_')
		}
		text.WriteRune(unicode.ToLower(letter))
	}
	return text.String()
}

func camelCase(name string) string {
	words := strings.Split(name, "_")
	for index, word := range words[1:] {
		words[index+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}
