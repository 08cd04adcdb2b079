# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: SETTINGS, PING, PRIORITY, WINDOW_UPDATE and frames that nobody knows, with and without reading what they are answered.
# Without the fence: acknowledgements that nobody reads fill the memory.
# Rule: 32 SETTINGS, a bounded queue of acknowledgements; beyond them GOAWAY.
# Direct: none, because the memory is that of zood's listener; upstream's own has bounds of its own.
for kind in settings settings_unread ping priority window_updates unknown_frames; do flood $kind 2; done
