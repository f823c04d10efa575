// What people write today: a class whose methods Pulumi serializes, with all that they capture,
// into the state of every resource. It handles no drift, no limit and no lost answer.
const axios = require("axios");
const pulumi = require("@pulumi/pulumi");

const service = {
  baseURL: process.env.TLSEDGE_BASE_URL,
  headers: {
    Authorization: `Bearer ${process.env.TLSEDGE_API_KEY}`,
    "Service-Version": "2",
    "Content-Type": "application/json",
  },
};

class CertificateProvider {
  async create(inputs) {
    const { data } = await axios.post(
      "/tls_certificates",
      {
        description: inputs.description,
        certificate_pem: inputs.certificatePem,
        private_key_pem: inputs.privateKeyPem,
      },
      service,
    );
    const found = await axios.get(`/tls_certificates/${data.id}`, service);
    return { id: data.id, outs: { ...inputs, ...found.data } };
  }

  async read(id, props) {
    const { data } = await axios.get(`/tls_certificates/${id}`, service);
    return { id, props: { ...props, ...data } };
  }

  async diff(_id, olds, news) {
    const replaces = ["certificatePem", "privateKeyPem"].filter(
      (name) => olds[name] !== news[name],
    );
    return { changes: replaces.length > 0 || olds.description !== news.description, replaces };
  }

  async update(id, _olds, news) {
    const change = { description: news.description };
    const { data } = await axios.patch(`/tls_certificates/${id}`, change, service);
    return { outs: { ...news, ...data } };
  }

  async delete(id) {
    await axios.delete(`/tls_certificates/${id}`, service);
  }
}

class EdgeProvider {
  body(inputs) {
    return {
      description: inputs.description,
      hostports: inputs.hostports,
      backend: { backend_id: inputs.backend.backendId },
      ip_restriction: { ip_policy_ids: inputs.ipRestriction.ipPolicyIds },
      mutual_tls: { certificate_authority_ids: inputs.mutualTls.certificateAuthorityIds },
      tls_termination: {
        terminate_at: inputs.tlsTermination.terminateAt,
        min_version: inputs.tlsTermination.minVersion,
      },
    };
  }

  outputs(inputs, { uri, created_at: createdAt, description, hostports }) {
    return { ...inputs, uri, createdAt, description, hostports };
  }

  async create(inputs) {
    const { data } = await axios.post("/edges/tls", this.body(inputs), service);
    const found = await axios.get(`/edges/tls/${data.id}`, service);
    return { id: data.id, outs: this.outputs(inputs, found.data) };
  }

  async read(id, props) {
    const { data } = await axios.get(`/edges/tls/${id}`, service);
    return { id, props: this.outputs(props, data) };
  }

  async diff(_id, olds, news) {
    const names = Object.keys(news).filter((name) => name !== "__provider");
    return {
      changes: names.some((name) => JSON.stringify(olds[name]) !== JSON.stringify(news[name])),
    };
  }

  async update(id, _olds, news) {
    const { data } = await axios.patch(`/edges/tls/${id}`, this.body(news), service);
    return { outs: this.outputs(news, data) };
  }

  async delete(id) {
    await axios.delete(`/edges/tls/${id}`, service);
  }
}

const certificates = new CertificateProvider();
const edges = new EdgeProvider();

exports.TLSCertificate = class extends pulumi.dynamic.Resource {
  constructor(name, args) {
    super(certificates, name, { ...args, privateKeyPem: pulumi.secret(args.privateKeyPem) });
  }
};

exports.TLSEdge = class extends pulumi.dynamic.Resource {
  constructor(name, args) {
    super(edges, name, args);
  }
};
