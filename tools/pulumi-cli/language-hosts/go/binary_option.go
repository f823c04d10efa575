package main

import pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

// binaryOption gives the option `binary`: the program, already built.
func binaryOption(req *pulumirpc.RunRequest) string {
	return option(req, "binary").GetStringValue()
}
