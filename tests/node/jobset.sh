#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream tenants
# timeout: 600
# JobSet as its project installs it, at two tenants at the same time: an operator that makes its own certificates, elects a leader,
# and whose webhooks look at its own kind and at pods.
. "$(dirname "$0")/lib.sh"

kustomization=$("$zoo_root/tests/node/up" manifests)/jobset/default
start_zood_for_pods
new_tenant a
new_tenant b
given_access "$a" "$b"
require "CoreDNS answers tenants' names" tenants_names
for id in "$a" "$b"; do eventually "webhooks of $id go through zood" 60 says True condition_of "$id" WebhooksRelayed; done

# Its definition names a webhook for conversions, which the platform has to allow.
for id in "$a" "$b"; do
  allow_conversions "$id"
  require "JobSet is applied" as "$id" apply --server-side -k "$kustomization"
done
for id in "$a" "$b"; do
  require "its manager is rolled out" as "$id" -n jobset-system rollout status deployment/jobset-controller-manager --timeout=150s
  expect_match "and leads" '.' "$(as "$id" get -n jobset-system leases -o 'jsonpath={.items[*].spec.holderIdentity}')"
done

# Each worker asks for the first pod of the leader by its name.
jobset() { # NAME
  jq -n --arg name "$1" --arg image "$tools" 'def job($text; $count): {parallelism: $count, completions: $count, completionMode: "Indexed", backoffLimit: 0, template: {spec: {
      restartPolicy: "Never", terminationGracePeriodSeconds: 1, containers: [{name: "main", image: $image, command: ["sh", "-c", $text]}]}}};
    {apiVersion: "jobset.x-k8s.io/v1alpha2", kind: "JobSet", metadata: {name: $name}, spec: {successPolicy: {operator: "All", targetReplicatedJobs: ["workers"]},
      replicatedJobs: [{name: "leader", replicas: 1, template: {spec: job("sleep 3600"; 1)}},
      {name: "workers", replicas: 2, template: {spec: job("until getent hosts \($name)-leader-0-0.\($name); do sleep 1; done"; 1)}}]}}'
}
for id in "$a" "$b"; do check "a JobSet of $id" create "$id" "$(jobset train)"; done
for id in "$a" "$b"; do
  check "it completes" as "$id" wait --for=condition=Completed jobset/train --timeout=150s
  expect "by two workers who found the leader" 2 "$(as "$id" get jobs -l jobset.sigs.k8s.io/replicatedjob-name=workers -o json | jq '[.items[] | select(.status.succeeded == 1)] | length')"
  expect "the webhook has filled in what it leaves out" true "$(as "$id" get jobset train -o 'jsonpath={.spec.network.enableDNSHostnames}')"
  check_fails "and refuses what cannot be" '"wrong" is invalid.*nobody.* does not appear in' create "$id" "$(jobset wrong | jq -c '.spec.successPolicy.targetReplicatedJobs = ["nobody"]')"
  expect_no_match "in words without the prefix" "$id-|$id\\." "$(create "$id" "$(jobset wrong | jq -c '.spec.successPolicy.targetReplicatedJobs = ["nobody"]')" 2>&1)"
  expect "its manager was never restarted" 0 "$(as "$id" get pods -n jobset-system -o json | jq '[.items[].status.containerStatuses[].restartCount] | add')"
done
check "the JobSet goes" as "$a" delete jobset train --timeout=60s
eventually "and its jobs" 60 says "" as "$a" get jobs -o name
expect "the other tenant's stays" jobset.jobset.x-k8s.io/train "$(as "$b" get jobsets -o name)"
check "all of it goes" as "$a" delete -k "$kustomization" --timeout=90s
