// Makes no request and stores what `pulumi-tlsedge` was seen to store, to the byte.
const { createHash, randomBytes } = require("node:crypto");
const recordings = require("./recordings.json");

function floor({ id, inputs, outputs }) {
  const [prefix, suffix] = id.split("_");
  // The one value that must follow the inputs: by it a new chain is seen to replace.
  const fingerprint = ({ certificatePem }) =>
    certificatePem && {
      chainFingerprint: createHash("sha256").update(certificatePem).digest("hex"),
    };
  const state = (news) => ({
    ...Object.fromEntries(outputs.given.map((name) => [name, news[name]])),
    ...outputs.constant,
    ...fingerprint(news),
  });
  return {
    check: async (_olds, news) => ({
      inputs: { ...news, ...inputs.constant, ...(inputs.hasFingerprint && fingerprint(news)) },
    }),
    diff: async (_id, olds, news) => ({
      replaces:
        olds.chainFingerprint === fingerprint(news)?.chainFingerprint ? [] : ["certificatePem"],
    }),
    create: async (news) => ({
      id: `${prefix}_${randomBytes(suffix.length).toString("hex").slice(0, suffix.length)}`,
      outs: state(news),
    }),
    update: async (_id, _olds, news) => ({ outs: state(news) }),
    delete: async () => {},
  };
}

exports.tlsCertificate = recordings.certificates && floor(recordings.certificates);
exports.tlsEdge = recordings.edges && floor(recordings.edges);
