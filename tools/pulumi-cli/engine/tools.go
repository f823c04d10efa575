//go:build tools

package tools

import (
	_ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"

	// Go programs of the tests read stack config.
	_ "github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)
