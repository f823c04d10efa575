// Deploys the stack `test` of this project on the real engine, against the emulator of the installed plugin. Copy this
// beside Pulumi.yaml, and write what the program needs into Pulumi.test.yaml: docs/emulator.md says more.
package main

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
)

// startEmulator gives the settings that the emulator prints: `export NAME=VALUE`, three times.
func startEmulator(t *testing.T) map[string]string {
	command := "plugin run --kind resource tlsedge -- emulator --data"
	emulator := exec.Command("pulumi", append(strings.Fields(command), t.TempDir())...)
	output, err := emulator.StdoutPipe()
	if err == nil {
		err = emulator.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		emulator.Process.Kill()
		emulator.Wait()
	})
	settings := map[string]string{}
	for lines := bufio.NewScanner(output); len(settings) < 3 && lines.Scan(); {
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		settings[name] = strings.Trim(value, "'")
	}
	// Without them, the test would deploy to the account of the environment.
	if len(settings) < 3 {
		t.Fatal("the emulator did not start")
	}
	return settings
}

func TestDeploysTheSiteAndChangesNothingTheSecondTime(t *testing.T) {
	settings := startEmulator(t)
	settings["PULUMI_BACKEND_URL"] = "file://" + t.TempDir()
	settings["PULUMI_CONFIG_PASSPHRASE"] = "test"
	stack, err := auto.UpsertStackLocalSource(t.Context(), "test", ".", auto.EnvVars(settings))
	if err != nil {
		t.Fatal(err)
	}
	up, err := stack.Up(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if url := up.Outputs["url"].Value; url != "https://shop.example.com" {
		t.Errorf("the site is %v", url)
	}
	if _, err := stack.Up(t.Context(), optup.ExpectNoChanges()); err != nil {
		t.Error(err)
	}
}
