#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway upstream translate
# timeout: 1800
# client-go's informers - typed, dynamic, metadata; JSON and protobuf; with and without initial events by watch - have
# exactly the objects that there are, while two tenants write (clients/informers_test.go).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/clients/lib.sh"

start_zood
run_clients "informers that begin with a watch" TestInformers
KUBE_FEATURE_WatchListClient=false run_clients "informers that begin with a list" TestInformers
