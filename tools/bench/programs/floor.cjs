// The same resources, of a provider that does nothing: the cost is the engine's own.
const pulumi = require("@pulumi/pulumi");
const { kind, resources } = require("./resources.json");
const recordings = require("tlsedge-floors/recordings.json");

// A class, as in our package: the state holds the place where a resource was constructed.
class Floor extends pulumi.CustomResource {
  constructor(name, { privateKeyPem, ...args }, { token, provider } = recordings[kind]) {
    const secret = privateKeyPem && { privateKeyPem: pulumi.secret(privateKeyPem) };
    // `__secrets`: our package passes such a list too, and the provider leaves it out of the state.
    super(token, name, { ...args, ...secret, __secrets: [], __provider: provider });
  }
}

for (const { name, args } of resources) new Floor(name, args);
