#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# step: all
# timeout: 5400
# Kubernetes' own specs in a virtual cluster: every one that passes directly in front of fake nodes.
exec "$(dirname "$0")/conformance.sh" --cluster --all "$@"
