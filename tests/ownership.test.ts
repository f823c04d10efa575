import assert from "node:assert/strict";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import type { Protocol } from "../tools/protocol";
import { resourceOf, startPlugin } from "./pluginProvider";
import {
  captureMessages,
  deployed,
  makePair,
  messageOf,
  type Properties,
  runs,
  Stack,
  useEmulator,
} from "./support";

/** Which resource has an object. It belongs to the one that claimed it last in a run, and no other one deletes it. */
describe("an object", () => {
  const emulator = useEmulator();
  const kinds = { TLSEdge: tlsEdge, TLSCertificate: tlsCertificate };
  type Kind = keyof typeof kinds;
  let plugin: Awaited<ReturnType<typeof startPlugin>>;
  let certificate: Awaited<ReturnType<typeof makePair>>;
  before(async () => {
    plugin = await startPlugin();
    certificate = await makePair({ commonName: "a.example" });
  });
  after(() => plugin.close());
  const run = () => Promise.all([...runs].map((begin) => begin()));
  const args = { description: "d" };

  for (const protocol of ["dynamic", "plugin"] satisfies Protocol[]) {
    const named = (name: string, kind: Kind = "TLSEdge") =>
      protocol === "dynamic"
        ? Object.assign(new Stack(kinds[kind]), { name })
        : new Stack(plugin.resource(resourceOf(kind, name)));
    const deploy = async (name: string, inputs: Properties = args, kind?: Kind) => {
      const stack = named(name, kind);
      await stack.up(inputs);
      return stack;
    };
    /** Another resource in the state with the same object: a second name, or the old name of a renamed resource. */
    const alsoAs = (name: string, { id, state, inputs }: Stack, kind?: Kind) =>
      Object.assign(named(name, kind), { id, state, inputs });
    /** What a delete of the object says. */
    const leave = async (stack: Stack) => {
      const shown = captureMessages();
      await stack.leave();
      return shown().join();
    };
    const edges = () => emulator.tlsEdges.list().map(({ id }) => id);

    describe(`through the ${protocol} provider`, () => {
      it("C81: is kept from a delete by another resource than the one that has it, also when that one's update fails", async () => {
        const app = await deploy("app");
        const again = alsoAs("again", app);
        await run();
        emulator.faults.add({ method: "PATCH", answer: { status: 422 } });
        // With --continue-on-error, the deletes come nevertheless.
        await messageOf(app.up({ description: "new" }));
        const kept = /stays on the service, because the resource "app" has it, too/;
        assert.match(await leave(again), kept);
        await run();
        await app.preview(args);
        assert.match(await leave(again), kept);
        assert.deepEqual(edges(), [app.id]);
        assert.equal(await leave(app), "");
        assert.deepEqual(edges(), []);
      });

      it("C40 C81: of two resources of the program is an error that names both, but not in a refresh", async () => {
        const first = await deploy("first");
        const second = alsoAs("second", first);
        await run();
        for (const stack of [first, second]) await stack.diff(stack.inputs);
        // The engine plans a resource twice where it replaces it.
        for (const _ of [1, 2]) await first.preview(args);
        const text = `"first" and "second" have the same object, ${first.id}`;
        assert.ok((await messageOf(second.preview(args))).includes(text));
        await run();
        await second.preview(args);
      });

      if (protocol === "plugin") {
        it("C81: of two resources of the program is an error also where a dynamic provider has written the state", async () => {
          const first = await deploy("first");
          const second = alsoAs("second", first);
          await run();
          for (const stack of [first, second]) stack.state.__provider = "text";
          await first.preview(args);
          assert.match(
            await messageOf(second.preview(args)),
            /"first" and "second" have the same object/,
          );
        });
      }

      it("C37 C81: is deleted when the engine alone replaces its resource, which becomes equal to another one", async () => {
        const [one, two] = [
          await deploy("one", { ...certificate, description: "one" }, "TLSCertificate"),
          await deploy("two", { ...certificate, description: "two" }, "TLSCertificate"),
        ];
        await run();
        const equal = { ...certificate, description: "two" };
        await two.preview(equal);
        // `replaceOnChanges` names the description.
        await one.preview(equal);
        const old = alsoAs("one", one, "TLSCertificate");
        one.forget();
        await one.up(equal);
        assert.equal(await leave(old), "");
        const left = emulator.tlsCertificates.list().map(({ id }) => id);
        assert.deepEqual(left.sort(), [one.id, two.id].sort());
      });

      it("C37 C81: of a renamed resource is deleted with its old name once the new object is created", async () => {
        const old = await deploy("old");
        await run();
        const renamed = alsoAs("new", old);
        await renamed.preview({ description: "replaceOnChanges" });
        renamed.forget();
        await renamed.up({ description: "replaceOnChanges" });
        assert.equal(await leave(old), "");
        assert.deepEqual(edges(), [renamed.id]);
      });

      const replaced: [by: string, before: Properties, after: Properties][] = [
        [
          "the provider",
          { backend: { backendId: "bkdtg_1" }, onModuleRemoval: "replace" },
          { onModuleRemoval: "replace" },
        ],
        // The dynamic protocol does not tell whether the engine takes a change for one.
        ...(protocol === "plugin"
          ? [["replaceOnChanges", args, { description: "new" }] as (typeof replaced)[0]]
          : []),
      ];
      for (const [by, before, after] of replaced) {
        it(`C24 C37 C81: of a renamed resource that ${by} replaces is deleted first, with its old name`, async () => {
          const old = await deploy("old", before);
          await run();
          await alsoAs("new", old).preview(after);
          assert.equal(await leave(old), "");
          assert.deepEqual(edges(), []);
        });
      }
    });
  }

  it("C81: is known without a URN, which the first call of a dynamic provider's process lacks; a delete without one deletes", async () => {
    const app = await deployed(tlsEdge, args);
    const again = Object.assign(new Stack(tlsEdge), { id: app.id, state: app.state });
    const { name } = app;
    await run();
    app.name = "";
    const { inputs } = await app.check(args);
    app.name = name;
    await app.diff(inputs);
    await again.leave();
    assert.ok(emulator.tlsEdges.get(app.id));
    again.name = "";
    await again.leave();
    assert.equal(emulator.tlsEdges.get(app.id), undefined);
  });
});
