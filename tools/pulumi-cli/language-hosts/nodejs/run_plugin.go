package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// The engine starts plugins that are source code through the language host, and the last host that
// is published as a Go module answers "not supported". This starts policy packs and providers.
const (
	infoField          = 5
	kindField          = 6
	rootDirectoryField = 1
)

type sendOutput func(text []byte) error

func (send sendOutput) Write(text []byte) (int, error) { return len(text), send(text) }

func (host *nodeLanguageHost) runPlugin(
	req *pulumirpc.RunPluginRequest, server pulumirpc.LanguageRuntime_RunPluginServer,
) error {
	folder := string(newField(req, infoField, rootDirectoryField))
	script, from, args := "run-plugin", req.Pwd, append([]string{folder}, req.Args...)
	switch kind := string(newField(req, kindField)); kind {
	case "analyzer": // @pulumi/policy reads the pack's package.json from its working directory
		script, from, args = "run-policy-pack", folder, append(req.Args, ".")
	case "resource":
	default:
		return fmt.Errorf("a plugin of the kind %q can't be run", kind)
	}
	resolve := exec.Command("node", "-p", fmt.Sprintf("require.resolve('@pulumi/pulumi/cmd/%s')", script))
	resolve.Dir = folder
	found, err := resolve.Output()
	if err != nil {
		return fmt.Errorf("no @pulumi/pulumi for %s: are its dependencies installed? %w", folder, err)
	}

	args = append([]string{strings.TrimSpace(string(found))}, args...)
	cmd := exec.CommandContext(server.Context(), "node", args...)
	cmd.Dir = from
	cmd.Env = append(append(os.Environ(), "PULUMI_NODEJS_TYPESCRIPT=true"), req.Env...)
	// A stream takes one message at a time, and the two outputs are read by two goroutines.
	var sending sync.Mutex
	send := func(response *pulumirpc.RunPluginResponse) error {
		sending.Lock()
		defer sending.Unlock()
		return server.Send(response)
	}
	cmd.Stdout = sendOutput(func(text []byte) error {
		return send(&pulumirpc.RunPluginResponse{Output: &pulumirpc.RunPluginResponse_Stdout{Stdout: text}})
	})
	cmd.Stderr = sendOutput(func(text []byte) error {
		return send(&pulumirpc.RunPluginResponse{Output: &pulumirpc.RunPluginResponse_Stderr{Stderr: text}})
	})
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return err
	}
	code := int32(cmd.ProcessState.ExitCode())
	return send(&pulumirpc.RunPluginResponse{Output: &pulumirpc.RunPluginResponse_Exitcode{Exitcode: code}})
}
