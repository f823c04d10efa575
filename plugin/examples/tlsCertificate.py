from pathlib import Path

import pulumi
import pulumi_tlsedge as tlsedge

certificate = tlsedge.TLSCertificate("app",
    certificate_pem=Path("app.pem").read_text(),
    private_key_pem=pulumi.Config().require_secret("appKey"),
    renew_before_days=21)

pulumi.export("expires", certificate.not_after)
