#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate authz upstream virtuals http net tenants
# step: verify
# timeout: 1800
# A quarter of the attacks of tests/hostile.
exec "$(dirname "$0")/../hostile/run.sh" --part 3/4
