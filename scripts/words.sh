#!/bin/bash
# Consistent terms: finds words that this project has replaced, in sources, tests, scripts, and
# documents.
#
#   scripts/words.sh [FOLDER]     prints each match and its replacement; exit code 1
#
# Each row: the pattern, exceptions (removed before the search), and the replacement. Both
# patterns are lower-case extended regular expressions; < and > are word boundaries. Not in the
# list, because they are correct in other contexts: words, numbers, jobs, found, averages, masks,
# scenes. They must not be used for a choice, a float, a direction, a match, the EMA, a dropout or
# ReLU mask, or an image.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1

rows() {
  cat <<'ROWS'
<pictures?>	"pictures?"	image, label map
<behind>	(left|leaves?) ([a-z]+ )?([a-z]+ )?behind|b"behind"	after (in time), consumer (of a tensor)
<averaged? weights>|<average of the weights|<weights' average	-	EMA, EMA weights
<left matri(x|ces)>|<matrix products?>	-	im2col, GEMM
<turned>	<turned out>|is turned (on|off)	transposed, rotated, inverted
<(pass|passes|passing|past|around) the caches?>	-	non-temporal store
<prefetch[a-z]* [a-z ]*<ahead>|<(bytes|lines) ahead>	-	prefetch distance
<half[ -]floats?>|<(as|in|of|are|to|from) halves>|<16-bit numbers?>	-	16-bit floats, fp16, bf16
<spots?>	-	index, place
<(one|an?|[0-9]+) [a-z]+ an? (class|line|node|row|channel|stage|image|batch|layer|run|thread|step|rank|process|pixel|block|file|name|epoch|segment|item|kernel|window|head|group|worker|sample|update|table|op|key|gpu|core|folder|record|model|tensor|loss|device|bug|test|program|net)>	<(one|an?|[0-9]+) (a|above|and|are|as|at|by|ends|fills?|for|from|gives|holds|has|if|in|is|like|makes|meets|of|on|or|reads|than|that|to|with|within|without) an? [a-z]+|<a [a-z]+ a run's	per
ROWS
}

files() {
  git ls-files 2>/dev/null | grep . || find . -type f | sed 's|^\./||'
}

files | grep -E '^(src|cuda|tests|scripts|configs|docs)/|^[^/]*\.(md|mk)$|^\.|^Makefile$' |
  grep -Ev '^(tests/golden/|tests/fuzz/corpus/|tests/(e2e/words\.sh|bugs/words\.txt)$|scripts/words\.sh$|\.git/)|\.(svg|png|jpg|json|bin)$' |
  tr '\n' '\0' | xargs -0 awk -v rows="$(rows)" '
    function edges(x) {
      gsub(/[<>]/, "[^a-z0-9_]", x)
      return x
    }
    BEGIN {
      n = split(rows, row, "\n")
      for (i = 1; i <= n; i++) {
        split(row[i], part, "\t")
        find[i] = edges(part[1])
        right[i] = edges(part[2])
        say[i] = part[3]
      }
    }
    {
      line = " " tolower($0) " "
      for (i = 1; i <= n; i++) {
        if (line !~ find[i])
          continue
        rest = line
        if (right[i] != "-")
          gsub(right[i], "  ", rest)
        if (match(rest, find[i])) {
          printf "%s:%d: \"%s\": %s\n", FILENAME, FNR, substr(rest, RSTART, RLENGTH), say[i]
          bad = 1
        }
      }
    }
    END { exit bad }' || exit 1
