#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 1500
# Every kind that the upstream serves: two tenants hold an object of the same kind, namespace and name, and each sees,
# changes and removes only its own. The kinds come from discovery, the objects from Kubernetes' own tests (kinds/).
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

folder=$zoo_root/tests/e2e/kinds
key=$(cd "$folder" && cat ./*.go go.mod go.sum | sha256sum | cut -c1-16)
kinds_test=$zoo_cache/kinds-$key/kinds.test

# Built once for each content of the folder, into the upstream's cache.
build_kinds() (
  mkdir -p "${kinds_test%/*}"
  exec 9>"$zoo_cache/build.lock"
  flock 9
  [[ -x $kinds_test ]] && exit 0
  ensure_go && cd "$folder" && go test -c -trimpath -buildvcs=false -ldflags "-s -w" -o "$kinds_test.part" . &&
    mv "$kinds_test.part" "$kinds_test"
)

require "build the test of kinds" build_kinds
start_zood
new_tenant first
new_tenant second
export ZOO_ADMIN=$ZOO_E2E_KUBECONFIG
export ZOO_TENANT_A=$TMPDIR/$first.kubeconfig ZOO_TENANT_A_ID=$first
export ZOO_TENANT_B=$TMPDIR/$second.kubeconfig ZOO_TENANT_B_ID=$second
export ZOO_API_RESOURCES=$zoo_root/daemon/translate/rules/api-resources.json
if "$kinds_test" -test.v -test.timeout 20m "$@"; then passed "every kind"; else failed "every kind" <<<"see above"; fi
