package main

import (
	"github.com/example-owner/pulumi-tlsedge/sdk/go/tlsedge"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		site, err := tlsedge.NewTLSSite(ctx, "app", &tlsedge.TLSSiteArgs{
			Hostports: pulumi.StringArray{pulumi.String("app.example.com:443")},
			ChainFile: pulumi.StringRef("app/fullchain.pem"),
			KeyFile:   pulumi.StringRef("app/privkey.pem"),
			BackendId: pulumi.String(config.New(ctx, "").Require("backendId")),
			Access: &tlsedge.TLSSiteAccessArgs{
				IpPolicyIds: pulumi.StringArray{pulumi.String("ipp_1")},
			},
			Owner: pulumi.String("web"),
		})
		if err != nil {
			return err
		}
		ctx.Export("edgeId", site.EdgeId)
		ctx.Export("expires", site.Expires)
		return nil
	})
}
