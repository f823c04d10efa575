#!/bin/sh
# Makes an archive of a folder's files without owners, times and this machine's umask. Needs GNU tar.
# Usage: tools/archive.sh <archive> <folder>
set -eu
tar=$(command -v gtar || echo tar)
cd "$2"
"$tar" --create --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=u=rwX,go=rX -- * |
  gzip -6n >"$1"
