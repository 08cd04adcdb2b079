# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: pipelines that nobody reads, heads without end.
# Without the fence: answers or heads fill the memory.
# Rule: one request of a pipeline at a time, nothing is read while answers wait; 64 KiB a head.
# Direct: none, because the memory is that of zood's listener; upstream's own has bounds of its own.
flood pipeline 3
flood huge_head 3
