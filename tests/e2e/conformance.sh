#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate authz upstream virtuals tenants
# step: all
# timeout: 2700
# Kubernetes' own end-to-end specs, each through the kubeconfig of a tenant, or in a virtual cluster.
#
#   conformance.sh [--all | --specs FILE] [--nodes] [--direct | --cluster] [--write] [--jobs N]
#
#   (default)     the specs of conformance/sample.txt, or with --nodes of conformance/sample-nodes.txt
#   --all         all conformance specs that pass directly
#   --specs FILE  one spec a line
#   --nodes       the upstream has real nodes (tests/node/up): the outcome is that of the columns of real nodes
#   --direct      against the upstream itself, all specs that there are unless --specs says which
#   --cluster     in a virtual cluster that has all nodes of the upstream, which is one of its own unless the nodes are real
#   --write       keep the outcome in conformance/results.tsv, and write docs/conformance.md anew
#
# It fails when a spec fails that conformance/results.tsv says passed, unless conformance/expected-failures.tsv names it
# with a reason (or expected-failures-nodes.tsv, with --nodes; or the two of virtual clusters, with --cluster); and when one that is named there passes, so that the lists
# shrink. ZOO_CONFORMANCE=all is --all.
# shellcheck source=tests/e2e/lib.sh
if [[ " $* " == *" --nodes "* ]]; then . "$(dirname "$0")/../node/lib.sh"; else . "$(dirname "$0")/lib.sh"; fi
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

folder=$zoo_root/tests/e2e/conformance
specs='' direct=0 cluster=0 write=0 jobs='' nodes=''
[[ ${ZOO_CONFORMANCE:-} == all ]] && specs=all
while (($#)); do
  case $1 in
    --all) specs=all ;;
    --specs) specs=$2; shift ;;
    --nodes) nodes=-nodes ;;
    --direct) direct=1 ;;
    --cluster) cluster=1 ;;
    --write) write=1 ;;
    --jobs) jobs=$2; shift ;;
    *) echo "unknown argument '$1'" >&2; exit 64 ;;
  esac
  shift
done

report() { python3 "$folder/report.py" --folder "$folder" --doc "$zoo_root/docs/conformance.md" "$@"; }

# Several minutes, once.
binary=$(go_test_binary "$folder") || { failed "build Kubernetes' end-to-end tests" <<<"see above"; exit 1; }
PATH=$(dirname "$KUBECTL"):$PATH # some specs call kubectl

column=zood
((direct)) && column=direct
((cluster)) && column=cluster
[[ -z $nodes ]] || column=nodes-$column
list=$TMPDIR/specs.txt
if [[ $specs == all ]] || { [[ -z $specs ]] && ((direct)); }; then
  every=()
  ((direct)) && every=(--every)
  require "list the specs" report list ${every[@]+"${every[@]}"} --column "$column" --out "$list"
else
  cp "${specs:-$folder/sample$nodes.txt}" "$list" || exit 66
fi

# What the upstream does not serve nobody can pass: Kubernetes 1.33 has these not in v1.
if ! upstream get --raw /apis/admissionregistration.k8s.io/v1 | says_line '"mutatingadmissionpolicies"'; then
  note "not served here, and left out: $(grep -c MutatingAdmissionPolicy "$list") specs of MutatingAdmissionPolicy"
  sed -i '/MutatingAdmissionPolicy/d' "$list"
fi

# Pods that run wait for one another; those of fake nodes keep a processor busy.
[[ -n $jobs ]] || jobs=$([[ -n $nodes ]] && echo 6 || echo 4)
# What the specs are about beside all that anybody may have: volumes and nodes by name.
config='guards: {volume_drivers: "*", node_names: true}'
kubeconfigs=()
if ((direct)); then
  for ((n = 0; n < jobs; ++n)); do kubeconfigs+=("$ZOO_E2E_KUBECONFIG"); done
elif ((cluster)); then
  . "$zoo_root/tests/functional/clusters/lib.bash"
  if [[ -n $nodes ]]; then
    at_end() {
      ctl cluster delete conformance --ignore-not-found --timeout 60s >/dev/null 2>&1
      end_keeper
      remove_access
    }
    zoo_for_pods=1
    zoo_clusters_listen=$machine:0 # where pods reach the cluster's API server
    config+=$'\nshared: {storage_classes: ["*"]}'
  else
    own_upstream --nodes 3
    at_end() { end_keeper; }
  fi
  start_clusters "$config"
  all_nodes=()
  for node in $(upstream get nodes -o 'jsonpath={.items[*].metadata.name}'); do all_nodes+=(--node "$node"); done
  require "a virtual cluster with all nodes" ctl cluster create conformance "${all_nodes[@]}"
  # By its own port: the framework of the specs forgets the server name of a kubeconfig.
  require "its kubeconfig" ctl cluster connect conformance --direct --kubeconfig-file "$TMPDIR/conformance.kubeconfig"
  eventually "it is in step with the upstream" 120 condition_is conformance Synced "True Synced"
  [[ -z $nodes ]] || require "its CoreDNS runs" as conformance -n kube-system wait --for=condition=Available deployment/coredns --timeout=120s
  for ((n = 0; n < jobs; ++n)); do kubeconfigs+=("$TMPDIR/conformance.kubeconfig"); done
else
  # A tenant for each worker: what one spec does cluster-wide must not reach the others anyway.
  tenants=()
  if [[ -n $nodes ]]; then start_zood_for_pods "$config"; else start_zood_with "$config"; fi
  for ((n = 0; n < jobs; ++n)); do
    new_tenant id
    tenants+=("$id")
    kubeconfigs+=("$TMPDIR/$id.kubeconfig")
  done
  # Pods that run see the tenant's own cluster.
  if [[ -n $nodes ]]; then
    given_access "${tenants[@]}"
    for id in "${tenants[@]}"; do eventually "webhooks of $id go through zood" 60 says True condition_of "$id" WebhooksRelayed; done
    require "CoreDNS answers tenants' names" tenants_names
  fi
fi

results=$TMPDIR/results.json
# Some of all wait for minutes: for a compaction of etcd, for jobs that come by the clock.
timeout=330
[[ $specs == all ]] && timeout=900
"$folder/run.py" --bin "$binary" --specs "$list" --out "$results" --timeout "$timeout" --again "${kubeconfigs[@]}"
if output=$(report check --column "$column" --results "$results" 2>&1); then
  passed "the specs end as they should"
else
  failed "the specs end as they should" <<<"$output"
fi
if ((write)); then check "write the report" report write --column "$column" --results "$results"; fi
