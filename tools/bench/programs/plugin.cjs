// The same program with the classes of the plugin.
const { TLSCertificate, TLSEdge } = require("tlsedge-plugin");
const { kind, resources } = require("./resources.json");

const Resource = kind === "certificates" ? TLSCertificate : TLSEdge;
for (const { name, args } of resources) new Resource(name, args);
