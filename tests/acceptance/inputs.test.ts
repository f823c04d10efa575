import assert from "node:assert/strict";
import { edge, lists, scenario } from "./scenario";

/** How the engine shows what a check finds; tests/shape.test.ts and its neighbours have each rule. */
scenario("inputs in a plan", ["dynamic"], {
  "C10 C15 C50: each wrong input is refused by its name, and no value of a secret is shown": {
    outside: (project) => project.secrets.add("the hostport", "https://hidden.example.org"),
    program: `
      const hidden = pulumi.secret("https://hidden.example.org");
      const metadata = \`\${hidden}\`;
      new tlsedge.TLSEdge("e", { hostport: ["x"], description: 5, hostports: ["nope", hidden], metadata });`,
    preview: "fails",
    says: [
      /hostport: no such property: did you mean hostports/,
      /description: is a number, but must be a string/,
      /metadata: holds the text that stands for an output.* write pulumi\.interpolate/,
      /hostports\[1\]: is no hostport: write only a host name/,
    ],
    requests: [],
  },
  "C19: a refused key fails the plan of an update and several creates once, after one request": [
    { program: edge("made", ""), up: { create: 2 } },
    {
      outside: ({ env }) => {
        env.TLSEDGE_API_KEY = "wrong";
      },
      program: edge("made", 'description: "d"') + edge("new", "") + edge("newer", 'metadata: "m"'),
      preview: "fails",
      requests: [lists.edges],
      check: (_, { output }) => {
        const [, diagnostics = ""] = output.split("Diagnostics:");
        // The host of dynamic providers prints what a diff throws, too: that is no error of the engine.
        assert.equal(diagnostics.match(/\berror: .*Check the API key/g)?.length, 1, output);
      },
    },
  ],
});
