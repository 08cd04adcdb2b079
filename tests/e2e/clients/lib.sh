# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced after ../lib.sh. run_clients WHAT TEST: runs one test of this folder, as two new tenants of the zood that is up.
# run_clients_as WHAT TEST FIRST SECOND: as the holders of $TMPDIR/FIRST.kubeconfig and $TMPDIR/SECOND.kubeconfig, who have these names
# as IDs. The variable zoo_in_clusters is set where each of them has an API server of its own, of whose kinds upstream has none.
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

run_clients() {
  local first='' second=''
  new_tenant first
  new_tenant second
  run_clients_as "$1" "$2" "$first" "$second"
}

run_clients_as() {
  local what=$1 test=$2 first=$3 second=$4 binary
  binary=$(go_test_binary "$zoo_root/tests/e2e/clients") || { failed "build the clients" <<<"see above"; exit 1; }
  if ZOO_IN_CLUSTERS=${zoo_in_clusters:-} \
    ZOO_ADMIN=$ZOO_E2E_KUBECONFIG ZOO_TENANT_A=$TMPDIR/$first.kubeconfig ZOO_TENANT_A_ID=$first \
    ZOO_TENANT_B=$TMPDIR/$second.kubeconfig ZOO_TENANT_B_ID=$second \
    "$binary" -test.v -test.timeout 14m -test.run "^$test\$"; then
    passed "$what"
  else
    failed "$what" <<<"see above"
  fi
}
