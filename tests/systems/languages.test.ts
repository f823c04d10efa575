import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";
import { generateSdks, type Language, missing, programs } from "../../tools/languages";
import { examples, programsIn, runExamples } from "./examples";

const plugin = path.join(repository, "plugin", "dist");
const sites = 8;

const numbers = Array.from({ length: sites }, (_, n) => n);

/** The same stack in each language: certificates and edges with a description. */
const stacks: Record<Language, (description: string) => string> = {
  nodejs: (description) => `
const { readFileSync } = require("node:fs");
const tlsedge = require("pulumi-tlsedge-sdk");
for (let n = 0; n < ${sites}; n++) {
  const description = "${description}";
  const certificate = new tlsedge.TLSCertificate("site" + n, {
    description,
    certificatePem: readFileSync("certs/fullchain.pem", "utf8"),
    privateKeyPem: readFileSync("certs/privkey.pem", "utf8"),
    metadata: "site " + n,
  });
  new tlsedge.TLSEdge("site" + n, {
    description,
    hostports: ["site" + n + ".example.com:443"],
    tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
    metadata: certificate.notAfter,
  });
}`,
  python: (description) => `
from pathlib import Path
import pulumi_tlsedge as tlsedge

for n in range(${sites}):
    certificate = tlsedge.TLSCertificate(f"site{n}",
        description="${description}",
        certificate_pem=Path("certs/fullchain.pem").read_text(),
        private_key_pem=Path("certs/privkey.pem").read_text(),
        metadata=f"site {n}")
    tlsedge.TLSEdge(f"site{n}",
        description="${description}",
        hostports=[f"site{n}.example.com:443"],
        tls_termination={"terminate_at": "edge", "min_version": "1.2"},
        metadata=certificate.not_after)
`,
  go: (description) => `package main

import (
	"fmt"
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
		for n := range ${sites} {
			name := fmt.Sprintf("site%d", n)
			description := pulumi.String("${description}")
			certificate, err := tlsedge.NewTLSCertificate(ctx, name, &tlsedge.TLSCertificateArgs{
				Description:    description,
				CertificatePem: text("certs/fullchain.pem"),
				PrivateKeyPem:  text("certs/privkey.pem"),
				Metadata:       pulumi.Sprintf("site %d", n),
			})
			if err != nil {
				return err
			}
			_, err = tlsedge.NewTLSEdge(ctx, name, &tlsedge.TLSEdgeArgs{
				Description: description,
				Hostports:   pulumi.StringArray{pulumi.String(name + ".example.com:443")},
				TlsTermination: &tlsedge.TlsTerminationArgs{
					TerminateAt: pulumi.String("edge"),
					MinVersion:  pulumi.String("1.2"),
				},
				Metadata: certificate.NotAfter,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
`,
  java: (description) => `
import com.pulumi.Pulumi;
import com.pulumi.tlsedge.*;
import com.pulumi.tlsedge.inputs.TlsTerminationArgs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

public class App {
    public static void main(String[] args) throws IOException {
        var chain = Files.readString(Path.of("certs/fullchain.pem"));
        var key = Files.readString(Path.of("certs/privkey.pem"));
        Pulumi.run(context -> {
            for (var n = 0; n < ${sites}; n++) {
                var certificate = new TLSCertificate("site" + n, TLSCertificateArgs.builder()
                    .description("${description}")
                    .certificatePem(chain)
                    .privateKeyPem(key)
                    .metadata("site " + n)
                    .build());
                new TLSEdge("site" + n, TLSEdgeArgs.builder()
                    .description("${description}")
                    .hostports("site" + n + ".example.com:443")
                    .tlsTermination(TlsTerminationArgs.builder()
                        .terminateAt("edge")
                        .minVersion("1.2")
                        .build())
                    .metadata(certificate.notAfter())
                    .build());
            }
        });
    }
}
`,
  yaml: (description) => `resources:
${numbers
  .map(
    (n) => `  certificate${n}:
    type: tlsedge:TLSCertificate
    name: site${n}
    properties:
      description: ${description}
      certificatePem: { fn::readFile: certs/fullchain.pem }
      privateKeyPem: { fn::readFile: certs/privkey.pem }
      metadata: site ${n}
  edge${n}:
    type: tlsedge:TLSEdge
    name: site${n}
    properties:
      description: ${description}
      hostports: ["site${n}.example.com:443"]
      tlsTermination: { terminateAt: edge, minVersion: "1.2" }
      metadata: \${certificate${n}.notAfter}`,
  )
  .join("\n")}`,
};

