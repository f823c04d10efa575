import pulumi
import pulumi_tlsedge as tlsedge

edge = tlsedge.get_tls_edge_output(hostport="app.example.com:443")
certificate = tlsedge.get_tls_certificate_output(domain="app.example.com")
tunnel = tlsedge.get_tunnel_output(labels={"app": "web"})

edges = tlsedge.get_tls_edges_output(metadata={"owner": "web"})
expiring = tlsedge.get_tls_certificates_output(expires_before="2100-01-01T00:00:00Z")
tunnels = tlsedge.get_tunnels_output(proto="https")

pulumi.export("edgeId", edge.id)
pulumi.export("expires", certificate.not_after)
pulumi.export("forwardsTo", tunnel.forwards_to)
pulumi.export("edges", edges.tls_edges)
pulumi.export("certificates", expiring.tls_certificates)
pulumi.export("tunnels", tunnels.tunnels)
