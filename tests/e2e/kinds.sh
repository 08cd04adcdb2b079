#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate virtuals
# timeout: 1500
# Every kind that the upstream serves: two tenants hold an object of the same kind, namespace and name, and each sees,
# changes and removes only its own. The kinds come from discovery, the objects from Kubernetes' own tests (kinds/).
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

kinds_test=$(go_test_binary "$zoo_root/tests/e2e/kinds") || { failed "build the test of kinds" <<<"see above"; exit 1; }
# Volumes and nodes by name are what the kinds are about.
start_zood_with 'guards: {volume_drivers: "*", node_names: true}'
new_tenant first
new_tenant second
export ZOO_ADMIN=$ZOO_E2E_KUBECONFIG
export ZOO_TENANT_A=$TMPDIR/$first.kubeconfig ZOO_TENANT_A_ID=$first
export ZOO_TENANT_B=$TMPDIR/$second.kubeconfig ZOO_TENANT_B_ID=$second
export ZOO_API_RESOURCES=$zoo_root/daemon/translate/rules/api-resources.json
if "$kinds_test" -test.v -test.timeout 20m "$@"; then passed "every kind"; else failed "every kind" <<<"see above"; fi
