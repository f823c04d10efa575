import re

import pulumi
import pulumi_tlsedge as tlsedge

config = pulumi.Config()
domain = config.require("domain")
access = config.require("access")
folder = config.get("certificateFolder") or "certificate"

site = tlsedge.TLSSite("site",
    hostports=[f"{domain}:443"],
    chain_file=f"{folder}/fullchain.pem",
    key_file=f"{folder}/privkey.pem",
    backend_id=config.require("backendId"),
    access={"public": True} if access == "anyone" else {"ip_policy_ids": re.split(r"\s*,\s*", access)},
    owner=config.get("owner"))

pulumi.export("url", f"https://{domain}")
pulumi.export("edgeId", site.edge.id)
pulumi.export("expires", site.expires)
