# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to hold as many connections as the listener takes, with and without a certificate, and to say nothing.
# Without the fence: at 10,000 the listener is full, and nobody else comes in.
# Rule: when it is full, the connection that has been idle longest makes room, those that never asked anything first.
# Direct: none, because the places are those of zood's listener.
# Some 40 KiB each, most of it OpenSSL's for a handshake that does not come.
flood_memory=600 without_certificate=1 flood idle 5
expect_match "they were as many as the listener takes" '^10000 connections held' "$(head -n 1 "$TMPDIR/flood")"
FLOOD_CONNECTIONS=1000 flood idle 2
