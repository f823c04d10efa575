import { PolicyPack } from "@pulumi/policy";
import { policies } from "./index";

// What the engine runs. By name the package gives the policies alone: a pack starts a server.
new PolicyPack("tlsedge", { policies });
