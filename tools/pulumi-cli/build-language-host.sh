#!/bin/sh
# Builds a language host of the Pulumi CLI with Go, from the Go modules that are published.
# Usage: build-language-host.sh <go> <folder to fill> nodejs|python|go|java|yaml
set -eu
go=$1 folder=$2 language=$3
host=pulumi-language-$language
here=$(cd "$(dirname "$0")" && pwd)
sdk=github.com/pulumi/pulumi/sdk/v3
export CGO_ENABLED=0 GOWORK=off

# These two are modules of their own.
case $language in
  java) module=pulumi-java/pkg ;;
  yaml) module=pulumi-yaml ;;
  *) module= ;;
esac
if [ "$module" ]; then
  cd "$here/language-hosts/published"
  "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$folder/$host" \
    "github.com/pulumi/$module/cmd/$host"
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
patch() { # <what the changed file must contain> <sed script>
  cp new_field.go "$language"/*.go "$source"
  sed "$2" "$main/main.go" >"$source/main.go"
  grep -q "$1" "$source/main.go"
}
case $language in
  nodejs)
    patch 'host\.runPlugin' 's/return errors.New("not supported")/return host.runPlugin(req, server)/'
    ;;
  go)
    patch 'host\.binary = ' '/^func (host \*goLanguageHost) Run(/a\
	host.binary = binaryOption(req)'
    ;;
  python) # It starts this script, which it expects beside it.
    cp "$published/python/cmd/$host-exec" "$folder"
    chmod 755 "$folder/$host-exec"
    ;;
esac

cd "$source"
"$go" build -mod=readonly -trimpath -o "$folder/$host" \
  -ldflags "-s -w -X $sdk/go/common/version.Version=$version" .
cd "$folder"
rm -r "$source"
