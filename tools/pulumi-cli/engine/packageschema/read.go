// Package packageschema reads the schema of a Pulumi package for the commands beside it.
package packageschema

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

// Read reads a schema from a JSON file.
func Read(file string) (schema.PackageSpec, error) {
	var spec schema.PackageSpec
	text, err := os.ReadFile(file)
	if err != nil {
		return spec, err
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		return spec, fmt.Errorf("%s: %w", file, err)
	}
	return spec, nil
}

// Bind checks a schema and makes the package that generators use. A generator changes the package
// that it is given, so each needs one of its own.
func Bind(spec schema.PackageSpec) (*schema.Package, error) {
	pkg, problems, err := schema.BindSpec(spec, schema.NewNullLoader(), schema.ValidationOptions{})
	if err == nil && problems.HasErrors() {
		err = problems
	}
	return pkg, err
}
