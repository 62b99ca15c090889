#!/bin/bash
# Checks that includes point downward: each folder of src/, and cuda/, may include only what its
# row lists. A new folder needs a row here and one in the table of docs/dev/source.md.
#
#   scripts/includes.sh          prints each forbidden include; exit code 1 if there is any
#
# Also checks that no two .cu files define a struct of the same name: if kernels are templates
# over it or take it as a parameter, the linker would keep only one of them.
set -u
cd "$(dirname "$0")/.."
awk '
  BEGIN {
    row("base", "")
    row("config", "base")
    row("image", "base")
    row("dataset", "base image io")
    row("graph", "base")
    row("ops", "base graph")
    row("cases", "base graph ops")
    row("cpu", "base graph ops")
    row("cuda", "base graph ops")
    row("models", "base graph ops")
    row("io", "base")
    row("pt2", "base graph ops models io")
    row("layers", "base config graph ops models")
    row("page", "base config image io")
    row("onnx", "base graph ops")
    row("dist", "base graph")
    row("session", "base config image dataset graph ops cpu cuda models layers dist")
    row("train", "base config image dataset graph ops models dist io page session")
    row("synth", "base image dataset")
    row("pack", "base image dataset io")
    row("cmd", "base config image dataset graph ops cases cpu cuda models layers dist io page onnx session train synth pack")
  }
  function row(folder, may, i, n, list) {
    known[folder] = 1
    ok[folder, folder] = 1
    n = split(may, list, " ")
    for (i = 1; i <= n; i++) ok[folder, list[i]] = 1
  }
  FNR == 1 {
    n = split(FILENAME, part, "/")
    from = part[1] == "src" ? part[2] : part[1]
    if (n == 2 && part[1] == "src") from = "cmd" # src/main.c
    if (!(from in known)) { print FILENAME ": " from " has no row in scripts/includes.sh"; bad = 1 }
  }
  /^#include "/ {
    split($2, path, /["\/]/)
    if (!((from, path[2]) in ok)) {
      print FILENAME ":" FNR ": " from " may not include " path[2]
      bad = 1
    }
  }
  END { exit bad }
' $(git ls-files 'src/*.[ch]' 'src/*.inc' 'cuda/*.[ch]' 'cuda/*.cu' 2>/dev/null || find src cuda -name '*.[ch]' -o -name '*.inc' -o -name '*.cu') || exit 1
awk '
  match($0, /^(template <.*> )?struct (alignas\(.*\) )?[a-z_0-9]+ \{/) {
    name = $(NF - 1)
    if (name in file && file[name] != FILENAME) {
      print FILENAME ":" FNR ": struct " name " is in " file[name] ", too"
      bad = 1
    }
    file[name] = FILENAME
  }
  END { exit bad }
' cuda/*.cu cuda/*.h
# Names of files and classes are untrusted: subcommands print them through base/say.h, which
# escapes them. help, manual, and completion print only the program's own text.
awk '
  FILENAME ~ /(help|manual|completion)\.c$/ { next }
  /(^|[^a-z_"])(printf|puts|putchar|vprintf) ?\(/ && !/format\(printf/ {
    print FILENAME ":" FNR ": print with say() (base/say.h)"
    bad = 1
  }
  END { exit bad }
' src/cmd/*.c
