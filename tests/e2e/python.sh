#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate http
# timeout: 900
# Kubernetes' Python client (python/client.py), of the version in python/requirements.txt, kept in the upstream's cache.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/python/lib.sh"

start_zood
new_tenant id
if python client.py "$TMPDIR/$id.kubeconfig" "$id"; then
  passed "the Python client"
else
  failed "the Python client" <<<"see above"
fi
