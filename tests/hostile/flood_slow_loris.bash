# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: hundreds of requests whose head, or whose body, comes a byte at a time and never ends.
# Without the fence: each holds a place; when all are held, nobody else comes in.
# Rule: a head has 30 s as a whole, a body 60 s for its next byte; places are counted by tenant.
# Direct: none, because the places are those of zood's listener, which counts them by tenant.
flood slow_head 45
expect_match "who does not say a head in time is gone" '^300 connections, 0 still there' "$(head -n 1 "$TMPDIR/flood")"
flood slow_body 4
