#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each verb on each path of discovery, on a victim's names.
# timeout: 1200
exec "$(dirname "$0")/../hostile/run.sh" everything_in_discovery
