using System.Collections.Generic;
using System.IO;
using Pulumi;
using TlsEdge = ExampleOwner.TlsEdge;

return await Deployment.RunAsync(() =>
{
    var certificate = new TlsEdge.TLSCertificate("app", new()
    {
        CertificatePem = File.ReadAllText("app.pem"),
        PrivateKeyPem = new Config().RequireSecret("appKey"),
        RenewBeforeDays = 21,
    });

    return new Dictionary<string, object?> { ["expires"] = certificate.NotAfter };
});
