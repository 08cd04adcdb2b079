# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to read, widen, delete and replace the RoleBinding zoo-tenant that fences each namespace, by name and among many.
# Without the fence: bound to cluster-admin it would be upstream's own right to the namespace; gone, it would be an outage.
# Rule: the name is zood's own: hidden, not to be made, and left out of deletecollection; upstream's policy says so too.
bindings=/apis/rbac.authorization.k8s.io/v1/namespaces/team/rolebindings
before=$(stored "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/zoo-tenant" '.metadata.uid, .roleRef, .subjects')
try GET $bindings/zoo-tenant
refused "it is not read" 404
try GET $bindings
expect_no_match "nor listed" zoo-tenant "$answer"
try DELETE $bindings/zoo-tenant
refused "nor deleted"
try PATCH $bindings/zoo-tenant merge '{"subjects":null}'
refused "nor patched"
try PUT $bindings/zoo-tenant json '{"metadata":{"name":"zoo-tenant"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}'
refused "nor put"
try POST $bindings json '{"metadata":{"name":"zoo-tenant"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}'
refused "nor made"
try PATCH "$bindings/zoo-tenant?fieldManager=zood&force=true" apply '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"zoo-tenant"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[]}'
refused "nor applied"
try DELETE $bindings
accepted "all others may go"
try DELETE "$bindings?fieldSelector=metadata.name%3Dzoo-tenant"
try DELETE "$bindings?fieldSelector=metadata.name!=x,metadata.name==zoo-tenant"
try DELETE "$bindings?labelSelector=app.kubernetes.io/managed-by"
try GET "$bindings?fieldSelector=metadata.name%3Dzoo-tenant"
expect_no_match "a selector does not find it" '"name": ?"zoo-tenant"' "$answer"
try GET "$bindings?watch=true&resourceVersion=0&timeoutSeconds=1"
expect_no_match "nor a watch" 'zoo-tenant' "$answer"
expect "it is as it was" "$before" "$(stored "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/zoo-tenant" '.metadata.uid, .roleRef, .subjects')"
would "take the tenant's right away" DELETE "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/zoo-tenant"
