#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kubernetes' Python client (python/client.py), of the version in python/requirements.txt, kept in the upstream's cache.
# timeout: 900
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

folder=$zoo_root/tests/e2e/python

# fetch_client: prints the folder with the client's packages.
fetch_client() (
  target=$zoo_cache/python-$({ python3 -V; cat "$folder/requirements.txt"; } | sha256sum | cut -c1-16)
  mkdir -p "$zoo_cache"
  exec 9>"$zoo_cache/python.lock"
  flock 9
  if [[ ! -d $target ]]; then
    rm -rf "$target.part"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps \
      --target "$target.part" -r "$folder/requirements.txt" >&2 && mv "$target.part" "$target" || exit 1
  fi
  echo "$target"
)

packages=$(fetch_client) || { failed "get the client" <<<"pip could not"; exit 1; }
start_zood
new_tenant id
if PYTHONPATH=$packages PYTHONDONTWRITEBYTECODE=1 python3 "$folder/client.py" "$TMPDIR/$id.kubeconfig" "$id"; then
  passed "the Python client"
else
  failed "the Python client" <<<"see above"
fi
