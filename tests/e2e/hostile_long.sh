#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate authz upstream virtuals
# step: all
# timeout: 900
# Those attacks of tests/hostile that take more than a minute each, since they try every kind or every policy.
exec "$(dirname "$0")/../hostile/run.sh" admission_policies bodies_of_other_kinds definitions_that_hide_objects
