#!/bin/sh
# Builds a language host of the Pulumi CLI with Go, from the Go modules that are published. It needs the
# variables of goEnv (pulumi.ts).
# Usage: build-language-host.sh <go> <folder to fill> nodejs|python|go|java|yaml|dotnet
set -eu
: "${GOFLAGS:?}"
go=$1 folder=$2 language=$3
host=pulumi-language-$language
here=$(cd "$(dirname "$0")" && pwd)
sdk=github.com/pulumi/pulumi/sdk/v3

# These three are modules of their own.
case $language in
  dotnet) program=pulumi-dotnet/$host/v3 ;;
  java) program=pulumi-java/pkg/cmd/$host ;;
  yaml) program=pulumi-yaml/cmd/$host ;;
  *) program= ;;
esac
if [ "$program" ]; then
  cd "$here/language-hosts/published"
  "$go" build -o "$folder/$host" "github.com/pulumi/$program"
  exit
fi

# Of the other three, this is the last version of which the module has them.
cd "$here/language-hosts"
"$go" mod download "$sdk"
published=$("$go" list -m -f '{{.Dir}}' "$sdk")
version=$("$go" list -m -f '{{.Version}}' "$sdk")
case $language in
  go) main=$published/go/$host ;;
  *) main=$published/$language/cmd/$host ;;
esac

# A host is a main package: what it lacks for this engine is added to a copy.
source=$folder/source-$language
mkdir "$source"
cp "$main"/*.go go.mod go.sum "$source"
chmod -R u+w "$source"
rm "$source"/*_test.go
patch() { # <the names that the changed file must contain> <sed script>
  cp new_field.go "$language"/*.go "$source"
  sed "$2" "$main/main.go" >"$source/main.go"
  for name in $1; do grep -q "$name" "$source/main.go"; done
}
case $language in
  nodejs)
    patch 'host\.runPlugin workspaceRoot host\.readOptions' '
      s/return errors.New("not supported")/return host.runPlugin(req, server)/
      s/npm\.Install(ctx, req\.Directory,/npm.Install(ctx, workspaceRoot(req.Directory),/
      s/if host\.typescript {/host.readOptions(req); &/'
    ;;
  go)
    patch 'binaryOption' '/^func (host \*goLanguageHost) Run(/a\
	host.binary = binaryOption(req)'
    ;;
  python) # It starts this script, which it expects beside it.
    cp "$published/python/cmd/$host-exec" "$folder"
    chmod 755 "$folder/$host-exec"
    ;;
esac

cd "$source"
"$go" build -o "$folder/$host" \
  -ldflags "-s -w -X $sdk/go/common/version.Version=$version" .
cd "$folder"
rm -r "$source"
