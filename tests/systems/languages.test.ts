import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";
import { generateSdks, type Language, missing, programs } from "../../tools/languages";
import { examples, programsIn } from "./examples";

const plugin = path.join(repository, "plugin", "dist");

/** The same stack in each language: a certificate, an edge, a site, and a site with the certificate of that site. */
const stacks: Record<Language, (description: string) => string> = {
  nodejs: (description) => `
const { readFileSync } = require("node:fs");
const tlsedge = require("pulumi-tlsedge-sdk");
const description = "${description}";
const certificate = new tlsedge.TLSCertificate("app", {
  description,
  certificatePem: readFileSync("certs/fullchain.pem", "utf8"),
  privateKeyPem: readFileSync("certs/privkey.pem", "utf8"),
});
new tlsedge.TLSEdge("app", {
  description,
  hostports: ["app.example:443"],
  tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
  metadata: certificate.notAfter,
});
const about = { description, backendId: "bkdtg_1", access: { public: true } };
const files = { chainFile: "certs/fullchain.pem", keyFile: "certs/privkey.pem" };
const site = new tlsedge.TLSSite("one", { hostports: ["one.example:443"], ...files, ...about });
new tlsedge.TLSSite("two", { hostports: ["two.example:443"], certificate: site.certificate, ...about });`,
  python: (description) => `
from pathlib import Path
import pulumi_tlsedge as tlsedge

description = "${description}"
certificate = tlsedge.TLSCertificate("app",
    description=description,
    certificate_pem=Path("certs/fullchain.pem").read_text(),
    private_key_pem=Path("certs/privkey.pem").read_text())
tlsedge.TLSEdge("app",
    description=description,
    hostports=["app.example:443"],
    tls_termination={"terminate_at": "edge", "min_version": "1.2"},
    metadata=certificate.not_after)
about = {"description": description, "backend_id": "bkdtg_1", "access": {"public": True}}
site = tlsedge.TLSSite("one", hostports=["one.example:443"],
    chain_file="certs/fullchain.pem", key_file="certs/privkey.pem", **about)
tlsedge.TLSSite("two", hostports=["two.example:443"], certificate=site.certificate, **about)
`,
  go: (description) => `package main

import (
	"os"

	"github.com/example-owner/pulumi-tlsedge/sdk/go/tlsedge"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func text(file string) pulumi.String {
	read, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return pulumi.String(read)
}

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		description := pulumi.String("${description}")
		certificate, err := tlsedge.NewTLSCertificate(ctx, "app", &tlsedge.TLSCertificateArgs{
			Description:    description,
			CertificatePem: text("certs/fullchain.pem"),
			PrivateKeyPem:  text("certs/privkey.pem"),
		})
		if err != nil {
			return err
		}
		if _, err = tlsedge.NewTLSEdge(ctx, "app", &tlsedge.TLSEdgeArgs{
			Description: description,
			Hostports:   pulumi.StringArray{pulumi.String("app.example:443")},
			TlsTermination: &tlsedge.TLSTerminationArgs{
				TerminateAt: pulumi.String("edge"),
				MinVersion:  pulumi.String("1.2"),
			},
			Metadata: certificate.NotAfter,
		}); err != nil {
			return err
		}
		access := &tlsedge.TLSSiteAccessArgs{Public: pulumi.BoolRef(true)}
		site, err := tlsedge.NewTLSSite(ctx, "one", &tlsedge.TLSSiteArgs{
			Hostports:   pulumi.StringArray{pulumi.String("one.example:443")},
			ChainFile:   pulumi.StringRef("certs/fullchain.pem"),
			KeyFile:     pulumi.StringRef("certs/privkey.pem"),
			Description: description,
			BackendId:   pulumi.String("bkdtg_1"),
			Access:      access,
		})
		if err != nil {
			return err
		}
		_, err = tlsedge.NewTLSSite(ctx, "two", &tlsedge.TLSSiteArgs{
			Hostports:   pulumi.StringArray{pulumi.String("two.example:443")},
			Certificate: site.Certificate,
			Description: description,
			BackendId:   pulumi.String("bkdtg_1"),
			Access:      access,
		})
		return err
	})
}
`,
  java: (description) => `
import com.pulumi.Pulumi;
import io.github.exampleowner.tlsedge.*;
import io.github.exampleowner.tlsedge.inputs.*;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

public class App {
    public static void main(String[] args) throws IOException {
        var chain = Files.readString(Path.of("certs/fullchain.pem"));
        var key = Files.readString(Path.of("certs/privkey.pem"));
        Pulumi.run(context -> {
            var certificate = new TLSCertificate("app", TLSCertificateArgs.builder()
                .description("${description}")
                .certificatePem(chain)
                .privateKeyPem(key)
                .build());
            new TLSEdge("app", TLSEdgeArgs.builder()
                .description("${description}")
                .hostports("app.example:443")
                .tlsTermination(TLSTerminationArgs.builder()
                    .terminateAt("edge")
                    .minVersion("1.2")
                    .build())
                .metadata(certificate.notAfter())
                .build());
            var access = TLSSiteAccessArgs.builder().public_(true).build();
            var site = new TLSSite("one", TLSSiteArgs.builder()
                .hostports("one.example:443")
                .chainFile("certs/fullchain.pem")
                .keyFile("certs/privkey.pem")
                .description("${description}")
                .backendId("bkdtg_1")
                .access(access)
                .build());
            new TLSSite("two", TLSSiteArgs.builder()
                .hostports("two.example:443")
                .certificate(site.certificate())
                .description("${description}")
                .backendId("bkdtg_1")
                .access(access)
                .build());
        });
    }
}
`,
  yaml: (description) => `resources:
  certificate:
    type: tlsedge:TLSCertificate
    name: app
    properties:
      description: ${description}
      certificatePem: { fn::readFile: certs/fullchain.pem }
      privateKeyPem: { fn::readFile: certs/privkey.pem }
  edge:
    type: tlsedge:TLSEdge
    name: app
    properties:
      description: ${description}
      hostports: ["app.example:443"]
      tlsTermination: { terminateAt: edge, minVersion: "1.2" }
      metadata: \${certificate.notAfter}
  one:
    type: tlsedge:TLSSite
    properties:
      description: ${description}
      hostports: ["one.example:443"]
      chainFile: certs/fullchain.pem
      keyFile: certs/privkey.pem
      backendId: bkdtg_1
      access: { public: true }
  two:
    type: tlsedge:TLSSite
    properties:
      description: ${description}
      hostports: ["two.example:443"]
      certificate: \${one.certificate}
      backendId: bkdtg_1
      access: { public: true }`,
};

