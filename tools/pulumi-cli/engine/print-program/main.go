// Prints the program that `pulumi import` would print, with the engine's own importer and
// generators: language hosts that were built here can't.
// Usage: print-program <schema.json> nodejs|python|go <file of the import> < what `pulumi stack export` printed
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/blang/semver"
	"github.com/hashicorp/hcl/v2"
	golang "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/pcl"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/pkg/v3/importer"
	pkgresource "github.com/pulumi/pulumi/pkg/v3/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"tlsedge/tools/pulumi-cli/engine/packageschema"
)

var generators = map[string]func(*pcl.Program) (map[string][]byte, hcl.Diagnostics, error){
	"nodejs": nodejs.GenerateProgram,
	"python": python.GenerateProgram,
	"go":     golang.GenerateProgram,
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file, language, importFile string) error {
	spec, err := packageschema.Read(file)
	if err != nil {
		return err
	}
	pkg, err := packageschema.Bind(spec)
	if err != nil {
		return err
	}
	var exported struct{ Deployment apitype.DeploymentV3 }
	if err := json.NewDecoder(os.Stdin).Decode(&exported); err != nil {
		return err
	}
	variables, err := variablesOf(importFile)
	if err != nil {
		return err
	}
	names := importer.NameTable{}
	var all, imported []*pkgresource.State
	for _, one := range exported.Deployment.Resources {
		state := &pkgresource.State{
			URN: one.URN, Type: one.Type, ID: one.ID, Provider: one.Provider, Protect: one.Protect,
			Inputs: resource.NewPropertyMapFromMap(one.Inputs),
		}
		all = append(all, state)
		if string(one.Type.Package()) == spec.Name {
			imported = append(imported, state)
			names[one.URN] = variables[string(one.Type)+one.URN.Name()]
		}
	}
	write := func(out io.Writer, program *pcl.Program) error {
		files, problems, err := generators[language](program)
		if err == nil && problems.HasErrors() {
			err = problems
		}
		for _, content := range files {
			fmt.Fprintln(out, string(content))
		}
		return err
	}
	return importer.GenerateLanguageDefinitions(os.Stdout, loader{pkg}, write, imported, all, names)
}

// variablesOf gives the names of variables in the file of an import, by type and name of the resource.
func variablesOf(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var read struct {
		Resources []struct{ Type, Name, LogicalName string }
	}
	variables := map[string]string{}
	err = json.Unmarshal(text, &read)
	for _, one := range read.Resources {
		variables[one.Type+one.LogicalName] = one.Name
	}
	return variables, err
}

// loader gives one package, whichever is asked for.
type loader struct{ pkg *schema.Package }

func (l loader) LoadPackage(string, *semver.Version) (*schema.Package, error) {
	return l.pkg, nil
}

func (l loader) LoadPackageV2(context.Context, *schema.PackageDescriptor) (*schema.Package, error) {
	return l.pkg, nil
}
