import { makeCertificate } from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { toStore } from "../provider/digests";
(async () => {
  process.env.TLSEDGE_API_KEY = "k"; process.env.TLSEDGE_BASE_URL = "https://localhost:1";
  await tlsCertificate.configure?.({ config: { get: () => undefined } } as never);
  await tlsEdge.configure?.({ config: { get: () => undefined } } as never);
  const root = await makeCertificate({ commonName: "r", isCa: true });
  const issuer = await makeCertificate({ commonName: "i", isCa: true, issuer: root });
  const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a", dnsNames: ["a"], issuer });
  const args = { certificatePem, privateKeyPem, description: "x", __provider: "p" };
  const time = async (name: string, work: () => Promise<unknown>) => {
    for (let i = 0; i < 50; i++) await work();
    const t = process.cpuUsage();
    const n = 500;
    for (let i = 0; i < n; i++) await work();
    const u = process.cpuUsage(t);
    console.log(name, ((u.user + u.system) / 1000 / n).toFixed(3), "ms");
  };
  const { inputs } = (await tlsCertificate.check?.({}, args)) as never as { inputs: any };
  await time("cert check new", async () => tlsCertificate.check?.({}, args));
  await time("cert check old", async () => tlsCertificate.check?.(inputs, args));
  const eargs = { description: "x", hostports: ["a.example.com:443"], backend: { backendId: "b" }, ipRestriction: { ipPolicyIds: ["i"] }, mutualTls: { certificateAuthorityIds: ["c"] }, tlsTermination: { terminateAt: "edge", minVersion: "1.2" }, __provider: "p" };
  const e = (await tlsEdge.check?.({}, eargs)) as never as { inputs: any };
  await time("edge check old", async () => tlsEdge.check?.(e.inputs, eargs));
  const { lifecycle } = require("../provider/tlsEdge");
  const st = toStore(lifecycle, { ...e.inputs, uri: "u", createdAt: "c" });
  await time("edge diff", async () => tlsEdge.diff?.("id", st, e.inputs));
  const c = require("../provider/tlsCertificate");
  const { describeChain, parseChain } = require("../provider/pem");
  const cst = toStore(c.lifecycle, { ...inputs, ...describeChain(parseChain(certificatePem)), uri: "u" });
  await time("cert diff", async () => tlsCertificate.diff?.("id", cst, inputs));
  await time("cert describe (program)", async () => describeChain(parseChain(certificatePem)));
})();
import * as pulumi from "@pulumi/pulumi";
(async () => {
  await new Promise((r) => setTimeout(r, 9000));
  const { describeChain, parseChain } = require("../provider/pem");
  const { makeCertificate: mk } = require("../emulator/server");
  const { certificatePem } = await mk({ commonName: "a", dnsNames: ["a"] });
  for (const mode of ["none", "apply"]) {
    const t = process.cpuUsage();
    const all = [];
    for (let i = 0; i < 500; i++) {
      const pem = pulumi.output(certificatePem);
      if (mode === "apply") {
        const known = pulumi.unsecret(pem).apply((p) => describeChain(parseChain(p)));
        for (let k = 0; k < 15; k++) all.push(known.apply((of: any) => of.notAfter));
      } else all.push(pem);
    }
    await Promise.all(all.map((o: any) => o.promise()));
    const u = process.cpuUsage(t);
    console.log("program", mode, ((u.user + u.system) / 1000 / 500).toFixed(3), "ms each");
  }
})();
