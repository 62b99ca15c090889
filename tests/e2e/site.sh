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

# Every page is in the menu.
for page in docs/*.md docs/dev/*.md; do
  grep -q "[ -] ${page#docs/}\$\|: ${page#docs/}\$" scripts/site/mkdocs.yml || fail "scripts/site/mkdocs.yml has no ${page#docs/}"
done

if command -v chromium >/dev/null; then
  # PAGE WIDTH THEME: how far the content overflows the window, the background, the color of the
  # text, and the links to files that are not there.
  browse() {
    local html=build/site/$1 probe=build/site/${1%.html}.probe.html
    sed 's|</body>|<script>addEventListener("load", () => { const c = getComputedStyle(document.body), d = document.documentElement; document.title = [d.scrollWidth - innerWidth, c.backgroundColor, c.color, [...document.links].filter(a => a.protocol == "file:").map(a => a.pathname).join(" ")].join(";"); });</script></body>|' "$html" >"$probe"
    timeout 60 chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$dir/profile" \
      --window-size="$2",900 --blink-settings=preferredColorScheme="$([ "$3" = dark ] && echo 0 || echo 1)" \
      --virtual-time-budget=2000 --dump-dom "file://$PWD/$probe" 2>/dev/null | sed -n 's|.*<title>\(.*\)</title>.*|\1|p'
    rm -f "$probe"
  }
  brightness() { tr -dc '0-9,' <<<"$1" | awk -F, '{ print $1 + $2 + $3 }'; }
  for page in index getting-started configuration dev/performance; do
    for theme in light dark; do
      IFS=';' read -r wide background text links <<<"$(browse $page.html 390 $theme)"
      [ "${wide:-999}" -le 0 ] || fail "$page is ${wide:-unknown} pixels too wide on a phone"
      back=$(brightness "$background") front=$(brightness "$text")
      if [ $theme = light ]; then
        [ "$back" -gt "$((front + 300))" ] || fail "$page, light: text $text on $background"
      else
        [ "$front" -gt "$((back + 300))" ] || fail "$page, dark: text $text on $background"
      fi
      [ -n "$links" ] || fail "$page has no links"
      for link in $links; do
        [ -e "${link/.probe.html/.html}" ] || fail "$page links to $link, which does not exist"
      done
    done
  done
else
  echo "pages in a browser: skipped, as there is no Chromium (apt-get install chromium)"
fi

finish
