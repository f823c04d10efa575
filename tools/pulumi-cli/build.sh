#!/bin/sh
# Builds the Pulumi CLI and its Node.js language host with Go. It needs the variables of goEnv (pulumi.ts).
# Usage: build.sh <go> <folder to fill> <version> <folder of the npm package @pulumi/pulumi>
set -eu
: "${GOFLAGS:?}"
go=$1 folder=$2 version=$3 npm=$4
here=$(cd "$(dirname "$0")" && pwd)

cd "$here/engine"
# These packages take a fifth of the build, and rarely run: they are not optimised.
"$go" build -o "$folder/pulumi" \
  -gcflags "github.com/pb33f/libopenapi/...=-dwarf=false -N -l" \
  -gcflags "github.com/aws/aws-sdk-go-v2/...=-dwarf=false -N -l" \
  -gcflags "github.com/envoyproxy/...=-dwarf=false -N -l" \
  -ldflags "-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v$version" \
  github.com/pulumi/pulumi/pkg/v3/cmd/pulumi

"$here/build-language-host.sh" "$go" "$folder" nodejs

cp "$npm/pulumi-resource-pulumi-nodejs" "$folder"
chmod 755 "$folder/pulumi-resource-pulumi-nodejs"
