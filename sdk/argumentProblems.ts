import * as pulumi from "@pulumi/pulumi";
import { importKey } from "../provider/dynamic/hidden";
import { filesKey } from "../provider/kinds/kind";
import { kinds } from "../provider/kinds/kinds";
import { problemsOfShape, prune } from "../provider/kinds/shape";
import { textsOf } from "../provider/lifecycle/messages";
import { isOfKind } from "./kind";

/**
 * What a plan would say of the arguments of a resource, a line for each mistake: for the function `newResource`
 * of a unit test's mocks, so that one test tells all mistakes of a program. None of another package's resource.
 */
export function argumentProblems(resource: pulumi.runtime.MockResourceArgs): string[] {
  const { type, name, inputs, id } = resource;
  const { isRpcSecret, unwrapRpcSecret } = pulumi.runtime;
  const kind = Object.values(kinds).find((one) => isOfKind({ __pulumiType: type }, one.name));
  // A `get` has no arguments.
  if (!kind || id) return [];
  const own = Object.entries(inputs)
    .filter(([key]) => !/^(__.*|connection)$/.test(key))
    .map(([key, value]) => [key, unwrapRpcSecret(value)]);
  const args = prune(kind, Object.fromEntries(own));
  // An import is checked as an update of what is there: its key may be omitted.
  const { problems } = kind.check(args, inputs[importKey] && args, new Date());
  const isSecret = (key: string) => isRpcSecret(inputs[key]);
  const texts = textsOf([...problemsOfShape(kind, args), ...problems], isSecret, inputs[filesKey]);
  return texts.map((text) => `${name}: ${text}`);
}
