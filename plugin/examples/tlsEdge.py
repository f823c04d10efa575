import pulumi
import pulumi_tlsedge as tlsedge

edge = tlsedge.TLSEdge("app",
    hostports=["app.example.com:443"],
    backend={"backend_id": "bkdtg_1"},
    ip_restriction={"ip_policy_ids": ["ipp_1"]},
    tls_termination={"terminate_at": "edge", "min_version": "1.2"})

pulumi.export("edgeId", edge.id)
