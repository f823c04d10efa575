// Makes no request and stores what `pulumi-tlsedge` stores, as recorded.
const { randomBytes } = require("node:crypto");
const recordings = require("./recordings.json");

function floor({ id, inputs, outputs }) {
  const [prefix, suffix] = id.split("_");
  const state = (news) => ({
    ...Object.fromEntries(outputs.given.map((name) => [name, news[name]])),
    ...outputs.constant,
  });
  return {
    check: async (_olds, { __secrets, ...news }) => ({ inputs: { ...news, ...inputs.constant } }),
    diff: async (_id, olds, news) => ({
      replaces: olds.certificatePem === news.certificatePem ? [] : ["certificatePem"],
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
