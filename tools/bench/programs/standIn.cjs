// What the SDK of a bridged provider declares: arguments, and hardly an output beside them.
const pulumi = require("@pulumi/pulumi");
const { kind, resources } = require("./resources.json");

class TLSCertificate extends pulumi.CustomResource {
  constructor(name, { privateKeyPem, ...args }) {
    super("standin:index:TLSCertificate", name, {
      ...args,
      metadata: undefined,
      privateKeyPem: pulumi.secret(privateKeyPem),
      subjectAlternativeNames: undefined,
    });
  }
}

class TLSEdge extends pulumi.CustomResource {
  constructor(name, args) {
    super("standin:index:TLSEdge", name, { ...args, metadata: undefined });
  }
}

const Resource = kind === "certificates" ? TLSCertificate : TLSEdge;
for (const { name, args } of resources) new Resource(name, args);
