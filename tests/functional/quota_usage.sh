#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: quota
# timeout: 300
# What an object costs, as zood counts it, is what the upstream's ResourceQuota charges for it: 500 random pods, Services, claims and others
# (quota/quota_usage.cpp), with and without scopes.
. "$(dirname "$0")/../e2e/lib.sh"

program=$ZOO_BUILD/tests/functional/quota_usage
[[ -x $program ]] || skip "$program is not built"
"$program" 500 | tee "$TMPDIR/usage.log"
expect "zood counts as upstream does" "0" "${PIPESTATUS[0]}"
expect_match "in all that was made" '^500 objects, 0 charged differently$' "$(cat "$TMPDIR/usage.log")"
