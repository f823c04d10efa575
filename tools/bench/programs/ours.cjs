// The program of a user of this package.
const { TLSCertificate, TLSEdge } = require("pulumi-tlsedge");
const { kind, resources } = require("./resources.json");

const Resource = kind === "certificates" ? TLSCertificate : TLSEdge;
for (const { name, args } of resources) new Resource(name, args);
