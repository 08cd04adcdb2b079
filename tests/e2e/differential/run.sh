#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same random walk of requests against the upstream itself and through a tenant gives the same answers, identities,
# revisions and times aside: run.sh [--seed N] [--steps N] [--time 10m]. By hand; tests/e2e/differential.sh takes it in CI.
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

folder=$zoo_root/tests/e2e/differential
key=$(cd "$folder" && cat ./*.go go.mod go.sum | sha256sum | cut -c1-16)
walker=$zoo_cache/differential-$key/differential

# Built once for each content of the folder, into the upstream's cache.
build_walker() (
  mkdir -p "${walker%/*}"
  exec 9>"$zoo_cache/build.lock"
  flock 9
  [[ -x $walker ]] && exit 0
  ensure_go && cd "$folder" && go build -trimpath -buildvcs=false -ldflags "-s -w" -o "$walker.part" . &&
    mv "$walker.part" "$walker"
)

require "build the walker" build_walker
start_zood
new_tenant id
if "$walker" --direct "$ZOO_E2E_KUBECONFIG" --tenant "$TMPDIR/$id.kubeconfig" --time 60s "$@"; then
  passed "every answer is the same"
else
  failed "every answer is the same" <<<"see above"
fi
check "delete the tenant" ctl tenant delete "$id" --wait
