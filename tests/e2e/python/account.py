#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' Python client as an ordinary user of the upstream, at the account door.

usage: account.py KUBECONFIG ACCOUNT PREFIX

He is the only member of the account, has no space, and may make some; PREFIX begins their names.
"""
import sys
import threading
import unittest

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

KUBECONFIG = ACCOUNT = PREFIX = ""
PATIENCE = 60


class AsMember(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = config.new_client_from_config(KUBECONFIG)
        cls.core = client.CoreV1Api(cls.api)
        cls.spaces = dynamic.DynamicClient(cls.api).resources.get(api_version="tenancy.kiosk.sh/v1alpha1", kind="Space")

    def names(self):
        return [item.metadata.name for item in self.core.list_namespace().items]

    def test_1_makes_spaces_and_hears_of_them(self):
        self.assertEqual(self.names(), [])
        begin = self.core.list_namespace().metadata.resource_version
        heard, enough = [], threading.Event()

        def listen():
            for event in watch.Watch().stream(self.core.list_namespace, resource_version=begin, timeout_seconds=PATIENCE):
                heard.append((event["type"], event["object"].metadata.name))
                if ("ADDED", PREFIX + "-two") in heard:
                    enough.set()
                    return

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        made = self.core.create_namespace({"metadata": {"name": PREFIX + "-one", "labels": {"mine": "yes"}}})
        self.assertEqual(made.metadata.labels["kiosk.sh/account"], ACCOUNT)
        self.spaces.create({"apiVersion": "tenancy.kiosk.sh/v1alpha1", "kind": "Space", "metadata": {"name": PREFIX + "-two"}})
        self.assertTrue(enough.wait(PATIENCE), heard)
        self.assertEqual([name for kind, name in heard if kind == "ADDED"], [PREFIX + "-one", PREFIX + "-two"])
        self.assertEqual(self.names(), [PREFIX + "-one", PREFIX + "-two"])
        self.assertEqual([item.metadata.name for item in self.core.list_namespace(label_selector="mine=yes").items], [PREFIX + "-one"])

    def test_2_spaces_are_custom_objects(self):
        objects = client.CustomObjectsApi(self.api)
        listed = objects.list_cluster_custom_object("tenancy.kiosk.sh", "v1alpha1", "spaces")
        self.assertEqual([item["spec"]["account"] for item in listed["items"]], [ACCOUNT, ACCOUNT])
        changed = objects.patch_cluster_custom_object("tenancy.kiosk.sh", "v1alpha1", "spaces", PREFIX + "-one", {"metadata": {"labels": {"b": "c"}}})
        self.assertEqual(changed["metadata"]["labels"]["b"], "c")
        self.assertEqual(self.core.read_namespace(PREFIX + "-one").metadata.labels["b"], "c")
        with self.assertRaises(ApiException) as refused:
            objects.get_cluster_custom_object("tenancy.kiosk.sh", "v1alpha1", "spaces", "kube-system")
        self.assertEqual(refused.exception.status, 404)

    def test_3_works_in_them(self):
        for space in ("one", "two"):
            self.core.create_namespaced_config_map(PREFIX + "-" + space, {"metadata": {"name": "here"}, "data": {"a": "b"}})
        every = self.core.list_config_map_for_all_namespaces(field_selector="metadata.name=here")
        self.assertEqual([item.metadata.namespace for item in every.items], [PREFIX + "-one", PREFIX + "-two"])
        with self.assertRaises(ApiException) as refused:
            self.core.list_namespaced_config_map("kube-system")
        self.assertEqual(refused.exception.status, 403)

    def test_4_asks_what_he_may(self):
        reviews = client.AuthorizationV1Api(self.api)

        def may(**attributes):
            body = {"spec": {"resourceAttributes": attributes}}
            return reviews.create_self_subject_access_review(body).status.allowed

        self.assertTrue(may(verb="list", resource="namespaces"))
        self.assertTrue(may(verb="create", resource="namespaces"))
        self.assertTrue(may(verb="list", resource="configmaps"))
        self.assertFalse(may(verb="list", resource="nodes"))
        self.assertEqual(client.AuthenticationV1Api(self.api).create_self_subject_review({}).status.user_info.groups, ["system:authenticated"])

    def test_5_deletes_them(self):
        for space in ("one", "two"):
            self.core.delete_namespace(PREFIX + "-" + space)
        for event in watch.Watch().stream(self.core.list_namespace, timeout_seconds=PATIENCE):
            if event["type"] == "DELETED" and not self.names():
                break
        self.assertEqual(self.names(), [])


if __name__ == "__main__":
    KUBECONFIG, ACCOUNT, PREFIX = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1], verbosity=2)
