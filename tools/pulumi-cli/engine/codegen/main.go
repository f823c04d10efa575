// Writes the SDKs of a schema, as `pulumi package gen-sdk` does, or prints the program that `pulumi import` would
// print: language hosts that were built here can't.
// Usage: codegen <schema.json> sdks <folder to fill with nodejs, python and go>
//
//	codegen <schema.json> nodejs|python|go <file of the import> < what `pulumi stack export` printed
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
)

type files = map[string][]byte

var programs = map[string]func(*pcl.Program) (files, hcl.Diagnostics, error){
	"nodejs": nodejs.GenerateProgram,
	"python": python.GenerateProgram,
	"go":     golang.GenerateProgram,
}

var sdks = map[string]func(*schema.Package) (files, error){
	"nodejs": func(pkg *schema.Package) (files, error) {
		return nodejs.GeneratePackage("codegen", pkg, nil, nil, false, nil)
	},
	"python": func(pkg *schema.Package) (files, error) { return python.GeneratePackage("codegen", pkg, nil, nil) },
	"go":     func(pkg *schema.Package) (files, error) { return golang.GeneratePackage("codegen", pkg, nil) },
}

func main() {
	write := printProgram
	if os.Args[2] == "sdks" {
		write = writeSdks
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// read gives the content of a JSON file.
func read[T any](file string) (content T, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	return content, err
}

// bind checks a schema. A generator changes the package that it is given, so each needs one of its own.
func bind(file string) (*schema.Package, error) {
	spec, err := read[schema.PackageSpec](file)
	if err != nil {
		return nil, err
	}
	pkg, problems, err := schema.BindSpec(spec, schema.NewNullLoader(), schema.ValidationOptions{})
	if err == nil && problems.HasErrors() {
		err = problems
	}
	return pkg, err
}

func writeSdks(schemaFile, _, folder string) error {
	for language, generate := range sdks {
		pkg, err := bind(schemaFile)
		if err != nil {
			return err
		}
		files, err := generate(pkg)
		if err != nil {
			return fmt.Errorf("%s: %w", language, err)
		}
		for name, content := range files {
			target := filepath.Join(folder, language, name)
			if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(target, content, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func printProgram(schemaFile, language, importFile string) error {
	pkg, err := bind(schemaFile)
	if err != nil {
		return err
	}
	// The names of variables: the engine has only those of the resources.
	file, err := read[struct {
		Resources []struct{ Type, Name, LogicalName string }
	}](importFile)
	if err != nil {
		return err
	}
	variables := map[string]string{}
	for _, one := range file.Resources {
		variables[one.Type+one.LogicalName] = one.Name
	}
	var exported struct{ Deployment apitype.DeploymentV3 }
	if err := json.NewDecoder(os.Stdin).Decode(&exported); err != nil {
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
		if string(one.Type.Package()) == pkg.Name {
			imported = append(imported, state)
			names[one.URN] = variables[string(one.Type)+one.URN.Name()]
		}
	}
	write := func(out io.Writer, program *pcl.Program) error {
		files, problems, err := programs[language](program)
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

// loader gives one package, whichever is asked for.
type loader struct{ pkg *schema.Package }

func (l loader) LoadPackage(string, *semver.Version) (*schema.Package, error) {
	return l.pkg, nil
}

func (l loader) LoadPackageV2(context.Context, *schema.PackageDescriptor) (*schema.Package, error) {
	return l.pkg, nil
}
