#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes system.json: the ClusterRoles of Kubernetes' own, and the ClusterRoleBindings that a tenant needs.

    generate.py KUBERNETES-SOURCE >system.json

The source is a tree of k8s.io/kubernetes; its test data hold what its policy generates
(plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata, written by Kubernetes with UPDATE_BOOTSTRAP_POLICY_FIXTURE_DATA).
One object a line, so that a difference between two versions can be read.
"""
import json
import pathlib
import sys

import yaml

# The others bind users and ServiceAccounts of a control plane that a tenant does not have.
BINDINGS = [
    "cluster-admin",
    "system:basic-user",
    "system:discovery",
    "system:public-info-viewer",
    "system:service-account-issuer-discovery",
]


def items(folder, name):
    return yaml.safe_load((folder / name).read_text())["items"]


def main():
    folder = pathlib.Path(sys.argv[1]) / "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata"
    roles = items(folder, "cluster-roles.yaml") + items(folder, "controller-roles.yaml")
    bindings = [b for b in items(folder, "cluster-role-bindings.yaml") if b["metadata"]["name"] in BINDINGS]
    assert len(bindings) == len(BINDINGS)

    def lines(objects):
        objects = sorted(objects, key=lambda o: o["metadata"]["name"])
        for each in objects:
            each["metadata"].pop("creationTimestamp", None)
        # Kubernetes writes these two first.
        ordered = [{"kind": o["kind"], "apiVersion": o["apiVersion"], **o} for o in objects]
        return ",\n".join(json.dumps(o, separators=(",", ":")) for o in ordered)

    print('{"clusterRoles":[\n%s],\n"clusterRoleBindings":[\n%s]}' % (lines(roles), lines(bindings)))


main()
