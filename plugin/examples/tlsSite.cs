using System.Collections.Generic;
using Pulumi;
using TlsEdge = ExampleOwner.TlsEdge;

return await Deployment.RunAsync(() =>
{
    var site = new TlsEdge.TLSSite("app", new()
    {
        Hostports = { "app.example.com:443" },
        ChainFile = "app/fullchain.pem",
        KeyFile = "app/privkey.pem",
        BackendId = new Config().Require("backendId"),
        Access = new TlsEdge.Inputs.TLSSiteAccessArgs { IpPolicyIds = { "ipp_1" } },
        Owner = "web",
    });

    return new Dictionary<string, object?>
    {
        ["edgeId"] = site.EdgeId,
        ["expires"] = site.Expires,
    };
});
