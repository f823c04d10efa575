import { PolicyPack } from "@pulumi/policy";
import { policies } from "./index";

// The engine runs this file. Programs import index.ts instead, because a pack starts a server.
new PolicyPack("tlsedge", { policies });
