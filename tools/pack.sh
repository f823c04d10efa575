#!/bin/sh
# Packs the plugin as it is built: an archive for each platform that the engine asks for, and the
# checksums of all files of the folder. With the folder of the SDKs that `pulumi package gen-sdk
# plugin/schema.json` writes, it packs these and the npm packages, too; the module for Go stays there, for
# a tag. Equal files make equal archives. Needs GNU tar, and for the SDKs python3 with pip, and Go.
# Usage: tools/pack.sh <folder to fill> [<folder of the SDKs>]
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
sdks=${2:+$(cd "$2" && pwd)}
cd "$(dirname "$0")/.."
root=$PWD
version=$(node -p 'require("./package.json").version')

tar=$(command -v gtar || echo tar)
archive() { # <name> <what tar packs>: without owners, times and this machine's umask
  name=$1
  shift
  "$tar" --create --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=u=rwX,go=rX "$@" |
    gzip -9n >"$out/$name"
}

# Each platform has the same files.
notices=$(mktemp -d)
trap 'rm -r "$notices"' EXIT
node tools/licenses.cjs >"$notices/LICENSES-THIRD-PARTY.txt"
for system in linux darwin windows; do
  for architecture in amd64 arm64; do
    archive "pulumi-resource-tlsedge-v$version-$system-$architecture.tar.gz" LICENSE \
      -C "$notices" LICENSES-THIRD-PARTY.txt -C "$root/plugin/dist" \
      plugin.js components.js pulumi-resource-tlsedge pulumi-resource-tlsedge.cmd
  done
done

if [ "$sdks" ]; then
  npm pack --silent --ignore-scripts --pack-destination "$out" . ./emulator ./policy >&2
  cd "$sdks"
  ln -sfn "$root/node_modules" nodejs/node_modules
  "$root/node_modules/.bin/tsc" --project nodejs
  cp nodejs/package.json nodejs/bin
  npm pack --silent --pack-destination "$out" ./nodejs/bin >&2
  python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$out" ./python
  # The generator requires a version of Pulumi's SDK that its code does not compile with.
  pulumi=$(sed -n 's|.*\(github.com/pulumi/pulumi/sdk/v3\) \(v[0-9.]*\).*|\1@\2|p' \
    "$root/tools/pulumi-cli/engine/go.mod")
  (cd go && go mod edit -require="$pulumi")
  if [ -d java ]; then
    # The SDK reads it. Gradle writes it when it builds; Maven does not.
    resources=java/src/main/resources/com/pulumi/tlsedge
    mkdir -p "$resources"
    printf %s "$version" >"$resources/version.txt"
  fi
  for language in java dotnet; do
    [ ! -d $language ] || archive "pulumi-tlsedge-$language-v$version.tar.gz" -C $language .
  done
fi

cd "$out"
rm -f SHA256SUMS
sums=$(sha256sum -- *)
echo "$sums" | tee SHA256SUMS
