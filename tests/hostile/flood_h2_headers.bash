# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: a header block that never ends, one that unpacks to megabytes from the dynamic table, a body of empty frames.
# Without the fence: memory for headers that are never complete (CVE-2024-28182), or a thousandfold of what was sent.
# Rule: 8 CONTINUATION frames, 64 KiB and 256 fields a request, however they were packed.
# Direct: none, because the memory is that of zood's listener; upstream's own has bounds of its own.
for kind in continuation hpack_bomb empty_data; do flood $kind 3; done
