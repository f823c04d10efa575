import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { argumentProblems } from "pulumi-tlsedge";

const problems: string[] = [];
pulumi.runtime.setMocks({
  newResource: (resource) => {
    problems.push(...argumentProblems(resource)); // what a plan would refuse
    return { id: resource.name, state: resource.inputs };
  },
  call: ({ token, inputs }) => ({ id: "tn_1", forwardsTo: `${token} ${inputs.labels.app}` }),
});
const known = <T>(output: pulumi.Output<T>) => new Promise<T>((done) => output.apply(done));

it("serves the app", async () => {
  const stack: typeof import("./index") = require("./index"); // after setMocks
  assert.deepEqual(await known(stack.edge.hostports), ["app.example.com:443"]);
  assert.equal((await known(stack.tunnel)).forwardsTo, "tlsedge:index:getTunnel web");
  await pulumi.runtime.disconnect(); // waits for all resources
  assert.deepEqual(problems, []);
});
