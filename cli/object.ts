import { objectIn } from "../provider/kinds/lookup";
import type { ServiceState } from "../provider/kinds/state";
import { cell, type Line } from "./table";

/** What an edge and a certificate have in common in `status --format json`. */
export interface ObjectStatus {
  id: string;
  description: string | null;
  createdAt: string | null;
  metadata: string | null;
  /** `environment` in metadata that is JSON, as `TLSSite` writes it. */
  environment: string | null;
  /** `owner` in metadata that is JSON. */
  owner: string | null;
}

/** The state of an object of the service, with its id. */
export type Stored<State> = State & { id: string };

export function objectStatus(state: Stored<ServiceState>): ObjectStatus {
  const { id, description, createdAt, metadata } = state;
  const found = objectIn(metadata ?? "");
  const textOf = (name: string) => {
    const value = found.get(name);
    return typeof value === "string" && value !== "" ? value : null;
  };
  return {
    id,
    description,
    createdAt: createdAt ?? null,
    metadata,
    environment: textOf("environment"),
    owner: textOf("owner"),
  };
}

/** What an object is for, and whose it is. */
export function aboutLines({ description, environment, owner }: ObjectStatus): Line[] {
  const people = Object.entries({ environment, owner }).filter(([, text]) => text);
  const texts = [description, people.map(([name, text]) => `${name}: ${text}`).join(", ")];
  return texts.flatMap((text) => (text ? cell(text, "dim") : []));
}
