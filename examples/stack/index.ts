import { join } from "node:path";

// Paths in config start where Pulumi.yaml is: at the top of the repository.
process.chdir(join(__dirname, "..", ".."));

export * from "../../templates/stack";
