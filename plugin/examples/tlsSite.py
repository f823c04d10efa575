import pulumi
import pulumi_tlsedge as tlsedge

site = tlsedge.TLSSite("app",
    hostports=["app.example.com:443"],
    chain_file="app/fullchain.pem",
    key_file="app/privkey.pem",
    backend_id=pulumi.Config().require("backendId"),
    access={"ip_policy_ids": ["ipp_1"]},
    owner="web")

pulumi.export("edgeId", site.edge_id)
pulumi.export("expires", site.expires)
