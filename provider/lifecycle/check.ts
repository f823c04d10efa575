import { inputsOf, type Kind, keepEqual, type Problem } from "../kinds/kind";
import { problemsOfShape, prune } from "../kinds/shape";
import type { Adoption, ManagedObject } from "../run/run";
import { nameInUrn, type Properties, unknownValue } from "../values/properties";
import { differencesOf, findToAdopt, markAdoptable } from "./adopt";
import { begin, type Call, hideSecrets } from "./call";
import { textsOf } from "./messages";
import { planWrite } from "./plan";

export interface ToCheck {
  /** The inputs of the last deployment; empty for a new resource. */
  olds: Properties;
  /** The arguments of the program. */
  args: Properties;
  /** What the program has instead of an argument: see `filesKey`. */
  files?: unknown;
  /** The option `import`: the id or the name of an object. */
  imports?: unknown;
}

/** Gives the inputs of a resource, and why they can't be deployed. Reads the object that a new resource adopts. */
export async function check(
  call: Call,
  { olds, args, files, imports }: ToCheck,
): Promise<{ inputs: Properties; failures: string[] }> {
  const { run, kind, urn, secrets, connection } = call;
  const { plansCreate } = call.protocol;
  const deployed = Object.keys(olds).length > 0 ? olds : undefined;
  // Where a plan shows the inputs alone, they have what follows from them, and `ignoreChanges` gives it back.
  const given = prune(kind, args, plansCreate ? {} : olds);
  const problems = problemsOfShape(kind, given);
  const settingsProblem = run.configuration(connection).problem;
  if (settingsProblem) problems.push({ path: "", reason: settingsProblem });
  /** Asks the service, unless the inputs have problems. A failure becomes a problem. */
  const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    if (problems.length > 0) return undefined;
    return work().catch((error: Error) => {
      problems.push({ path: "", reason: error.message });
      return undefined;
    });
  };
  const adopts = !deployed && typeof imports === "string";
  const toAdopt = () => findToAdopt(call, begin(call, given), String(imports), given);
  const adopted = adopts ? await attempt(toAdopt) : undefined;
  // In an adoption, the object's inputs take the place of the old inputs.
  const before = adopted ? inputsOf(kind, adopted.adoption.state) : deployed;
  const { inputs, checkedInputs, ...found } = inputsFor(call, given, before);
  problems.push(...found.problems);
  if (!settingsProblem) problems.push(...problemsOfHostports(call, checkedInputs));
  run.markAsOfProgram(urn);
  hideSecrets(call, inputs);
  for (const text of [...found.warnings, ...warningsOfLostSecrets(kind, olds, inputs)])
    run.log("warning", text, urn || "run");
  if (adopted) problems.push(...problemsOfAdoption(call, adopted, checkedInputs, problems));
  else if (!deployed && !plansCreate) await attempt(() => planWrite(call, inputs, true));
  const isSecret = (name: string) => secrets.has(name);
  return { inputs, failures: textsOf(problems, isSecret, files) };
}

/**
 * The inputs of arguments.
 *
 * @param before The inputs of the last deployment, or those of the object that the resource adopts.
 * @returns `checkedInputs`: without what follows from them, and before equal values are replaced by the old ones.
 */
function inputsFor({ kind, protocol }: Call, given: Properties, before: Properties | undefined) {
  const { inputs: checkedInputs, problems, warnings = [] } = kind.check(given, before, new Date());
  const derived = protocol.plansCreate ? {} : kind.derived?.(checkedInputs, before);
  const inputs = { ...keepEqual(kind, before ?? {}, checkedInputs), ...derived };
  return { inputs, checkedInputs, problems, warnings: protocol.programChecks ? [] : warnings };
}

/** The problem of an edge whose hostport another edge of the program has. */
function problemsOfHostports(call: Call, inputs: Properties): Problem[] {
  const { run, protocol, kind, connection, urn, secrets } = call;
  const { exclusive } = kind;
  if (!exclusive || protocol.programChecks) return [];
  const { declared } = run.account(connection).memory;
  const isSecret = secrets.has(exclusive);
  const reason = declared.declare(urn, nameInUrn(urn), inputs[exclusive], isSecret);
  return reason ? [{ path: "", reason }] : [];
}

/** What a plan warns of in the inputs: a secret that leaves the program. */
function warningsOfLostSecrets(
  { title, secrets = [] }: Kind,
  olds: Properties,
  inputs: Properties,
): string[] {
  const lost = secrets.filter((name) => olds[name] !== undefined && inputs[name] === undefined);
  return lost.map(
    (name) =>
      `${name} of this ${title} is no more in the program, so the state loses its last copy. Without it, the object ` +
      "can't be created again",
  );
}

/** Why an object can't be adopted. What the check has refused is not compared. */
function problemsOfAdoption(
  { secrets }: Call,
  { object, adoption }: { object: ManagedObject; adoption: Adoption },
  inputs: Properties,
  refused: Problem[],
): Problem[] {
  const unknown = refused.map(({ path }) => [path.split(".", 1)[0], unknownValue]);
  const compared = { ...inputs, ...Object.fromEntries(unknown) };
  const problems = differencesOf(object, adoption.state, compared, secrets);
  if (refused.length + problems.length === 0) markAdoptable(object, adoption, secrets);
  return problems;
}
