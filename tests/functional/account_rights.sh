#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: authz upstream
# step: verify
# timeout: 300
# Who may do what, by upstream's RBAC as zood follows it, is what upstream's own access reviews say: 10,000 random questions about random
# roles and bindings, which change four times between them (authz/account_rights.cpp).
. "$(dirname "$0")/../e2e/lib.sh"

program=$ZOO_BUILD/tests/functional/account_rights
[[ -x $program ]] || skip "$program is not built"
"$program" 10000 | tee "$TMPDIR/rights.log"
expect "zood's evaluator agrees with upstream" "0" "${PIPESTATUS[0]}"
expect_match "in all that was asked" '^10000 questions, .* 0 answered differently$' "$(cat "$TMPDIR/rights.log")"
