// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand"
)

type object = map[string]any
type list = []any

// kind is one resource that the walk goes over. Chosen so that no controller writes into its objects: what is in them
// is what the walk wrote, and what the API server made of it.
type kind struct {
	group, version, resource, kind string
	namespaced                     bool
	custom                         bool // no protobuf, no strategic merge patch
	// body is an object but for apiVersion, kind and metadata.
	body func(r *rand.Rand) object
}

func (k kind) apiVersion() string {
	if k.group == "" {
		return k.version
	}
	return k.group + "/" + k.version
}

// path of the collection.
func (k kind) path(namespace string) string {
	out := "/api/" + k.version
	if k.group != "" {
		out = "/apis/" + k.group + "/" + k.version
	}
	if k.namespaced && namespace != "" {
		out += "/namespaces/" + namespace
	}
	return out + "/" + k.resource
}

func word(r *rand.Rand) string {
	words := []string{"red", "green", "blue", "on", "1", "1e3", "", "two words", "ünï", "a: b", "null", "line\nbreak"}
	return words[r.Intn(len(words))]
}

func port(r *rand.Rand) int { return 1000 + r.Intn(5) }

func template(r *rand.Rand) object {
	return object{
		"metadata": object{"labels": object{"app": "walk"}},
		"spec": object{
			"containers": list{object{
				"name": "c", "image": fmt.Sprintf("registry.test/c:%d", r.Intn(3)),
				"env":   list{object{"name": "A", "value": word(r)}, object{"name": "B", "value": word(r)}},
				"ports": list{object{"containerPort": port(r)}},
			}},
			"serviceAccountName": []string{"default", "n1"}[r.Intn(2)],
		},
	}
}

func rules(r *rand.Rand) list {
	verbs := []list{{"get"}, {"get", "list"}, {"*"}}
	groups := []list{{""}, {"apps"}, {"*"}}
	return list{object{"verbs": verbs[r.Intn(3)], "apiGroups": groups[r.Intn(3)], "resources": list{"pods"}}}
}

