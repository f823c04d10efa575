package main

import pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

// readOptions takes two of the options that were flags: whether ts-node is loaded, and the arguments
// of Node.js. No program here has another one.
func (host *nodeLanguageHost) readOptions(req *pulumirpc.RunRequest) {
	if typescript := option(req, "typescript"); typescript != nil {
		host.typescript = typescript.GetBoolValue()
	}
	if nodeargs := option(req, "nodeargs"); nodeargs != nil {
		host.nodeargs = nodeargs.GetStringValue()
	}
}
