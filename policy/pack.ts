import { PolicyPack } from "@pulumi/policy";
import { policies } from "./index";
import { withWarning } from "./settings";

// The engine runs this file. Programs import index.ts instead, because a pack starts a server.
new PolicyPack("tlsedge", { policies: policies.map(withWarning) });
