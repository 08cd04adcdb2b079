#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# A walk of this tree's own: the same requests to the upstream itself and to a tenant, with the same answers
# (differential/run.sh). A tree always walks the same way, another one another way.
root=$(cd "$(dirname "$0")/../.." && pwd)
if tree=$(git -C "$root" rev-parse 'HEAD^{tree}' 2>/dev/null); then
  seed=$((16#${tree:0:5}))
else
  seed=1 # no history: a copy of the sources
fi
exec "$root/tests/e2e/differential/run.sh" --seed "$seed" --steps 300 --time 80s