/** A refresh, an import and a destroy run no program: they are the same in every language. */
describe("the plugin in every language", () => {
  let sdks: string;
  before(async function () {
    // On a bare machine the Pulumi CLI and the hosts are built first.
    if (await missing("go")) this.skip();
    for (const language of Object.keys(stacks) as Language[]) await missing(language);
    const schema = path.join(repository, "plugin", "schema.json");
    sdks = await generateSdks(schema, !(await missing("java")));
  });

  for (const language of Object.keys(stacks) as Language[]) {
    it(`C80 C16 C22 C25 C30 C50 C88: a stack in ${language} lives as in TypeScript`, async function () {
      if (await missing(language)) this.skip();
      const project = await Project.create({}, {}, "plugin");
      const describe = async (description: string) => {
        const text = stacks[language](description);
        const env = await programs[language](project.folder, text, { sdks, plugin });
        Object.assign(project.env, env);
      };
      /** An SDK that is generated into a project may have another version than the children of a site: two providers. */
      const isList = (request: string) => request.startsWith("GET");
      const assertSent = (requests: string[], edges: string, certificates: string) => {
        const lists = ["GET /edges/tls?limit=100", "GET /tls_certificates?limit=100"];
        assert.deepEqual([...new Set(requests.filter(isList))].sort(), lists);
        const writes = requests.filter((request) => !isList(request));
        assert.deepEqual(writes.toSorted(), [edges, edges, edges, certificates, certificates]);
      };
      try {
        await project.certificate("certs", { commonName: "app.example" });
        await describe("before");
        await project.preview();
        const { requests } = await project.up();
        assertSent(requests, "POST /edges/tls", "POST /tls_certificates");
        const { resources } = await project.state();
        const sites = resources.filter(({ type }) => type === "tlsedge:index:TLSSite");
        const [one, two] = sites.map(({ outputs }) => (outputs.certificate as { id: string }).id);
        const uploaded = project.emulator.tlsCertificates.list().map(({ id }) => id);
        assert.ok(one === two && uploaded.includes(String(one)), `${one}, ${two}`);

        assert.deepEqual((await project.up("--expect-no-changes")).requests, []);
        await describe("after");
        const { requests: later } = await project.up();
        assertSent(later, "PATCH /edges/tls/:id", "PATCH /tls_certificates/:id");
      } finally {
        await project.close();
      }
    });
  }

  it("C63: a unit test in Python passes as docs/guide.md shows it", async function () {
    if (await missing("python")) this.skip();
    const [program = "", test = ""] = await programsIn("guide.md#Unit tests", "python");
    const folder = newFolder();
    await writeFile(path.join(folder, "test_stack.py"), test);
    const run = async (text: string) => {
      const env = { ...process.env, ...(await programs.python(folder, text, { sdks })) };
      await rename(path.join(folder, "__main__.py"), path.join(folder, "stack.py"));
      // The unit test prints on stderr.
      return promisify(execFile)("python3", ["-m", "unittest"], { cwd: folder, env });
    };
    assert.match((await run(program)).stderr, /Ran 1 test.*OK/s);
    await assert.rejects(run(program.replace("app.example.com:443", "app.example.com:8443")));
  });

  it("C86: the examples of the schema compile in TypeScript", async () => {
    const folder = newFolder();
    await programs.nodejs(folder, "", { sdks });
    const files = ["tlsEdge.ts", "tlsCertificate.ts", "tlsSite.ts"];
    for (const file of files) await copyFile(path.join(examples, file), path.join(folder, file));
    const strict = ["--noEmit", "--strict", "--skipLibCheck", "--module", "node16"];
    const tsc = require.resolve("typescript/bin/tsc");
    const args = [tsc, ...strict, "--target", "es2022", "--types", "node", ...files];
    await promisify(execFile)(process.execPath, args, { cwd: folder });
  });
});
