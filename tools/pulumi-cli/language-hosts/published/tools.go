//go:build tools

package tools

import (
	_ "github.com/pulumi/pulumi-dotnet/pulumi-language-dotnet/v3"
	_ "github.com/pulumi/pulumi-java/pkg/cmd/pulumi-language-java"
	_ "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml"
)
