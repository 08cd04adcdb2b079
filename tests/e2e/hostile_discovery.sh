#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate authz
# timeout: 1200
# Each verb on each path of discovery, on a victim's names.
exec "$(dirname "$0")/../hostile/run.sh" everything_in_discovery
