import { isNotFound } from "../../client/errors";
import { differences, driftOf, storedState } from "../kinds/kind";
import type { ManagedObject } from "../run/run";
import { type Properties, pick } from "../values/properties";
import { verifyAccount } from "./account";
import { begin, type Call } from "./call";
import { claim } from "./claim";
import { writeUntilFree } from "./hostports";
import { isYoung, readObject } from "./read";

/**
 * Updates an object in place. Gives its new state, in which a drifted property that was not sent
 * keeps its old value, so that a refresh finds the drift.
 *
 * @throws Error when the object is gone, or when a change needs a replacement. A 404 about an object
 * that this one refers to is thrown unchanged.
 */
export async function update(
  call: Call,
  id: string,
  state: Properties,
  inputs: Properties,
): Promise<Properties> {
  const { kind, urn } = call;
  const account = begin(call, inputs, state);
  const object = account.object(kind, id);
  claim(object, urn);
  await verifyAccount(account);
  for (let tries = 1; ; tries++) {
    try {
      const found = await write(object, state, inputs);
      return storedState(kind, account.tag, found, inputs);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const wasYoung = isYoung(object, state);
      if (!(await readObject(object, state))) break;
      // The 404 is about another object, or the read has found a young one before the update does.
      if (!wasYoung || tries > 3) throw error;
      await account.wait(tries, `for the ${object.title}, which the service may find late`);
    }
  }
  throw new Error(
    `the ${object.title} is gone from the service. ` +
      "Run `pulumi refresh`, then `pulumi up` to create it again",
  );
}

/** Sends the properties that differ, or reads the object if none does. Gives its new state. */
async function write(
  { kind, account, id, title }: ManagedObject,
  state: Properties,
  inputs: Properties,
): Promise<Properties> {
  const [fixed] = kind.replaces(state, inputs);
  if (fixed) throw new Error(`${fixed} of the ${title} can't be updated in place`);
  const changes = differences(kind, state, inputs);
  const body = kind.toBody(Object.fromEntries(changes.map((one) => [one.property, one.sent])));
  const patch = () => kind.endpoints.update(account.client, id, body);
  const wire = await (changes.length > 0
    ? writeUntilFree(kind, account, { id, body }, patch)
    : kind.endpoints.get(account.client, id));
  const found = kind.toState(wire, inputs);
  // A refresh must still find what has drifted, and was not sent.
  const drifted = driftOf(kind, state, found).filter(
    (name) => !changes.some(({ property }) => property === name),
  );
  return { ...found, ...pick(state, drifted) };
}
