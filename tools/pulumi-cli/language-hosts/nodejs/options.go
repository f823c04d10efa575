package main

import pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

// readOptions takes those that were flags: whether ts-node is loaded, and what Node.js is given.
func (host *nodeLanguageHost) readOptions(req *pulumirpc.RunRequest) {
	if typescript := option(req, "typescript"); typescript != nil {
		host.typescript = typescript.GetBoolValue()
	}
	if nodeargs := option(req, "nodeargs"); nodeargs != nil {
		host.nodeargs = nodeargs.GetStringValue()
	}
}
