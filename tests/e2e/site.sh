#!/bin/bash
# The documentation site builds without warnings, loads nothing from other hosts, and fits the
# width of a browser window.
#
#   tests/e2e/site.sh
#
# Requires mkdocs; the last part also Chromium.
. "$(dirname "$0")/lib.bash"
cd "$here" || exit 1
command -v "${MKDOCS:-mkdocs}" >/dev/null || { echo "site: skipped, as there is no mkdocs (pip install mkdocs)"; exit 77; }
scripts/site.sh >/dev/null || fail "scripts/site.sh"
grep -lE '(src|href)="https?://[^"]*\.(js|css|woff2?)"' build/site/*.html build/site/dev/*.html && fail "these pages fetch something"
for page in docs/*.md docs/dev/*.md; do
  html=build/site/${page#docs/}
  html=${html%.md}.html
  [ -s "${html/README.html/index.html}" ] || fail "no page of $page"
done

if command -v chromium >/dev/null; then
  for page in index getting-started configuration dev/performance; do
    # A page whose content overflows is wider than its window.
    wide=$(sed 's|</body>|<script>document.title = document.documentElement.scrollWidth - innerWidth;</script></body>|' \
      "build/site/$page.html" >"build/site/$page.probe.html" &&
      timeout 60 chromium --headless --no-sandbox --disable-gpu --window-size=390,900 --virtual-time-budget=2000 \
        --dump-dom "file://$PWD/build/site/$page.probe.html" 2>/dev/null | sed -n 's|.*<title>\(-*[0-9]*\)</title>.*|\1|p')
    rm -f "build/site/$page.probe.html"
    [ "${wide:-999}" -le 0 ] || fail "$page is ${wide:-unknown} pixels too wide on a telephone"
  done
else
  echo "pages in a browser: skipped, as there is no Chromium (apt-get install chromium)"
fi

finish
