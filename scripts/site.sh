#!/bin/bash
# Builds the documentation site in build/site; a browser opens it without a server.
#
#   scripts/site.sh      (make site)
#
# Requires mkdocs 1.6 or newer: pip install mkdocs. MKDOCS=PROGRAM selects another one.
set -eu
cd "$(dirname "$0")/.."
mkdocs=${MKDOCS:-mkdocs}
command -v "$mkdocs" >/dev/null || {
  echo "scripts/site.sh: there is no mkdocs: pip install mkdocs, or MKDOCS=PROGRAM" >&2
  exit 2
}
"$mkdocs" build -q -f scripts/site/mkdocs.yml
echo "build/site/index.html"
