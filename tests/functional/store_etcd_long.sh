#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: store
# step: all
# timeout: 1800
# What every store promises on etcd 3.6, and the long forms: ten thousand increments through lost answers, and a member killed
# every two seconds, sixty times, under eight writers. Then the same on Debian's.
. "$(dirname "$0")/../e2e/lib.sh"

for version in 3.6 3.4; do
  check "the promises hold on etcd $version" env ZOO_LONG=1 ZOO_ETCD="$version" "$ZOO_BUILD/tests/unit/unit_store_etcd"
done
