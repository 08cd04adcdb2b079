#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: tenants store upstream common
# step: verify
# timeout: 1200
# The life of tenants, with zood's credential and fences, against a real control plane.
set -euo pipefail
: "${ZOO_BUILD:?the build folder}" "${ZOO_UPSTREAM:?the path of tests/upstream/up}"
program=$ZOO_BUILD/tests/functional/tenants_lifecycle
[[ -x $program ]] || { echo "$program is not built" >&2; exit 125; }
work=$(mktemp -d)
trap '"$ZOO_UPSTREAM" stop --dir "$work/upstream" >/dev/null 2>&1; rm -rf "$work"' EXIT
ZOO_E2E_KUBECONFIG=$("$ZOO_UPSTREAM" start --dir "$work/upstream" --nodes 1 --timeout 400)
export ZOO_E2E_KUBECONFIG TMPDIR=$work
"$program" "$@"
