#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: cli common
# step: verify
# zooctl as a black box against a scripted zood.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ZOO_BUILD=${ZOO_BUILD:-$here/../../build/dev}
[[ -x $ZOO_BUILD/bin/zooctl ]] || { echo "there is no $ZOO_BUILD/bin/zooctl: build it first"; exit 1; }
exec python3 "$here/cli/test_zooctl.py" "$ZOO_BUILD/bin/zooctl" "$@"
