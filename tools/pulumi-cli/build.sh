#!/bin/sh
# Builds the Pulumi CLI and its Node.js language host with Go.
# Usage: build.sh <go> <folder to fill> <version> <folder of the npm package @pulumi/pulumi>
set -eu
go=$1 folder=$2 version=$3 npm=$4
here=$(cd "$(dirname "$0")" && pwd)
sdk=github.com/pulumi/pulumi/sdk/v3
export CGO_ENABLED=0 GOWORK=off

build() { # <program> <version> <package>
  "$go" build -mod=readonly -trimpath -o "$folder/$1" \
    -ldflags "-s -w -X $sdk/go/common/version.Version=$2" "$3"
}

cd "$here/engine"
build pulumi "v$version" github.com/pulumi/pulumi/pkg/v3/cmd/pulumi

# The last language host that is published as a Go module cannot run policy packs. It is a main
# package, so it is built from a copy in which run_plugin.go answers that request.
cd "$here/language-nodejs"
"$go" mod download "$sdk"
published=$("$go" list -m -f '{{.Dir}}' "$sdk")/nodejs/cmd/pulumi-language-nodejs
source=$folder/source
mkdir "$source"
cp "$published"/*.go go.mod go.sum run_plugin.go "$source"
chmod -R u+w "$source"
rm "$source"/*_test.go
sed 's/return errors.New("not supported")/return host.runPlugin(req, server)/' \
  "$published/main.go" >"$source/main.go"
grep -q 'host.runPlugin' "$source/main.go"
hostVersion=$("$go" list -m -f '{{.Version}}' "$sdk")
cd "$source"
build pulumi-language-nodejs "$hostVersion" .
cd "$folder"
rm -r "$source"

cp "$npm/pulumi-resource-pulumi-nodejs" "$folder"
chmod 755 "$folder/pulumi-resource-pulumi-nodejs"
