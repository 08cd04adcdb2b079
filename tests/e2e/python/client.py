#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' Python client as a tenant: dynamic discovery, typed calls, custom objects, watches, patches.

usage: client.py KUBECONFIG TENANT-ID

A tenant without anything is expected. Every answer is looked through for the tenant's prefix.
"""
import base64
import json
import sys
import tempfile
import threading
import time
import unittest

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, ResourceNotFoundError, UnprocessibleEntityError

KUBECONFIG, TENANT = "", ""
# Upstream's garbage collector looks for new kinds every 30 s; what it could not look up before it tries again at double distances.
PATIENCE = 120

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "boats.harbour.example.org"},
    "spec": {
        "group": "harbour.example.org",
        "scope": "Namespaced",
        "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "shortNames": ["bt"]},
        "versions": [{
            "name": "v1",
            "served": True,
            "storage": True,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {
                    "length": {"type": "integer", "minimum": 1},
                    "crew": {"type": "array", "items": {"type": "string"}},
                }},
                "status": {"type": "object", "properties": {"afloat": {"type": "boolean"}}},
            }}},
        }],
    },
}


def eventually(ask, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while True:
        try:
            answer = ask()
            if answer:
                return answer
        except (ApiException, ResourceNotFoundError):
            if time.monotonic() > end:
                raise
        if time.monotonic() > end:
            raise AssertionError("not within %d seconds: %s" % (patience, what))
        time.sleep(0.1)


def config_map(name, data, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


class AsTenant(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = config.new_client_from_config(KUBECONFIG)
        # The discovery is kept in a file, by default one for all servers of the same name.
        cls.cache = tempfile.NamedTemporaryFile(prefix="discovery-", suffix=".json")
        cls.dynamic = dynamic.DynamicClient(cls.api, cache_file=cls.cache.name + ".own")
        cls.core = client.CoreV1Api(cls.api)

    def clean(self, answer):
        """No prefix in what an answer says."""
        text = json.dumps(answer.to_dict() if hasattr(answer, "to_dict") else answer, default=str)
        self.assertNotIn(TENANT + "-", text)
        return answer

    def namespace(self, name):
        self.clean(self.core.create_namespace({"metadata": {"name": name}}))
        eventually(lambda: self.core.read_namespaced_service_account("default", name), "the namespace's account")
        eventually(lambda: self.core.read_namespaced_config_map("kube-root-ca.crt", name), "the namespace's certificates")
        return name


class Discovery(AsTenant):
    def test_groups(self):
        groups = [group.name for group in self.clean(client.ApisApi(self.api).get_api_versions()).groups]
        self.assertIn("apps", groups)
        self.assertEqual([name for name in groups if name.split(".")[0].count("-")], [], "groups of others")

    def test_kinds(self):
        resources = self.dynamic.resources
        self.assertEqual(resources.get(api_version="apps/v1", kind="Deployment").name, "deployments")
        self.assertEqual(resources.get(api_version="v1", short_names=["cm"], kind="ConfigMap").kind, "ConfigMap")
        self.assertIn("all", resources.get(api_version="apps/v1", kind="Deployment").categories)
        self.assertTrue(resources.search(kind="RoleBinding", group="rbac.authorization.k8s.io"))
        with self.assertRaises(ResourceNotFoundError):
            resources.get(api_version="nothing.example.org/v1", kind="Nothing")

    def test_version(self):
        self.assertEqual(client.VersionApi(self.api).get_code().major, "1")


class BuiltIn(AsTenant):
    def test_configmaps_by_discovery(self):
        place = self.namespace("dynamic")
        maps = self.dynamic.resources.get(api_version="v1", kind="ConfigMap")
        made = self.clean(maps.create(body=config_map("one", {"a": "1"}, labels={"set": "x"}), namespace=place))
        self.assertEqual((made.metadata.namespace, made.data.a), (place, "1"))
        with self.assertRaises(ConflictError):
            maps.create(body=config_map("one", {}), namespace=place)
        changed = maps.get(name="one", namespace=place).to_dict()
        changed["data"]["a"] = "2"
        self.assertEqual(self.clean(maps.replace(body=changed, namespace=place)).data.a, "2")
        with self.assertRaises(ConflictError):
            maps.replace(body={**changed, "metadata": {**changed["metadata"], "resourceVersion": made.metadata.resourceVersion}}, namespace=place)
        maps.create(body=config_map("two", {}), namespace=place)
        self.assertEqual([each.metadata.name for each in self.clean(maps.get(namespace=place, label_selector="set=x")).items], ["one"])
        self.assertEqual([each.metadata.name for each in maps.get(namespace=place, field_selector="metadata.name=two").items], ["two"])
        everywhere = self.clean(maps.get(label_selector="set=x")).items
        self.assertEqual([each.metadata.namespace for each in everywhere], [place])
        maps.delete(name="two", namespace=place)
        with self.assertRaises(NotFoundError) as refused:
            maps.get(name="two", namespace=place)
        self.assertEqual(json.loads(refused.exception.body)["message"], 'configmaps "two" not found')
        maps.delete(namespace=place, label_selector="set=x")
        self.assertEqual([each.metadata.name for each in maps.get(namespace=place).items], ["kube-root-ca.crt"])

    def test_patches(self):
        place = self.namespace("patches")
        maps = self.dynamic.resources.get(api_version="v1", kind="ConfigMap")
        services = self.dynamic.resources.get(api_version="v1", kind="Service")
        maps.create(body=config_map("m", {"a": "1", "b": "2"}), namespace=place)

        def patch(body, kind):
            answer = maps.patch(body=body, name="m", namespace=place, content_type="application/" + kind)
            return self.clean(answer).data.to_dict()

        self.assertEqual(patch({"data": {"a": None, "c": "3"}}, "merge-patch+json"), {"b": "2", "c": "3"})
        self.assertEqual(patch({"data": {"c": "4"}}, "strategic-merge-patch+json"), {"b": "2", "c": "4"})
        self.assertEqual(patch([{"op": "test", "path": "/data/c", "value": "4"}, {"op": "move", "from": "/data/c", "path": "/data/d"}], "json-patch+json"),
                         {"b": "2", "d": "4"})
        with self.assertRaises(UnprocessibleEntityError):
            patch([{"op": "test", "path": "/data/d", "value": "5"}], "json-patch+json")

        # Strategic merge knows a Service's ports by their number.
        services.create(body={"metadata": {"name": "s"}, "spec": {"ports": [{"name": "web", "port": 80}]}}, namespace=place)
        merged = services.patch(body={"spec": {"ports": [{"name": "tls", "port": 443}]}}, name="s", namespace=place)
        self.assertEqual(sorted(port.port for port in self.clean(merged).spec.ports), [80, 443])

        applied = config_map("applied", {"by": "one"})
        made = self.dynamic.server_side_apply(maps, body=applied, name="applied", namespace=place, field_manager="one")
        self.assertEqual([entry.manager for entry in self.clean(made).metadata.managedFields], ["one"])
        with self.assertRaises(ConflictError):
            self.dynamic.server_side_apply(maps, body=config_map("applied", {"by": "two"}), name="applied", namespace=place, field_manager="two")
        forced = self.dynamic.server_side_apply(maps, body=config_map("applied", {"by": "two"}), name="applied", namespace=place,
                                                field_manager="two", force_conflicts=True)
        self.assertEqual(self.clean(forced).data.by, "two")

    def test_pages(self):
        place = self.namespace("pages")
        for n in range(7):
            self.core.create_namespaced_config_map(place, config_map("page-%d" % n, {}, labels={"paged": "yes"}))
        for listing in (lambda **more: self.core.list_namespaced_config_map(place, **more), self.core.list_config_map_for_all_namespaces):
            names, token = [], None
            while True:
                page = self.clean(listing(limit=3, _continue=token, label_selector="paged=yes"))
                self.assertLessEqual(len(page.items), 3)
                names += [each.metadata.name for each in page.items]
                token = page.metadata._continue
                if not token:
                    break
            self.assertEqual(names, ["page-%d" % n for n in range(7)])

    def test_deployment(self):
        place, apps = self.namespace("deployments"), client.AppsV1Api(self.api)
        labels = {"app": "web"}
        pod = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels=labels),
                                       spec=client.V1PodSpec(containers=[client.V1Container(name="web", image="web:1")]))
        spec = client.V1DeploymentSpec(replicas=2, selector=client.V1LabelSelector(match_labels=labels), template=pod)
        self.clean(apps.create_namespaced_deployment(place, client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)))
        eventually(lambda: apps.read_namespaced_deployment_status("web", place).status.ready_replicas == 2, "two pods are ready")
        pods = self.clean(self.core.list_namespaced_pod(place, label_selector="app=web")).items
        self.assertEqual([each.metadata.owner_references[0].kind for each in pods], ["ReplicaSet", "ReplicaSet"])
        self.clean(apps.patch_namespaced_deployment_scale("web", place, {"spec": {"replicas": 1}}))
        eventually(lambda: len(self.core.list_namespaced_pod(place).items) == 1, "one pod is left")
        apps.delete_namespaced_deployment("web", place, propagation_policy="Foreground")
        eventually(lambda: not self.core.list_namespaced_pod(place).items, "no pod is left")

    def test_service_account(self):
        place = self.namespace("accounts")
        self.core.create_namespaced_service_account(place, {"metadata": {"name": "reader"}})
        token = self.core.create_namespaced_service_account_token("reader", place, {"spec": {"expirationSeconds": 600}}).status.token
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
        self.assertEqual(claims["aud"], ["zood"])
        own = client.Configuration()
        own.host, own.ssl_ca_cert = self.api.configuration.host, self.api.configuration.ssl_ca_cert
        own.api_key = {"authorization": "Bearer " + token}
        core = client.CoreV1Api(client.ApiClient(own))
        with self.assertRaises(ApiException) as refused:
            core.list_namespaced_config_map(place)
        self.assertEqual(refused.exception.status, 403)
        self.assertIn('User "system:serviceaccount:accounts:reader" cannot list', json.loads(refused.exception.body)["message"])
        rbac = client.RbacAuthorizationV1Api(self.api)
        self.clean(rbac.create_namespaced_role_binding(place, {
            "metadata": {"name": "reader"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": place}]}))
        eventually(lambda: self.clean(core.list_namespaced_config_map(place)), "the account may read")


class Custom(AsTenant):
    def test_custom_resources(self):
        place = self.namespace("harbour")
        definitions = self.dynamic.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")
        self.clean(definitions.create(body=DEFINITION))

        def found():
            self.dynamic.resources.invalidate_cache()
            return self.dynamic.resources.get(api_version="harbour.example.org/v1", kind="Boat")

        boats = eventually(found, "discovery knows boats")
        self.assertEqual((boats.group, boats.name, boats.namespaced), ("harbour.example.org", "boats", True))
        boat = {"apiVersion": "harbour.example.org/v1", "kind": "Boat", "metadata": {"name": "anna"}, "spec": {"length": 9}}
        made = self.clean(eventually(lambda: boats.create(body=boat, namespace=place), "a boat is made"))
        self.assertEqual(made.apiVersion, "harbour.example.org/v1")
        with self.assertRaises(UnprocessibleEntityError):
            boats.create(body={**boat, "metadata": {"name": "none"}, "spec": {"length": 0}}, namespace=place)
        patched = boats.patch(body={"spec": {"crew": ["jo"]}}, name="anna", namespace=place, content_type="application/merge-patch+json")
        self.assertEqual(self.clean(patched).spec.crew, ["jo"])
        patched = boats.patch(body=[{"op": "add", "path": "/spec/crew/-", "value": "mo"}], name="anna", namespace=place, content_type="application/json-patch+json")
        self.assertEqual(self.clean(patched).spec.crew, ["jo", "mo"])

        objects = client.CustomObjectsApi(self.api)
        kind = ("harbour.example.org", "v1", place, "boats")
        status = objects.patch_namespaced_custom_object_status(*kind, "anna", {"status": {"afloat": True}})
        self.assertTrue(self.clean(status)["status"]["afloat"])
        listed = self.clean(objects.list_cluster_custom_object("harbour.example.org", "v1", "boats"))
        self.assertEqual([(each["metadata"]["namespace"], each["metadata"]["name"]) for each in listed["items"]], [(place, "anna")])
        owned = config_map("sails", {}, ownerReferences=[{"apiVersion": "harbour.example.org/v1", "kind": "Boat", "name": "anna", "uid": made.metadata.uid}])
        self.clean(self.core.create_namespaced_config_map(place, owned))
        objects.delete_namespaced_custom_object(*kind, "anna")

        def gone():
            return [each.metadata.name for each in self.core.list_namespaced_config_map(place).items] == ["kube-root-ca.crt"]

        eventually(gone, "what the boat owned is gone")
        definitions.delete(name="boats.harbour.example.org")


class Watches(AsTenant):
    def changes(self, place):
        self.core.create_namespaced_config_map(place, config_map("w", {"n": "0"}))
        for n in range(1, 4):
            self.core.patch_namespaced_config_map("w", place, {"data": {"n": str(n)}})
        self.core.delete_namespaced_config_map("w", place)

    def check(self, place, events):
        seen = []
        for event in events:
            thing = event["object"]
            thing = thing if isinstance(thing, dict) else self.api.sanitize_for_serialization(thing.to_dict() if hasattr(thing, "to_dict") else thing)
            self.assertNotIn(TENANT + "-", json.dumps(thing, default=str))
            if thing["metadata"]["name"] == "w" and thing["metadata"]["namespace"] == place:
                seen.append((event["type"], thing["data"]["n"]))
                if event["type"] == "DELETED":
                    break
        self.assertEqual(seen, [("ADDED", "0"), ("MODIFIED", "1"), ("MODIFIED", "2"), ("MODIFIED", "3"), ("DELETED", "3")])

    def watched(self, name, events):
        """`events` makes a stream from a resourceVersion, before which nothing of `name` has happened."""
        place = self.namespace(name)
        version = self.core.list_namespaced_config_map(place).metadata.resource_version
        writer = threading.Thread(target=self.changes, args=(place,))
        writer.start()
        try:
            self.check(place, events(place, version))
        finally:
            writer.join()
        # The same again, all of it from the past.
        self.check(place, events(place, version))

    def test_typed(self):
        self.watched("typed", lambda place, version: watch.Watch().stream(
            self.core.list_namespaced_config_map, place, resource_version=version, timeout_seconds=PATIENCE))

    def test_typed_everywhere(self):
        self.watched("everywhere", lambda _, version: watch.Watch().stream(
            self.core.list_config_map_for_all_namespaces, resource_version=version, timeout_seconds=PATIENCE))

    def test_by_discovery(self):
        maps = self.dynamic.resources.get(api_version="v1", kind="ConfigMap")
        self.watched("discovered", lambda place, version: (
            {"type": event["type"], "object": event["raw_object"]}
            for event in maps.watch(namespace=place, resource_version=version, timeout=PATIENCE)))


if __name__ == "__main__":
    KUBECONFIG, TENANT = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
