#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway upstream translate authz
# timeout: 900
# A controller-runtime operator (clients/operator_test.go) in two tenants at once, of the same kinds and names: in one as the
# administrator, in the other as a ServiceAccount with rights of its own. It owns Deployments, ConfigMaps and custom
# resources, keeps status and finalizers, and is elected by a Lease.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/clients/lib.sh"

start_zood
run_clients "the operator" TestOperator
