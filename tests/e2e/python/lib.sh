# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced after ../lib.sh. `python SCRIPT ARGUMENTS...` runs a script of this folder with the packages of requirements.txt,
# which pip has put into the upstream's cache.
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

python_folder=$zoo_root/tests/e2e/python

# fetch_packages: prints the folder with them.
fetch_packages() (
  target=$zoo_cache/python-$({ python3 -V; cat "$python_folder/requirements.txt"; } | sha256sum | cut -c1-16)
  mkdir -p "$zoo_cache"
  exec 9>"$zoo_cache/python.lock"
  flock 9
  if [[ ! -d $target ]]; then
    rm -rf "$target.part"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps \
      --target "$target.part" -r "$python_folder/requirements.txt" >&2 && mv "$target.part" "$target" || exit 1
  fi
  echo "$target"
)

python_packages=$(fetch_packages) || { failed "get the packages" <<<"pip could not"; exit 1; }
python() { PYTHONPATH=$python_packages PYTHONDONTWRITEBYTECODE=1 python3 "$python_folder/$1" "${@:2}"; }
