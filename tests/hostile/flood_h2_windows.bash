# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: requests whose answers may never be sent, for the window is nothing; more streams than allowed.
# Without the fence: each answer waits in zood's memory, and holds a connection upstream.
# Rule: what waits is bounded by stream and connection, then upstream is not read; 250 streams a connection.
# Direct: none, because the memory and the places are those of zood's listener.
flood window_stall 5 '/api/v1/configmaps?limit=500'
flood many_streams 3 /api/v1/namespaces/team/configmaps
