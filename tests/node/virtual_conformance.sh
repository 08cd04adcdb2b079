#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# step: all
# timeout: 10800
# Kubernetes' own specs in a virtual cluster that has two real nodes: every one that passes directly on them.
exec "$(dirname "$0")/../e2e/conformance.sh" --nodes --cluster --all "$@"
