package main

import (
	"github.com/example-owner/pulumi-tlsedge/sdk/go/tlsedge"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		edge, err := tlsedge.NewTLSEdge(ctx, "app", &tlsedge.TLSEdgeArgs{
			Hostports:     pulumi.StringArray{pulumi.String("app.example.com:443")},
			Backend:       &tlsedge.BackendArgs{BackendId: pulumi.String("bkdtg_1")},
			IpRestriction: &tlsedge.IPRestrictionArgs{IpPolicyIds: pulumi.StringArray{pulumi.String("ipp_1")}},
			TlsTermination: &tlsedge.TLSTerminationArgs{
				TerminateAt: pulumi.String("edge"),
				MinVersion:  pulumi.String("1.2"),
			},
		})
		if err != nil {
			return err
		}
		ctx.Export("edgeId", edge.ID())
		return nil
	})
}
