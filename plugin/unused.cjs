// In place of the TypeScript compiler and npm's Arborist, which Pulumi's SDK loads to write the
// functions of a program into its state. A component does not do that, and they are large.
