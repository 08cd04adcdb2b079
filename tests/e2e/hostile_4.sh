#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A quarter of the attacks of tests/hostile.
# timeout: 1800
exec "$(dirname "$0")/../hostile/run.sh" --part 4/4
