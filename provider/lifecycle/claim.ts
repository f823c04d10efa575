import type { ManagedObject } from "../run/run";
import { nameInUrn } from "../values/properties";

/** The problem of two resources of a program that have one object. */
export const textOfShared = (one: string, other: string, id: string): string =>
  `the resources "${one}" and "${other}" have the same object, ${id}, which only one resource can manage: ` +
  "remove one from the program, and run `pulumi up` without --target: the object stays";

/**
 * Claims an object for a resource of the program that has it or is to adopt it.
 *
 * @param urn Empty where the protocol does not tell it.
 * @throws Error when another resource of the program has the object.
 */
export function claim({ account, id, key }: ManagedObject, urn: string): void {
  const { ownership } = account.run;
  const owner = ownership.ownerOf(key);
  if (owner && urn && owner !== urn) {
    const [one, other] = [nameInUrn(owner), nameInUrn(urn)];
    // The parts of two components may have one name.
    throw new Error(one === other ? textOfShared(owner, urn, id) : textOfShared(one, other, id));
  }
  ownership.claim(key, urn);
}
