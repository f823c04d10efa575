#!/bin/sh
# Builds the Pulumi CLI and its Node.js language host with Go.
# Usage: build.sh <go> <folder to fill> <version> <folder of the npm package @pulumi/pulumi>
set -eu
go=$1 folder=$2 version=$3 npm=$4
here=$(cd "$(dirname "$0")" && pwd)
export CGO_ENABLED=0 GOWORK=off

cd "$here/engine"
"$go" build -mod=readonly -trimpath -o "$folder/pulumi" \
  -ldflags "-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v$version" \
  github.com/pulumi/pulumi/pkg/v3/cmd/pulumi

"$here/build-language-host.sh" "$go" "$folder" nodejs

cp "$npm/pulumi-resource-pulumi-nodejs" "$folder"
chmod 755 "$folder/pulumi-resource-pulumi-nodejs"
