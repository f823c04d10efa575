import type { ManagedObject, Owner } from "../run/run";

/**
 * Whose an object is: one object belongs to one resource (contract C36, C40, C44, C81). A run knows of each
 * object whether one of its resources has it, whether one keeps it as it is, and whether one wants it newly.
 */

/**
 * Notes that a resource of the program has an object, or is to adopt it.
 *
 * @returns The other resource of the program that has it; undefined when there is none.
 */
export function claim({ known }: ManagedObject, owner: Owner): Owner | undefined {
  known.owner ??= owner;
  return known.owner.key === owner.key ? undefined : known.owner;
}

/** Notes that a resource adopts an object. */
export function noteImporter({ known }: ManagedObject): void {
  known.isOwn = true;
  known.hasImporter = true;
}

/** Notes whether a resource of the program keeps its object as it is. */
export function noteSettled({ known }: ManagedObject, isSettled: boolean): void {
  known.isSettled = isSettled;
}

/**
 * Claims the object that a create was answered with.
 *
 * @throws Error when a resource of this run has it.
 */
export function claimCreated(object: ManagedObject): void {
  const { kind, account, id, known } = object;
  if (known.isOwn) {
    throw new Error(
      `the service answered the create of this ${kind.title} with ${id}, which belongs ` +
        "to another resource: find out with `pulumi stack --show-ids` which resource has it",
    );
  }
  known.isOwn = true;
  account.objects(kind).noteCreated(id);
}

/**
 * Why a delete keeps an object; undefined when it deletes it. A resource that has the object has either no change,
 * or a change that is made: else it is about to be replaced, and the delete is its own.
 *
 * @param isAdopted Whether the state says that a resource has adopted it with the option `import`. The process that
 * deletes what was replaced does not know of the resource that has adopted the object again.
 * @param own The key of the resource that is deleted, where the protocol tells it.
 */
export function whyKept(
  { id, known }: ManagedObject,
  isAdopted: boolean,
  own?: string,
): string | undefined {
  if (known.hasImporter) return "a resource of this update adopts it";
  if (isAdopted) {
    return (
      "its resource has the option `import` in the state. To delete or replace it, first remove the option and run " +
      "`pulumi up`. If the stack has the resource no more, first adopt the object again: set the resource option " +
      `\`import\` to ${id}`
    );
  }
  if (!known.isSettled || !known.owner || known.owner.key === own) return undefined;
  const { name } = known.owner;
  return `${name === undefined ? "another resource of the program" : `the resource "${name}"`} has it, too`;
}
