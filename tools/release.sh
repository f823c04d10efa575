#!/bin/sh
# Makes all that a release holds: the archives of the plugin, the SDKs, the npm packages, the checksums of
# all of them, and the notes. Needs the Pulumi CLI, python3 with pip, Go, GNU tar, and `npm ci`.
# Usage: tools/release.sh <folder to fill> [--languages <list> | <folder of the generated SDKs>] [<platform>...]
# Example, where Pulumi has no host for the others: tools/release.sh /tmp/release --languages go,python,nodejs
set -eu
mkdir -p "$1/archives"
out=$(cd "$1" && pwd)
sdks=$out/sdks
languages=dotnet,go,java,nodejs,python
case ${2-} in
  --languages) languages=$3 && shift ;;
  ?*) sdks=$(cd "$2" && pwd) languages= ;;
esac
shift
[ $# -eq 0 ] || shift
cd "$(dirname "$0")/.."
root=$PWD
version=$(node -p 'require("./package.json").version')

owner=$(node -p 'require("./plugin/schema.json").publisher')
# Anyone may register it: then the plugin would be theirs.
[ "$owner" != example-owner ] || { echo "the owner is example-owner: docs/releasing.md says how to replace it" >&2 && exit 1; }
for file in emulator/package.json plugin/package.json policy/package.json plugin/schema.json; do
  found=$(node -p "require('./$file').version")
  [ "$found" = "$version" ] || { echo "$file has version $found, package.json $version" >&2 && exit 1; }
done
awk -v head="## [$version]" '/^## /{ own = index($0, head); next } own' CHANGELOG.md >"$out/notes.md"
grep -q . "$out/notes.md" || { echo "CHANGELOG.md has no section [$version]" >&2 && exit 1; }

for language in $(echo "$languages" | tr , ' '); do
  pulumi package gen-sdk plugin/schema.json --language "$language" --out "$sdks"
done
npm pack --silent --ignore-scripts --pack-destination "$out/archives" . ./emulator ./policy >&2
cd "$sdks"
missing=
pack() { "$root/tools/archive.sh" "$out/archives/pulumi-tlsedge-$1-v$version.tar.gz" "$sdks/$1"; }
has() { [ -d "$1" ] || { missing="$missing $1" && return 1; }; }
if has nodejs; then
  ln -sfn "$root/node_modules" nodejs/node_modules
  "$root/node_modules/.bin/tsc" --project nodejs
  cp nodejs/package.json nodejs/README.md nodejs/bin
  npm pack --silent --pack-destination "$out/archives" ./nodejs/bin >&2
fi
if has python; then
  cp python/pulumi_tlsedge/README.md python
  # The schema has no word for them.
  sed -i '/classifiers = /d; /^ *keywords = /i \  classifiers = ["Intended Audience :: System Administrators", "Programming Language :: Python :: 3 :: Only", "Typing :: Typed"]' \
    python/pyproject.toml
  python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$out/archives" ./python
fi
if has go; then
  # The generator requires a version of Pulumi's SDK that its code does not compile with.
  pulumi=$(sed -n 's|.*\(github.com/pulumi/pulumi/sdk/v3\) \(v[0-9.]*\).*|\1@\2|p' \
    "$root/tools/pulumi-cli/engine/go.mod")
  (cd go && go mod edit -require="$pulumi")
  pack go
fi
if has java; then
  # The SDK reads it. Gradle writes it when it builds; Maven does not.
  base=$(node -p 'require("'"$root"'/plugin/schema.json").language.java.basePackage' | tr . /)
  resources=java/src/main/resources/$base/tlsedge
  mkdir -p "$resources"
  printf %s "$version" >"$resources/version.txt"
  pack java
fi
if has dotnet; then pack dotnet; fi
"$root/tools/pack.sh" "$out/archives" "$@"
[ ! "$missing" ] || echo "No SDK was made for:$missing" >&2
