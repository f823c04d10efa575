#!/bin/sh
# Builds a language host of the Pulumi CLI with Go, from the Go modules that are published, and puts it
# into the CLI's folder. It needs the variables of goEnv (pulumi.ts).
# Usage: build-language-host.sh <go> <folder> nodejs|python|go|java|yaml|dotnet
set -eu
: "${GOFLAGS:?}"
go=$1 folder=$2 language=$3
host=pulumi-language-$language
here=$(cd "$(dirname "$0")" && pwd)
sdk=github.com/pulumi/pulumi/sdk/v3
# Other processes must not see what is not complete.
staging=$(mktemp -d "$folder/$language.XXXXXX")
trap 'rm -r "$staging"' EXIT

# These three are modules of their own.
case $language in
  dotnet) module=pulumi-dotnet/pulumi-language-dotnet/v3@v3.101.2 main=. ;;
  java) module=pulumi-java/pkg@v1.22.0 main=./cmd/$host ;;
  yaml) module=pulumi-yaml@v1.32.0 main=./cmd/$host ;;
  *) module= ;;
esac
if [ "$module" ]; then
  cd "$("$go" mod download -json "github.com/pulumi/$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')"
  "$go" build -o "$staging/$host" "$main"
  mv "$staging/$host" "$folder"
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
cp "$main"/*.go go.mod go.sum "$staging"
chmod -R u+w "$staging"
rm "$staging"/*_test.go
patch() { # <the names that the changed file must contain> <sed script>
  cp new_field.go "$language"/*.go "$staging"
  sed "$2" "$main/main.go" >"$staging/main.go"
  for name in $1; do grep -q "$name" "$staging/main.go"; done
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
    install -m 755 "$published/python/cmd/$host-exec" "$folder"
    ;;
esac

cd "$staging"
"$go" build -ldflags "-s -w -X $sdk/go/common/version.Version=$version" -o "$host" .
mv "$host" "$folder"