/** A site, and one that is given its certificate, which is an output. */
const sharing: Record<"nodejs" | "python" | "go" | "yaml", string> = {
  nodejs: `
const { TLSSite } = require("pulumi-tlsedge-sdk");
const about = { backendId: "bkdtg_1", access: { public: true } };
const files = { chainFile: "certs/fullchain.pem", keyFile: "certs/privkey.pem" };
const { certificate } = new TLSSite("a", { hostports: ["a.example:443"], ...files, ...about });
new TLSSite("b", { hostports: ["b.example:443"], certificate, ...about });`,
  python: `
import pulumi_tlsedge as tlsedge

about = {"backend_id": "bkdtg_1", "access": {"public": True}}
site = tlsedge.TLSSite("a", hostports=["a.example:443"],
    chain_file="certs/fullchain.pem", key_file="certs/privkey.pem", **about)
tlsedge.TLSSite("b", hostports=["b.example:443"], certificate=site.certificate, **about)
`,
  go: `package main

import (
	"github.com/example-owner/pulumi-tlsedge/sdk/go/tlsedge"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		access := &tlsedge.TLSSiteAccessArgs{Public: pulumi.BoolRef(true)}
		site, err := tlsedge.NewTLSSite(ctx, "a", &tlsedge.TLSSiteArgs{
			Hostports: pulumi.StringArray{pulumi.String("a.example:443")},
			ChainFile: pulumi.StringRef("certs/fullchain.pem"),
			KeyFile:   pulumi.StringRef("certs/privkey.pem"),
			BackendId: pulumi.String("bkdtg_1"),
			Access:    access,
		})
		if err != nil {
			return err
		}
		_, err = tlsedge.NewTLSSite(ctx, "b", &tlsedge.TLSSiteArgs{
			Hostports:   pulumi.StringArray{pulumi.String("b.example:443")},
			Certificate: site.Certificate,
			BackendId:   pulumi.String("bkdtg_1"),
			Access:      access,
		})
		return err
	})
}
`,
  yaml: `resources:
  a:
    type: tlsedge:TLSSite
    properties:
      hostports: ["a.example:443"]
      chainFile: certs/fullchain.pem
      keyFile: certs/privkey.pem
      backendId: bkdtg_1
      access: { public: true }
  b:
    type: tlsedge:TLSSite
    properties:
      hostports: ["b.example:443"]
      certificate: \${a.certificate}
      backendId: bkdtg_1
      access: { public: true }`,
};

/** A refresh, an import and a destroy run no program: they are the same in every language. */
describe("the plugin in every language", () => {
  let sdks: string;
  before(async function () {
    // On a bare machine the Pulumi CLI and the hosts are built first.
    this.timeout(900_000);
    if (await missing("go")) this.skip();
    const schema = path.join(repository, "plugin", "schema.json");
    sdks = await generateSdks(schema, !(await missing("java")));
  });

  for (const language of Object.keys(stacks) as Language[]) {
    describe(`of ${sites} sites in ${language}`, () => {
      let project: Project;
      before(async function () {
        if (await missing(language)) this.skip();
        project = await Project.create({}, {}, "plugin");
        await project.certificate("certs", { commonName: "site.example.com" });
        await describeAs("before");
      });
      after(() => project?.close());

      const describeAs = async (description: string) => {
        const text = stacks[language](description);
        const env = await programs[language](project.folder, text, { sdks, plugin });
        Object.assign(project.env, env);
      };

      /** Of each kind, before anything is written. */
      const lists = ["GET /edges/tls?limit=100", "GET /tls_certificates?limit=100"];
      const each = (request: string) => Array.from({ length: sites }, () => request);

      it("C80 C30 creates with one request each; C50 the key is a secret", async () => {
        const { requests } = await project.up();
        const expected = [...lists, ...each("POST /edges/tls"), ...each("POST /tls_certificates")];
        assert.deepEqual(requests.toSorted(), expected);
      });

      it("C25 then makes no request", async () => {
        assert.deepEqual((await project.up("--expect-no-changes")).requests, []);
      });

      it("C16 C22 updates with one PATCH each", async () => {
        await describeAs("after");
        const { requests } = await project.up();
        const expected = [
          ...lists,
          ...each("PATCH /edges/tls/:id"),
          ...each("PATCH /tls_certificates/:id"),
        ];
        assert.deepEqual(requests.toSorted(), expected);
      });
    });
  }

  for (const language of Object.keys(sharing) as (keyof typeof sharing)[]) {
    it(`C88 C50 gives a site the certificate of another in ${language}`, async function () {
      if (await missing(language)) this.skip();
      const project = await Project.create({}, {}, "plugin");
      try {
        await project.certificate("certs", { commonName: "a.example" });
        const env = await programs[language](project.folder, sharing[language], { sdks, plugin });
        Object.assign(project.env, env);
        await project.preview();
        await project.up();
        const { resources } = await project.state();
        const sites = resources.filter(({ type }) => type === "tlsedge:index:TLSSite");
        const certificates = sites.map(({ outputs }) => (outputs.certificate as { id: string }).id);
        const made = project.emulator.tlsCertificates.list().map(({ id }) => id);
        assert.deepEqual(certificates, [...made, ...made]);
        assert.deepEqual((await project.up("--expect-no-changes")).requests, []);
      } finally {
        await project.close();
      }
    });
  }

  it("C63 is tested in Python as docs/guide.md shows", async function () {
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

  describe("the examples of the schema", () => {
    it("C86 compile in TypeScript", async () => {
      const folder = newFolder();
      await programs.nodejs(folder, "", { sdks });
      const files = ["tlsEdge.ts", "tlsCertificate.ts", "tlsSite.ts"];
      for (const file of files) await copyFile(path.join(examples, file), path.join(folder, file));
      const strict = ["--noEmit", "--strict", "--skipLibCheck", "--module", "node16"];
      const tsc = require.resolve("typescript/bin/tsc");
      const args = [tsc, ...strict, "--target", "es2022", "--types", "node", ...files];
      await promisify(execFile)(process.execPath, args, { cwd: folder });
    });

    // Those in other languages run with the packages of a release, in `sdks.test.ts`.
    it("C86 C88 run in yaml", async function () {
      if (await missing("yaml")) this.skip();
      await runExamples("yaml", (folder, text) => {
        // A project of the tests has another name.
        const program = text.replace(/^name: .*\nruntime: yaml\n/, "");
        return programs.yaml(folder, program, { plugin });
      });
    });
  });
});
