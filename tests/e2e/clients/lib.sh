# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced after ../lib.sh. run_clients WHAT TEST: runs one test of this folder, as two new tenants of the zood that is up.
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

run_clients() {
  local what=$1 test=$2 binary first='' second=''
  binary=$(go_test_binary "$zoo_root/tests/e2e/clients") || { failed "build the clients" <<<"see above"; exit 1; }
  new_tenant first
  new_tenant second
  if ZOO_ADMIN=$ZOO_E2E_KUBECONFIG ZOO_TENANT_A=$TMPDIR/$first.kubeconfig ZOO_TENANT_A_ID=$first \
    ZOO_TENANT_B=$TMPDIR/$second.kubeconfig ZOO_TENANT_B_ID=$second \
    "$binary" -test.v -test.timeout 14m -test.run "^$test\$"; then
    passed "$what"
  else
    failed "$what" <<<"see above"
  fi
}
