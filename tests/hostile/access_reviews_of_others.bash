# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: reviews that ask about the victim's users, upstream's, and namespaces beyond the tenant.
# Without the fence: SubjectAccessReview tells who may do what in the whole cluster, and why, by the names of its roles.
# Rule: zood answers reviews itself, from the attacker's own RBAC.
for user in system:admin kubernetes-admin "zoo:$victim" "zoo:inert:$victim:$canary" "$canary" system:serviceaccount:zoo-system:zood "system:serviceaccount:$victim-team:$vault"; do
  for attributes in '{"namespace":"'"$victim-team"'","resource":"secrets","verb":"get","name":"'"$vault"'"}' '{"namespace":"team","resource":"pods","verb":"get"}' '{"resource":"nodes","subresource":"proxy","verb":"get"}'; do
    try POST /apis/authorization.k8s.io/v1/subjectaccessreviews json '{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"'"$user"'","groups":["system:authenticated"],"resourceAttributes":'"$attributes"'}}'
    expect_no_match "$user may nothing" '"allowed": ?true' "$answer"
  done
done
try POST /apis/authorization.k8s.io/v1/namespaces/team/localsubjectaccessreviews json '{"apiVersion":"authorization.k8s.io/v1","kind":"LocalSubjectAccessReview","metadata":{"namespace":"team"},"spec":{"user":"'"$canary"'","resourceAttributes":{"namespace":"'"$victim-team"'","resource":"pods","verb":"get"}}}'
expect_no_match "another namespace than the path's" '"allowed": ?true' "$answer"
try POST "/apis/authorization.k8s.io/v1/namespaces/$victim-team/localsubjectaccessreviews" json '{"apiVersion":"authorization.k8s.io/v1","kind":"LocalSubjectAccessReview","metadata":{"namespace":"'"$victim-team"'"},"spec":{"user":"'"$canary"'","resourceAttributes":{"namespace":"'"$victim-team"'","resource":"pods","verb":"get"}}}'
expect_no_match "the victim's namespace" '"allowed": ?true' "$answer"
try POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews json '{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":"'"$victim-team"'"}}'
expect_no_match "rules name nobody else" "$canary" "$answer"
direct POST /apis/authorization.k8s.io/v1/subjectaccessreviews json '{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"zoo:'"$victim"'","resourceAttributes":{"namespace":"'"$victim-team"'","resource":"secrets","verb":"get"}}}'
expect_match "upstream would tell its administrator" '"allowed": ?true' "$answer"