func subjects(r *rand.Rand, namespace string) list {
	all := list{
		object{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"},
		object{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "devs"},
		object{"kind": "ServiceAccount", "name": "n1", "namespace": namespace},
	}
	return all[:1+r.Intn(3)]
}

func kinds(seed int64, namespace string) []kind {
	own := fmt.Sprintf("walk%d.example.com", seed)
	custom := func(r *rand.Rand) object {
		spec := object{"size": r.Intn(12), "note": word(r)}
		if r.Intn(3) == 0 {
			spec["size"] = "large" // not what the schema has
		}
		if r.Intn(4) == 0 {
			spec["nobody"] = "knows"
		}
		return object{"spec": spec}
	}
	return []kind{
		{"", "v1", "configmaps", "ConfigMap", true, false, func(r *rand.Rand) object {
			return object{"data": object{"a": word(r), "b": word(r)}}
		}},
		{"", "v1", "secrets", "Secret", true, false, func(r *rand.Rand) object {
			return object{"type": "Opaque", "stringData": object{"a": word(r)}, "data": object{"b": "YmI="}}
		}},
		{"", "v1", "services", "Service", true, false, func(r *rand.Rand) object {
			if r.Intn(4) == 0 {
				hosts := []string{"web.default.svc.cluster.local", "a.b.kube-system.svc.", "www.example.com", "web.svc"}
				return object{"spec": object{"type": "ExternalName", "externalName": hosts[r.Intn(4)]}}
			}
			return object{"spec": object{"clusterIP": "None", // no selector, or a controller writes for it
				"ports": list{object{"name": "a", "port": port(r)}, object{"name": "b", "port": 2000 + port(r)}}}}
		}},
		{"", "v1", "podtemplates", "PodTemplate", true, false, func(r *rand.Rand) object {
			return object{"template": template(r)}
		}},
		{"", "v1", "limitranges", "LimitRange", true, false, func(r *rand.Rand) object {
			return object{"spec": object{"limits": list{object{"type": "PersistentVolumeClaim",
				"max": object{"storage": fmt.Sprintf("%dGi", 1+r.Intn(3))}}}}}
		}},
		{"", "v1", "serviceaccounts", "ServiceAccount", true, false, func(r *rand.Rand) object {
			return object{"automountServiceAccountToken": r.Intn(2) == 0}
		}},
		{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true, false, func(r *rand.Rand) object {
			return object{"addressType": "IPv4", "endpoints": list{object{"addresses": list{fmt.Sprintf("192.0.2.%d", r.Intn(9))}}},
				"ports": list{object{"name": "", "port": port(r)}}}
		}},
		{"coordination.k8s.io", "v1", "leases", "Lease", true, false, func(r *rand.Rand) object {
			return object{"spec": object{"holderIdentity": word(r), "leaseDurationSeconds": r.Intn(3) * 10}}
		}},
		{"rbac.authorization.k8s.io", "v1", "roles", "Role", true, false, func(r *rand.Rand) object {
			return object{"rules": rules(r)}
		}},
		{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true, false, func(r *rand.Rand) object {
			return object{"subjects": subjects(r, namespace), "roleRef": object{
				"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": fmt.Sprintf("n%d", r.Intn(2))}}
		}},
		{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", true, false, func(r *rand.Rand) object {
			return object{"spec": object{"podSelector": object{"matchLabels": object{"app": "a"}},
				"ingress": list{object{"from": list{
					object{"namespaceSelector": object{"matchLabels": object{"team": "a"}}},
					object{"ipBlock": object{"cidr": fmt.Sprintf("192.0.2.%d/32", r.Intn(9))}}}}}}}
		}},
		{"networking.k8s.io", "v1", "ingresses", "Ingress", true, false, func(r *rand.Rand) object {
			return object{"spec": object{"ingressClassName": "none", "defaultBackend": object{"service": object{
				"name": "n1", "port": object{"number": port(r)}}}}}
		}},
		{"apps", "v1", "controllerrevisions", "ControllerRevision", true, false, func(r *rand.Rand) object {
			return object{"data": object{"spec": object{"namespace": namespace, "n": r.Intn(3)}}, "revision": r.Intn(3)}
		}},
		{"batch", "v1", "cronjobs", "CronJob", true, false, func(r *rand.Rand) object {
			pod := template(r)
			pod["spec"].(object)["restartPolicy"] = []string{"Never", "OnFailure", "Always"}[r.Intn(3)]
			return object{"spec": object{"suspend": true, "schedule": []string{"0 0 1 1 *", "@daily", "never"}[r.Intn(3)],
				"jobTemplate": object{"spec": object{"template": pod}}}}
		}},
		{own, "v1", "gadgets", "Gadget", true, true, custom},
		{own, "v1", "widgets", "Widget", false, true, custom},
		{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false, false, func(r *rand.Rand) object {
			return object{"rules": rules(r)}
		}},
		{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false, false, func(r *rand.Rand) object {
			return object{"subjects": subjects(r, namespace), "roleRef": object{
				"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}}
		}},
		{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false, false, func(r *rand.Rand) object {
			return object{"value": r.Intn(3), "description": word(r)}
		}},
		{"storage.k8s.io", "v1", "storageclasses", "StorageClass", false, false, func(r *rand.Rand) object {
			return object{"provisioner": "example.com/walk", "parameters": object{"type": word(r)}}
		}},
		{"networking.k8s.io", "v1", "ingressclasses", "IngressClass", false, false, func(r *rand.Rand) object {
			return object{"spec": object{"controller": "example.com/walk"}}
		}},
	}
}

// definitions of the two custom kinds: defaults, a status, columns, a field that selects.
func definitions(seed int64) []object {
	group := fmt.Sprintf("walk%d.example.com", seed)
	schema := object{"type": "object", "properties": object{
		"spec": object{"type": "object", "properties": object{
			"size":   object{"type": "integer", "minimum": 0, "maximum": 9},
			"note":   object{"type": "string"},
			"filled": object{"type": "string", "default": "by default"},
		}},
		"status": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	}}
	make := func(plural, name, scope string) object {
		return object{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": object{"name": plural + "." + group},
			"spec": object{"group": group, "scope": scope,
				"names": object{"plural": plural, "singular": plural[:len(plural)-1], "kind": name},
				"versions": list{object{"name": "v1", "served": true, "storage": true,
					"schema":                   object{"openAPIV3Schema": schema},
					"subresources":             object{"status": object{}},
					"selectableFields":         list{object{"jsonPath": ".spec.note"}},
					"additionalPrinterColumns": list{object{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}},
				}}},
		}
	}
	return []object{make("gadgets", "Gadget", "Namespaced"), make("widgets", "Widget", "Cluster")}
}
