using System.Collections.Generic;
using Pulumi;
using TlsEdge = ExampleOwner.TlsEdge;

return await Deployment.RunAsync(() =>
{
    var edge = new TlsEdge.TLSEdge("app", new()
    {
        Hostports = { "app.example.com:443" },
        Backend = new TlsEdge.Inputs.BackendArgs { BackendId = "bkdtg_1" },
        IpRestriction = new TlsEdge.Inputs.IPRestrictionArgs { IpPolicyIds = { "ipp_1" } },
        TlsTermination = new TlsEdge.Inputs.TLSTerminationArgs { TerminateAt = "edge", MinVersion = "1.2" },
    });

    return new Dictionary<string, object?> { ["edgeId"] = edge.Id };
});
