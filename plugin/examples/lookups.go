package main

import (
	"github.com/example-owner/pulumi-tlsedge/sdk/go/tlsedge"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		edge := tlsedge.LookupTLSEdgeOutput(ctx, tlsedge.LookupTLSEdgeOutputArgs{
			Hostport: pulumi.String("app.example.com:443"),
		})
		certificate := tlsedge.LookupTLSCertificateOutput(ctx, tlsedge.LookupTLSCertificateOutputArgs{
			Domain: pulumi.String("app.example.com"),
		})
		tunnel := tlsedge.GetTunnelOutput(ctx, tlsedge.GetTunnelOutputArgs{
			Labels: pulumi.StringMap{"app": pulumi.String("web")},
		})
		edges := tlsedge.GetTLSEdgesOutput(ctx, tlsedge.GetTLSEdgesOutputArgs{
			Metadata: pulumi.StringMap{"owner": pulumi.String("web")},
		})
		expiring := tlsedge.GetTLSCertificatesOutput(ctx, tlsedge.GetTLSCertificatesOutputArgs{
			ExpiresBefore: pulumi.String("2100-01-01T00:00:00Z"),
		})
		tunnels := tlsedge.GetTunnelsOutput(ctx, tlsedge.GetTunnelsOutputArgs{
			Proto: pulumi.String("https"),
		})

		ctx.Export("edgeId", edge.Id())
		ctx.Export("expires", certificate.NotAfter())
		ctx.Export("forwardsTo", tunnel.ForwardsTo())
		ctx.Export("edges", edges.TlsEdges())
		ctx.Export("certificates", expiring.TlsCertificates())
		ctx.Export("tunnels", tunnels.Tunnels())
		return nil
	})
}
