package main

import (
	"path/filepath"
	"regexp"

	"github.com/example-owner/pulumi-tlsedge/sdk/go/tlsedge"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		cfg := config.New(ctx, "")
		domain := cfg.Require("domain")
		folder := cfg.Get("certificateFolder")
		if folder == "" {
			folder = "certificate"
		}
		access := &tlsedge.TLSSiteAccessArgs{Public: pulumi.BoolRef(true)}
		if ids := cfg.Require("access"); ids != "anyone" {
			list := regexp.MustCompile(`\s*,\s*`).Split(ids, -1)
			access = &tlsedge.TLSSiteAccessArgs{IpPolicyIds: pulumi.ToStringArray(list)}
		}
		site, err := tlsedge.NewTLSSite(ctx, "site", &tlsedge.TLSSiteArgs{
			Hostports: pulumi.StringArray{pulumi.String(domain + ":443")},
			ChainFile: pulumi.StringRef(filepath.Join(folder, "fullchain.pem")),
			KeyFile:   pulumi.StringRef(filepath.Join(folder, "privkey.pem")),
			BackendId: pulumi.String(cfg.Require("backendId")),
			Access:    access,
			Owner:     pulumi.String(cfg.Get("owner")),
		})
		if err != nil {
			return err
		}
		ctx.Export("url", pulumi.String("https://"+domain))
		ctx.Export("edgeId", site.Edge.ApplyT(func(edge *tlsedge.TLSEdge) pulumi.IDOutput { return edge.ID() }))
		ctx.Export("expires", site.Expires)
		return nil
	})
}
