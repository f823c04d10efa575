package main

import (
	"context"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// The names that the resources had before, by the last part of their type.
var before = map[string]string{"TLSCertificate": "cert", "TLSEdge": "edge"}

// Makes old resources the parts of a site:
// tlsedge.NewTLSSite(ctx, "app", …, pulumi.Transforms([]pulumi.ResourceTransform{move}))
func move(_ context.Context, args *pulumi.ResourceTransformArgs) *pulumi.ResourceTransformResult {
	name, known := before[args.Type[strings.LastIndex(args.Type, ":")+1:]]
	if !known {
		return nil
	}
	args.Opts.Aliases = []pulumi.Alias{{Name: pulumi.String(name), NoParent: pulumi.Bool(true)}}
	return &pulumi.ResourceTransformResult{Props: args.Props, Opts: args.Opts}
}
