// The classes and functions of the plugin for programs under test: what a generated Node.js SDK
// does, read from the schema.
const pulumi = require("@pulumi/pulumi");
const schema = require("../plugin/schema.json");

const nameOf = (token) => token.split(":").at(-1);

for (const [token, resource] of Object.entries(schema.resources)) {
  const { properties, inputProperties, isComponent } = resource;
  const outputs = Object.fromEntries(Object.keys(properties).map((name) => [name, undefined]));
  const secrets = Object.keys(inputProperties).filter((name) => inputProperties[name].secret);
  const Resource = isComponent ? pulumi.ComponentResource : pulumi.CustomResource;
  exports[nameOf(token)] = class extends Resource {
    static __pulumiType = token;

    constructor(name, args = {}, opts = {}) {
      const given = secrets.filter((secret) => args[secret] !== undefined);
      const marked = given.map((secret) => [secret, pulumi.secret(args[secret])]);
      super(token, name, { ...outputs, ...args, ...Object.fromEntries(marked) }, opts, isComponent);
      for (const secret of secrets) delete this[secret];
    }

    static get(name, id, state, opts) {
      return new exports[nameOf(token)](name, state, { ...opts, id });
    }
  };
}

// The outputs of a component may be resources.
pulumi.runtime.registerResourceModule("tlsedge", "index", {
  version: schema.version,
  construct: (name, type, urn) => new exports[nameOf(type)](name, undefined, { urn }),
});

exports.Provider = class extends pulumi.ProviderResource {
  constructor(name, { apiKey, ...args } = {}, opts = {}) {
    const texts = Object.entries(args).map(([key, value]) => [
      key,
      typeof value === "number" ? JSON.stringify(value) : value,
    ]);
    const key = apiKey === undefined ? {} : { apiKey: pulumi.secret(apiKey) };
    super("tlsedge", name, { ...Object.fromEntries(texts), ...key }, opts);
  }
};

for (const token of Object.keys(schema.functions)) {
  exports[nameOf(token)] = (args = {}, opts) => pulumi.runtime.invoke(token, args, opts);
  exports[`${nameOf(token)}Output`] = (args = {}, opts) =>
    pulumi.runtime.invokeOutput(token, args, opts);
}
