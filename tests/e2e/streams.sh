#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: http net gateway upstream
# timeout: 1800
# Hundreds of HTTP/2 streams of one client, compression, and streams on which nothing happens (clients/streams_test.go).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/clients/lib.sh"

start_zood
run_clients "many streams" TestManyStreams
run_clients "compression" TestCompression
run_clients "an idle stream" TestIdleStream
