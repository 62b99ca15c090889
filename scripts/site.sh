#!/bin/bash
# The documentation as a web site in build/site, which a browser opens without a server.
#
#   scripts/site.sh      (make site)
#
# It needs mkdocs 1.6 or newer: pip install mkdocs. MKDOCS=PROGRAM names another one.
set -eu
cd "$(dirname "$0")/.."
mkdocs=${MKDOCS:-mkdocs}
command -v "$mkdocs" >/dev/null || {
  echo "scripts/site.sh: there is no mkdocs: pip install mkdocs, or MKDOCS=PROGRAM" >&2
  exit 2
}
"$mkdocs" build -q -f scripts/site/mkdocs.yml
echo "build/site/index.html"
