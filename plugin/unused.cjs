// In place of what is large and never used: the TypeScript compiler and npm's Arborist, with which Pulumi's SDK
// writes the functions of a program into its state; gRPC's reader of .proto files; axios's forms.
