package main

import (
	"os"

	"github.com/example-owner/pulumi-tlsedge/sdk/go/tlsedge"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		chain, err := os.ReadFile("app.pem")
		if err != nil {
			return err
		}
		certificate, err := tlsedge.NewTLSCertificate(ctx, "app", &tlsedge.TLSCertificateArgs{
			CertificatePem:  pulumi.String(chain),
			PrivateKeyPem:   config.New(ctx, "").RequireSecret("appKey"),
			RenewBeforeDays: pulumi.Int(21),
		})
		if err != nil {
			return err
		}
		ctx.Export("expires", certificate.NotAfter)
		return nil
	})
}
