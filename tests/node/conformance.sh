#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream
# step: all
# timeout: 2700
# Kubernetes' own specs whose pods have to run, through tenants on two real nodes: forty of them, or with ZOO_CONFORMANCE=all
# every one that passes directly. Arguments are those of tests/e2e/conformance.sh.
exec "$(dirname "$0")/../e2e/conformance.sh" --nodes "$@"
