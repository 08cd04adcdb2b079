# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: requests that are taken back in the same breath, as fast as they go (CVE-2023-44487), and streams broken so that the
# listener resets them itself (CVE-2025-8671).
# Without the fence: each costs the upstream a request and the attacker nothing.
# Rule: resets are counted; beyond 500 at once, or 50 a second, the connection goes. What the listener resets itself is freed.
# Direct: none, because what is fenced is upstream itself, which others share: it would be the victim.
flood rapid_reset 4
flood made_you_reset 4
