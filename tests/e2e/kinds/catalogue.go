// SPDX-License-Identifier: Apache-2.0

// Package kinds proves for every kind that an upstream serves that two tenants can hold an object of the same
// kind, namespace and name, and that neither sees, changes or removes the other's.
package kinds

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/test/integration/etcd"
)

// treatment is the column "mode" of api-resources.json: how a tenant meets a kind.
type treatment string

// Not shown to a tenant, or shown without the right to write: each is a decision of the rule table, none an accident.
var mayBeAbsent = sets.New[treatment]("shared-ro", "self", "filter", "hidden")

// A create may be refused with 403 and a reason; then nothing of it may be upstream.
var mayBeRefused = sets.New[treatment]("shared-ro", "filter", "hybrid")

// Nothing of these need be found upstream under the prefixed name: zood keeps itself what tenants make of them.
var mayBeElsewhere = sets.New[treatment]("virtual", "shared-ro", "filter")

// loadTreatments reads the rule table. Rows that it does not have are the zero value: an ordinary kind.
func loadTreatments(path string) (map[schema.GroupVersionResource]treatment, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rows []struct{ Group, Version, Resource, Mode string }
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	table := make(map[schema.GroupVersionResource]treatment, len(rows))
	for _, row := range rows {
		table[schema.GroupVersionResource{Group: row.Group, Version: row.Version, Resource: row.Resource}] = treatment(row.Mode)
	}
	return table, nil
}

// served is one resource as a server's discovery shows it.
type served struct {
	gvr        schema.GroupVersionResource
	kind       string
	namespaced bool
	verbs      sets.Set[string]
}

func (s served) String() string {
	return strings.TrimPrefix(s.gvr.Group+"/"+s.gvr.Version+"/"+s.gvr.Resource, "/")
}

// stored says whether objects of it are kept: what can only be posted (reviews, bindings) is an answer, not an object.
func (s served) stored() bool { return s.verbs.HasAll("create", "get", "list", "delete") }

var tenantsGroup = regexp.MustCompile(`^[a-z0-9]{6}-`)

// discover lists what a server serves, subresources left out, in a stable order.
func discover(config *rest.Config) ([]served, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	var all []served
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		// Other scripts' tenants define groups of their own in the same upstream meanwhile.
		if tenantsGroup.MatchString(gv.Group) {
			continue
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				all = append(all, served{gv.WithResource(r.Name), r.Kind, r.Namespaced, sets.New(r.Verbs...)})
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].String() < all[j].String() })
	return all, nil
}

// stub is Kubernetes' own smallest valid object of a kind, with type and namespace filled in.
func stub(of served, data etcd.StorageData, namespace string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(data.Stub), &object.Object); err != nil {
		return nil, err
	}
	object.SetGroupVersionKind(of.gvr.GroupVersion().WithKind(of.kind))
	if of.namespaced {
		object.SetNamespace(namespace)
	}
	return object, nil
}

// place is where a tenant's object lies upstream.
type place struct {
	gvr             schema.GroupVersionResource
	namespace, name string
}

func (p place) String() string {
	return fmt.Sprintf("%s %s/%s", p.gvr.GroupResource(), p.namespace, p.name)
}

// upstreamPlace is the mapping that is promised: namespaces and cluster-scoped names carry the prefix, a definition
// carries it before its group, and a ClusterRoleBinding is kept as an inert RoleBinding.
func upstreamPlace(of served, id, namespace, name string) place {
	prefix := id + "-"
	if of.namespaced {
		return place{of.gvr, prefix + namespace, name}
	}
	switch of.gvr.GroupResource() {
	case schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}:
		plural, group, _ := strings.Cut(name, ".")
		return place{of.gvr, "", plural + "." + prefix + group}
	case schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}:
		return place{of.gvr.GroupVersion().WithResource("rolebindings"), prefix + "kube-system", "zoo:crb:" + name}
	}
	return place{of.gvr, "", prefix + name}
}
