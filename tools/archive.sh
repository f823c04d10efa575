#!/bin/sh
# Makes an archive of a folder's files without owners, times and this machine's umask. Needs GNU tar.
# Usage: tools/archive.sh <archive> <folder>
set -eu
export LC_ALL=C # the order of the names
tar=$(command -v gtar || echo tar)
archive=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$2"
"$tar" --create --file "$archive" --use-compress-program="gzip -6n" --sort=name --owner=0 --group=0 \
  --numeric-owner --mtime=@0 --mode=u=rwX,go=rX -- *
