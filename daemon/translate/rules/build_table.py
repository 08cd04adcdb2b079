#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the rule table: api-references.json + api-resources.json -> rules_table.cpp.

usage: build_table.py REFERENCES RESOURCES OUTPUT

Every row must be understood: a rule, a path or a kind that this program has no case for ends the
build. All versions of a kind go into one automaton; equal positions are shared (hash-consing).
"""
import collections
import json
import re
import sys

OVERLAYS = {"StorageClass": 0, "IngressClass": 1, "RuntimeClass": 2, "PriorityClass": 3,
            "VolumeAttributesClass": 4, "DeviceClass": 5}
# Documents that are no objects of a kind: other parts of translate/ have them.
ELSEWHERE = {"*List", "WatchEvent", "Table", "PartialObjectMetadata", "AdmissionReview",
             "ConversionReview", "APIGroupList", "APIGroup", "APIVersions", "APIResourceList",
             "APIGroupDiscoveryList", "v2", "v3", "NodeProxyOptions", "PodAttachOptions",
             "PodExecOptions", "PodLogOptions", "PodPortForwardOptions", "PodProxyOptions",
             "ServiceProxyOptions"}
# Rules that leave the value alone in both directions (docs/decisions says why for each).
KEPT = {"OPAQUE", "SHARED", "MANAGER", "ANNO", "CRNAME", "DNS", "DOWNWARD", "JWT", "X509",
        "SELF", "VIRT", "HIDDEN", "APISVC", "USER", "UGROUP", "EXTRA", "RV", "TABLE"}
# zood answers these itself, in the tenant's words; they never go upstream.
ANSWERED = {"SelfSubjectReview", "TokenReview", "SelfSubjectAccessReview", "SubjectAccessReview",
            "LocalSubjectAccessReview", "SelfSubjectRulesReview"}
ADMISSION = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
             "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy",
             "MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding"}
GUARDED = ADMISSION | set(OVERLAYS) | {
    "Namespace", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "NetworkPolicy",
    "CustomResourceDefinition", "PersistentVolume", "Service", "Pod", "Secret"}
MODES = {"n/a": "none", "private": "private_kind", "private+guard": "private_guard",
         "overlay": "overlay", "shared-ro": "shared_ro", "hybrid": "hybrid", "filter": "filter",
         "proxy-eval": "proxy_eval", "virtual": "virtual_kind", "self": "self", "hidden": "hidden",
         "?": "refused"}
# Kinds of hidden_names.cpp.
HIDDEN_NAMES = [("", "ConfigMap"), ("", "ResourceQuota"), ("networking.k8s.io", "NetworkPolicy"), ("rbac.authorization.k8s.io", "RoleBinding")]
NODE_NAME = "kubernetes.io/metadata.name"
STATUS_KIND = "Status"


def stop(row, why):
    sys.exit(f"build_table.py: {why}: {json.dumps(row)}")


class Node:
    def __init__(self):
        self.edges = {}  # key -> [Node, field, inlined, inject]
        self.element = self.value = None
        self.action, self.parameter, self.key_action = "none", 0, "none"
        self.siblings = self.inject_label = self.plain_fields = self.own_fields = False

    def member(self, key, numbers=None):
        edge = self.edges.setdefault(key, [Node(), None, 0, False])
        if numbers is not None:
            chain = numbers if isinstance(numbers, list) else [numbers]
            inlined = sum(n << (8 * i) for i, n in enumerate(chain[:-1]))
            if edge[1] is None:
                edge[1:3] = [chain[-1], inlined]
            elif edge[1:3] != [chain[-1], inlined]:
                edge[1:3] = [0, 0]  # differs between versions
        return edge[0]

    def inject(self, key):
        self.member(key)
        self.edges[key][3] = True

    def items(self):
        self.element = self.element or Node()
        return self.element

    def values(self):
        self.value = self.value or Node()
        return self.value

    def act(self, action, parameter=0, row=None, over=()):
        if self.action not in ("none", action) and self.action not in over:
            if action in ("name_space",) and self.action == "event_namespace":
                return
            stop(row, f"two rules for one place ({self.action}, {action})")
        self.action, self.parameter = action, parameter

    def key_act(self, action):
        self.key_action = action


def steps(path):
    out = []
    for part in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^.\[\{]+", path):
        out.append(("map", part[1:-1]) if part[0] == "{" else
                   ("list", part[1:-1]) if part[0] == "[" else ("key", part))
    return out


# What `kubectl apply` writes for itself; upstream rewrites it in its own names when the same object
# is applied on the server (k8s.io/apimachinery/pkg/util/managedfields lastappliedupdater.go).
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Builder:
    def __init__(self):
        self.roots = collections.OrderedDict()  # (group, kind) -> Node

    def root(self, row):
        kind = row["kind"]
        if row["group"] == "<tenant-crd-group>":
            return self.roots.setdefault(("*", "*"), Node())
        return self.roots.setdefault((row["group"], kind), Node())

    def add(self, row):
        if row["kind"] in ELSEWHERE:
            return
        root = self.root(row)
        if row["kind"] in ANSWERED:
            return
        rule, kind, path = row["rule"], row["kind"], row["path"]
        way = steps(path)
        numbers = list(row.get("fields", []))
        node, parents = root, []
        for i, (what, name) in enumerate(way):
            parents.append(node)
            if what == "key":
                node = node.member(name, numbers.pop(0) if numbers else None)
            elif what == "list":
                node = node.items()
                if name.startswith("key="):
                    if name != "key=" + NODE_NAME:
                        stop(row, "an element filter that is unknown")
                    node.siblings = True
                elif name:
                    stop(row, "an element filter that is unknown")
            elif name == "":
                node = node.values()
            elif name == "key":
                pass  # the rule is about the keys of `node`
            elif "*" in name or "|" in name:
                pass  # a family of keys: handled by the key action
            elif name == "<tenant label>":
                pass
            else:
                node = node.member(name)
        self.apply(row, rule, kind, path, way, node, parents, root)

    def apply(self, row, rule, kind, path, way, node, parents, root):
        last = way[-1]
        owner = parents[-1]
        refers = row["refers"]
        if rule in KEPT:
            return
        if rule == "NS":
            if node.action != "event_namespace":
                node.act("name_space", row=row)
        elif rule == "EVENTNS":
            node.act("event_namespace", row=row, over=("name_space",))
            owner.siblings = True
            owner.inject("namespace")
        elif rule == "CN" or rule == "SIGNERCN":
            if kind == "Namespace" and path == "metadata.name":
                node.act("namespace_name", row=row)
            elif kind == "ClusterRole" and path == "metadata.name":
                node.act("role_name", row=row)
            elif kind == "ClusterRoleBinding" and path.startswith("metadata."):
                node.act("binding_name", row=row)
            else:
                node.act("cluster_name", row=row)
        elif rule == "OVERLAY":
            target = refers.partition(":")[2]
            if target == "self":
                node.act("class_name", OVERLAYS[kind], row=row)
            elif target == "PriorityClass|VolumeAttributesClass":
                parents[-2].siblings = True  # the element of matchExpressions
                node.act("quota_scope", row=row)
            elif target in OVERLAYS:
                node.act("overlay", OVERLAYS[target], row=row)
            else:
                stop(row, "an overlay kind that is unknown")
        elif rule == "PVNAME":
            node.act("volume", row=row)
        elif rule == "CRDNAME":
            node.act("crd_name", row=row)
        elif rule == "GRP":
            sources = ("dataSource.apiGroup", "dataSourceRef.apiGroup")
            node.act("source_group" if path.endswith(sources) else "group", row=row)
        elif rule == "GV":
            if row["in"] == "keep":
                return
            if path.endswith("ownerReferences[]"):
                self.owner(node)
            else:
                node.act("api_version", row=row)
        elif rule == "PODFIELD":
            node.act("pod_field", row=row)
        elif rule == "ROOTCA":
            node.act("root_ca", row=row)
        elif rule == "EXTNAME":
            node.act("external_name", row=row)
        elif rule == "SIGNER":
            node.act("signer", row=row)
        elif rule == "DRIVER":
            node.act("class_driver", row=row)
        elif rule == "BYKIND":
            if row["in"] == "keep" or refers == "clusterName:<paramKind>" or \
                    last[1] == "gmsaCredentialSpecName":
                return
            owner.siblings = True
            node.act("role_ref" if path == "roleRef.name" else "by_kind", row=row)
        elif rule == "BYRES":
            if kind == STATUS_KIND:
                owner.siblings = True
                node.act("by_resource", row=row)
            elif last[1] == "" or "resourceNames" in path:
                return  # resourceNames: verbatim
            else:
                owner.siblings = True
                node.act("by_resource", row=row)
        elif rule == "INERT":
            if path == "subjects[].name":
                owner.siblings = True
                node.act("inert_subject", row=row)
            elif path == "subjects[].namespace":
                node.act("inert_namespace", row=row)
                if kind == "RoleBinding":  # may be left out there: it is the binding's own
                    owner.siblings = True
                    owner.inject("namespace")
            elif path == "rules[].verbs[]":
                node.act("verb", row=row)
            else:
                stop(row, "an inert place that is unknown")
        elif rule == "LBLVAL":
            if path.endswith("objectSelector"):
                return
            if last == ("map", NODE_NAME):
                node.act("label_namespace", row=row)
            elif path.endswith("values[]"):
                node.act("selector_values", row=row)
            else:
                stop(row, "a label value that is unknown")
        elif rule == "NSSEL":
            labels = node.member("matchLabels", 1)
            labels.inject_label = True
            labels.key_act("selector_labels")
            labels.member(NODE_NAME).act("label_namespace", row=row)
            node.inject("matchLabels")
            element = node.member("matchExpressions", 2).items()
            element.siblings = True
            element.member("key", 1).act("selector_key", row=row)
            element.member("values", 3).items().act("selector_values", row=row)
            if kind in ADMISSION and "matchResources" not in path:
                owner.inject("namespaceSelector")
                if "matchConstraints" in path:
                    root.member("spec").inject("matchConstraints")
        elif rule == "TENANTLABEL":
            owner.inject_label = True
            owner.key_act("namespace_labels")
            root.inject("metadata")
            root.member("metadata").inject("labels")
        elif rule == "TEXT":
            node.act("text", row=row)
        elif rule == "CEL":
            # A definition's own are in its schema, which definition.cpp reads; a device's see the device.
            if kind in ADMISSION:
                node.act("cel", row=row)
        elif rule == "WHSCOPE":
            node.act("rule_scope", row=row)
            owner.inject("scope")
        elif rule == "FV1":
            node.act("managed_fields", row=row)
        elif rule == "QKEY":
            if kind == STATUS_KIND:
                node.act("text", row=row)
            else:
                node.key_act("quota")
        elif rule == "RKEY":
            if last == ("map", "key"):
                node.key_act("resource")
            else:
                node.act("resource_key", row=row)
        elif rule == "B64NS":
            root.siblings = True
            node.act("secret_namespace" if path == "data{namespace}" else
                     "plain_secret_namespace", row=row)
        elif rule == "SCPARAM":
            node.act("parameter", row=row)
        elif rule == "URL":
            if last[1] == "selfLink":
                node.act("hide", row=row)
            elif row["in"] == "hold":
                return  # Form::admission: such a webhook is stored without effect
            elif row["in"] == "reject":
                node.act("refuse", row=row)
            else:
                stop(row, "a URL that is unknown")
        elif rule == "FILTER":
            if path.startswith("metadata."):
                return
            hidden = root.member(way[0][1]).member(way[1][1])
            hidden.edges, hidden.element, hidden.value = {}, None, None
            hidden.act("hide", row=row)
        elif rule == "GUARD":
            if row["in"] == "keep" or last[1] == "volumeHandle":
                return
            if last[1] == "pod-security.kubernetes.io/*":
                owner.key_act("namespace_labels")
            else:
                node.act("refuse", row=row)
        elif rule == "DEFAULTCLASS":
            if path.startswith("metadata.annotations{"):
                owner.key_act("class_annotations")
            elif path != "globalDefault":
                stop(row, "a default that is unknown")
        elif rule == "AGG":
            if path.startswith("metadata.labels{"):
                owner.key_act("cluster_role_labels")
            elif not path.startswith("aggregationRule."):
                stop(row, "an aggregation that is unknown")
        elif rule == "IMG":
            if kind == "ControllerRevision" and path == "data":
                pass  # finish() puts the template there
            elif kind == "HorizontalPodAutoscaler":
                node.act("embedded", row=row)
                metric = node.items().items()
                for place in ("target", "describedObject"):
                    self.reference(metric.member("object").member(place))
            else:
                stop(row, "an image that is unknown")
        elif rule == "CONT":
            if kind != STATUS_KIND:
                stop(row, "a continue token that is unknown")
        else:
            stop(row, "a rule that is unknown")

    @staticmethod
    def owner(node):
        node.siblings = True
        node.member("apiVersion", 5).act("api_version")
        node.member("name", 3).act("by_kind")

    @staticmethod
    def reference(node):
        node.siblings = True
        node.member("apiVersion").act("api_version")
        node.member("name").act("by_kind")

    def finish(self):
        for (group, kind), root in self.roots.items():
            metadata = root.edges.get("metadata")
            if metadata and kind != STATUS_KIND:
                annotations = metadata[0].member("annotations", 12)
                if annotations.key_action == "none":
                    annotations.key_act("annotations")
                annotations.member(LAST_APPLIED).act("last_applied")
                references = metadata[0].edges.get("ownerReferences")
                if references:
                    references[0].items().siblings = True
        # Its name has the prefix in the midst: by the label they are found.
        definition = self.roots[("apiextensions.k8s.io", "CustomResourceDefinition")]
        labels = definition.member("metadata").member("labels", 11)
        labels.inject_label = True
        labels.key_act("definition_labels")
        definition.inject("metadata")
        definition.member("metadata").inject("labels")
        binding = self.roots[("rbac.authorization.k8s.io", "ClusterRoleBinding")]
        binding.member("kind").act("binding_kind")
        binding.inject("metadata")
        binding.member("metadata").member("namespace", 3).act("binding_namespace")
        binding.member("metadata").inject("namespace")
        for kind in HIDDEN_NAMES:
            local = self.roots[kind].member("metadata")
            local.member("name", 1).act("reserved_name")
            local.member("generateName", 2).act("reserved_name")
        self.roots[("", "ConfigMap")].member("data", 2).act("authorities")
        revision = self.roots[("apps", "ControllerRevision")]
        template = self.roots[("apps", "DaemonSet")].member("spec").member("template")
        data = revision.member("data")
        data.member("spec").edges["template"] = [template, 0, 0, False]
        volume = self.roots[("", "Pod")].member("spec").member("volumes").items()
        volume.member("projected").member("sources").items().act("namespace_source")
        for (group, kind), root in self.roots.items():
            if "metadata" in root.edges and "managedFields" in root.edges["metadata"][0].edges:
                entry = root.edges["metadata"][0].edges["managedFields"][0].items()
                fields = entry.member("fieldsV1")
                fields.plain_fields = key_acts(root) <= PLAIN_KEYS and kind not in ADMISSION
                fields.own_fields = kind in ADMISSION or "namespace_labels" in key_acts(root)
                entry.siblings = kind in ADMISSION  # who applies does not own defaults


# What must occur for these to change anything outward; those that are not here always may. Keys that lead to rules
# and that most objects of the long lists (pods, and what has a pod's template) lack: structure.hpp has the same.
PREFIX, DOMAIN, DEVICE = "<prefix>", "<domain>", "<device>"
RARE = ["affinity", "priorityClassName", "runtimeClassName", "ephemeral", "clusterTrustBundle", "podCertificate",
        "storageos"]
ACTS = {"none": (), "refuse": (), "text": (PREFIX, DOMAIN), "resource_key": (DEVICE,), "last_applied": (PREFIX,),
        "managed_fields": (PREFIX, DOMAIN, DEVICE), "pod_field": (DOMAIN,), "root_ca": (DOMAIN,),
        "namespace_source": (DOMAIN,), "external_name": (PREFIX,)}
KEY_ACTS = {"none": (), "resource": (DEVICE,), "annotations": (DOMAIN,)}
# The same of values on the way inward (of keys there is no difference): shown are texts, and what kubectl has written; what is hidden upstream may come along.
ACTS_INWARD = {"none": (), "hide": (), "text": (), "last_applied": (), "resource_key": (DEVICE,), "pod_field": (DOMAIN,),
               "root_ca": (DOMAIN,), "namespace_source": ()}


# Managed fields are renamed by the key actions of their kind alone; of these, inward, only the first renames anything.
PLAIN_KEYS = {"resource", "annotations", "selector_labels", "definition_labels", "none"}


def key_acts(node):
    below = [edge[0] for edge in node.edges.values()] + [each for each in (node.element, node.value) if each]
    return {node.key_action}.union(*map(key_acts, below))


NEEDS, NEEDS_INWARD = 9, 10  # columns of a node


class Emitter:
    def __init__(self):
        self.nodes, self.index = [], {}

    def add(self, node):
        """Post-order: index of the canonical node, or None where nothing stands at or below."""
        edges = []
        for key in sorted(node.edges):
            child, field, inlined, inject = node.edges[key]
            at = self.add(child)
            if at is not None or inject:
                edges.append((key, at, field or 0, inlined, inject))
        if len(edges) > 64:
            sys.exit("build_table.py: a position has more than 64 members with rules")
        element = self.add(node.element) if node.element else None
        value = self.add(node.value) if node.value else None
        if not (edges or element is not None or value is not None or node.inject_label) and \
                node.action == "none" and node.key_action == "none":
            return None
        below = [e[1] for e in edges] + [x for x in (element, value) if x is not None]
        has_keys = node.key_action != "none" or any(self.nodes[b][6] for b in below if b is not None)
        rest = [x for x in (element, value) if x is not None]
        # Some of zood's own fields have none of the words.
        shown = None if node.own_fields else ACTS.get(node.action)
        needs = self.needs_of(NEEDS, shown, KEY_ACTS.get(node.key_action), node, edges, rest)
        acts = (DOMAIN, DEVICE) if node.plain_fields else ACTS_INWARD.get(node.action)
        inward = self.needs_of(NEEDS_INWARD, acts, KEY_ACTS.get(node.key_action), node, edges, rest)
        if any(edge[4] for edge in edges):
            inward = None  # a member that must be there
        key = (tuple(edges), element, value, node.action, node.key_action, node.parameter, has_keys,
               node.siblings, node.inject_label, needs, inward)
        if key not in self.index:
            self.index[key] = len(self.nodes)
            self.nodes.append(key)
        return self.index[key]


    def needs_of(self, column, acts, by_key, node, edges, rest):
        """Words one of which must occur for a rule to act in one direction, here or below; None: it may act always.
        `column`: where a node has them. Of the keys that lead to a rule it is enough to know one."""
        if node.inject_label or acts is None or by_key is None:
            return None
        out = set(acts + by_key)
        for key, at, *_ in edges:
            below = self.nodes[at][column] if at is not None else frozenset()
            if below is not None and not below & set(RARE):
                out |= below
            elif key in RARE:
                out.add(key)
            elif below is not None:
                out |= below
            else:
                return None
        for at in rest:
            if self.nodes[at][column] is None:
                return None
            out |= self.nodes[at][column]
        return frozenset(out)

    def nothing(self):
        key = ((), None, None, "none", "none", 0, False, False, False, frozenset(), frozenset())
        if key not in self.index:
            self.index[key] = len(self.nodes)
            self.nodes.append(key)
        return self.index[key]


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def word_bits(needs):
    words = [PREFIX, DOMAIN, DEVICE] + RARE
    return 0xffff if needs is None else sum(1 << words.index(each) for each in needs)


def bit(key):
    raw = key.encode()
    return (raw[0] * 5 + raw[-1] * 3 + len(raw)) & 63


def main():
    references, resources, output = sys.argv[1:4]
    rows = json.load(open(references))
    table = json.load(open(resources))
    builder = Builder()
    for row in rows:
        builder.add(row)
    builder.finish()

    emitter = Emitter()
    roots = []
    kinds = {}
    for row in table:
        if "/" not in row["resource"]:
            kinds.setdefault((row["kindGroup"], row["kind"]), row)
    sibling_rules = {"by_kind", "by_resource", "role_ref", "inert_subject", "quota_scope",
                     "selector_values", "secret_namespace", "event_namespace"}
    encodes = {"verb", "inert_namespace", "binding_name", "rule_scope", "parameter", "embedded",
               "refuse"}

    def guarded(node, top=True):
        if node.inject_label or node.action in sibling_rules | encodes or \
                node.key_action in ("quota", "class_annotations", "namespace_labels"):
            return True
        below = [e[0] for key, e in node.edges.items()
                 if not (top is None and key in ("ownerReferences", "annotations", "managedFields"))]
        if top and "metadata" in node.edges:
            below.remove(node.edges["metadata"][0])
            if guarded(node.edges["metadata"][0], None):
                return True
        return any(guarded(child, False) for child in below + [node.element, node.value] if child)

    for (group, kind), node in builder.roots.items():
        at = emitter.add(node)
        at = emitter.nothing() if at is None else at
        row = kinds.get((group, kind))
        form = {"ClusterRole": "cluster_role", "PriorityClass": "priority_class",
                "CertificateSigningRequest": "signing_request",
                "CustomResourceDefinition": "definition"}.get(
            kind, "admission" if kind in ADMISSION else "plain")
        if group not in ("rbac.authorization.k8s.io", "scheduling.k8s.io", "certificates.k8s.io",
                         "admissionregistration.k8s.io", "apiextensions.k8s.io"):
            form = "plain"
        mode = MODES[row["mode"]] if row else "none"
        roots.append((group, kind, at, mode, form, bool(row["namespaced"]) if row else True,
                      kind in GUARDED or guarded(node)))

    edge_lines, node_lines, offset = [], [], 0
    for edges, element, value, action, key_action, parameter, has_keys, siblings, label, needs, inward in emitter.nodes:
        mask = 0
        for key, at, field, inlined, inject in edges:
            mask |= 1 << bit(key)
            edge_lines.append(f"{{{quote(key)}, {f'&nodes[{at}]' if at is not None else 'nullptr'}, "
                              f"{field}, {inlined}, {'true' if inject else 'false'}}},")
        flags = (1 if siblings else 0) | (2 if label else 0) | (4 if has_keys else 0)
        pointer = lambda i: f"&nodes[{i}]" if i is not None else "nullptr"
        node_lines.append(f"{{{f'edges + {offset}' if edges else 'nullptr'}, {len(edges)}, "
                          f"Action::{action}, KeyAction::{key_action}, {parameter}, {flags}, "
                          f"{pointer(element)}, {pointer(value)}, {mask:#x}U, {word_bits(needs):#x}, {word_bits(inward):#x}}},")
        offset += len(edges)

    resource_lines = []
    groups = set()
    for row in sorted(table, key=lambda r: (r["group"], r["resource"], not r["servedByDefault"])):
        kind = row["kind"]
        groups.add(row["group"])
        naming, overlay = "keep", "storage_class"
        if not row["namespaced"]:
            if kind in OVERLAYS:
                naming = "overlay"
                overlay = re.sub(r"(?<!^)([A-Z])", r"_\1", kind).lower()
            elif kind == "ClusterRole":
                naming = "role"
            elif kind == "ClusterRoleBinding":
                naming = "binding"
            elif kind == "CustomResourceDefinition":
                naming = "crd"
            elif kind == "PersistentVolume":
                naming = "volume"
            elif row["mode"] in ("private", "private+guard", "proxy-eval", "hybrid"):
                naming = "prefixed"
            elif row["mode"] not in ("shared-ro", "filter", "self", "virtual", "hidden", "?"):
                stop(row, "a mode that is unknown")
        join = lambda name: quote(",".join(row[name]))
        resource_lines.append(
            f"{{{quote(row['group'])}, {quote(row['version'])}, {quote(row['resource'])}, "
            f"{quote(kind)}, {quote(row['kindGroup'])}, {'true' if row['namespaced'] else 'false'}, "
            f"Mode::{MODES[row['mode']]}, Naming::{naming}, Overlay::{overlay}, "
            f"{'true' if row['servedByDefault'] else 'false'}, {join('verbs')}, "
            f"{join('shortNames')}, {join('categories')}}},")
    groups |= {"meta.k8s.io", "apidiscovery.k8s.io", "admission.k8s.io"}

    roots.sort()
    root_lines = [
        f"{{{quote(g)}, {quote(k)}, {f'&nodes[{at}]' if at is not None else 'nullptr'}, "
        f"Mode::{mode}, Form::{form}, {'true' if namespaced else 'false'}, "
        f"{'true' if guard else 'false'}}}," for g, k, at, mode, form, namespaced, guard in roots]

    newline = "\n    "
    with open(output, "w") as out:
        out.write(f"""// Generated by daemon/translate/rules/build_table.py; do not edit.
#include "daemon/translate/rules_table.hpp"

namespace zoo::translate::table {{

extern const Node nodes[];
extern const Edge edges[];
const Edge edges[] = {{
    {newline.join(edge_lines)}
}};
const Node nodes[] = {{
    {newline.join(node_lines)}
}};
const Root roots[] = {{
    {newline.join(root_lines)}
}};
const std::size_t root_count = {len(roots)};
const ResourceRow rows[] = {{
    {newline.join(resource_lines)}
}};
const std::size_t row_count = {len(resource_lines)};
const std::string_view groups[] = {{
    {newline.join(quote(g) + ',' for g in sorted(groups))}
}};
const std::size_t group_count = {len(groups)};

}} // namespace zoo::translate::table
""")
    print(f"{len(roots)} roots, {len(emitter.nodes)} nodes, {offset} edges", file=sys.stderr)


if __name__ == "__main__":
    main()
