import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { Project } from "../../tools/engine";
import { newFolder } from "../../tools/folders";
import { generateSdks, type Language, missing, programs } from "../../tools/languages";

const edge = { hostports: { type: "array", items: { type: "string" } } };
const schema = {
  name: "tlsedge",
  version: "1.2.3",
  meta: { supportPack: true },
  resources: { "tlsedge:index:TLSEdge": { inputProperties: edge, properties: edge } },
};

/** Each gives something that only its SDK knows: where it can, the version of the package. */
const cases: { language: Language; text: string; expected: string }[] = [
  {
    language: "nodejs",
    text: `exports.known = require("@pulumi/tlsedge/utilities").getVersion();`,
    expected: "1.2.3",
  },
  {
    language: "python",
    text: `
import pulumi
import pulumi_tlsedge
pulumi.export("known", pulumi_tlsedge._utilities.get_version())`,
    expected: "1.2.3",
  },
  {
    language: "go",
    text: `package main

import (
	"reflect"

	"example.com/pulumi-tlsedge/sdk/go/tlsedge"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		ctx.Export("known", pulumi.String(reflect.TypeFor[tlsedge.TLSEdge]().Field(1).Name))
		return nil
	})
}`,
    expected: "Hostports",
  },
];

describe("programs with generated SDKs", () => {
  let sdks: string;
  before(async function () {
    if (await missing("go")) this.skip();
    const file = path.join(newFolder(), "schema.json");
    await writeFile(file, JSON.stringify(schema));
    sdks = await generateSdks(file);
  });

  for (const { language, text, expected } of cases) {
    describe(`in ${language}`, () => {
      let project: Project;
      before(async function () {
        if (await missing(language)) this.skip();
        project = await Project.create();
      });
      after(() => project?.close());

      it("run on the engine", async () => {
        const { env, folder } = project;
        Object.assign(env, await programs[language](folder, text, { sdks }));
        await project.up();
        assert.equal(await project.output("known"), expected);
      });
    });
  }
});
