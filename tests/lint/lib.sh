# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the checks of the tree. A check is a function `problems` that prints one line a problem ("FILE:LINE: what")
# of the tree in the current folder, as git lists it. It is also given bad trees of its own making, to prove that it
# can fail at all:
#
#   finds "gateway includes epoll" daemon/gateway/a.cpp '#include <sys/epoll.h>\n'
#   accepts "net includes epoll" daemon/net/a.cpp '#include <sys/epoll.h>\n'
#   check_tree
set -uo pipefail
lint_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
lint_scratch=$(mktemp -d "${TMPDIR:-/tmp}/zoo-lint.XXXXXX")
trap 'rm -rf "$lint_scratch"' EXIT
lint_failed=0

# files PATTERN...: tracked and new files (git pathspecs), never what git ignores nor what is deleted.
files() {
  git ls-files -z --cached --others --exclude-standard -- "$@" | sort -zu | while IFS= read -r -d '' file; do
    [[ -f $file ]] && printf '%s\n' "$file"
  done
}

# sources: our own C++.
sources() { files '*.cpp' '*.hpp'; }

# fixture FILE TEXT [FILE TEXT]...: a tree of these files; what `problems` says of it.
fixture() {
  local tree=$lint_scratch/tree
  rm -rf "$tree"
  mkdir -p "$tree"
  (
    cd "$tree" || exit 1
    git init -q .
    [[ -f $lint_root/.clang-format ]] && cp "$lint_root/.clang-format" .
    while (($# > 0)); do
      mkdir -p "$(dirname "$1")"
      printf '%b' "$2" >"$1"
      shift 2
    done
    problems
  )
}

finds() { # what, file, text, [file, text]...: the first file is complained of
  local said
  said=$(fixture "${@:2}" 2>&1)
  if [[ $said != *"$2"* ]]; then
    echo "the check itself is broken: it does not see that $1; it says: ${said:-nothing}"
    lint_failed=1
  fi
}

accepts() { # what, file, text, [file, text]...
  local said
  said=$(fixture "${@:2}" 2>&1)
  if [[ -n $said ]]; then
    echo "the check itself is broken: it refuses that $1: $said"
    lint_failed=1
  fi
}

check_tree() {
  local said
  cd "$lint_root" || exit 1
  said=$(problems 2>&1)
  if [[ -n $said ]]; then
    printf '%s\n' "$said"
    lint_failed=1
  fi
  exit $lint_failed
}
