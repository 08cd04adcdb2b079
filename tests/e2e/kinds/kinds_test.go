// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"k8s.io/kubernetes/test/integration/etcd"
)

const (
	namespace = "kinds"           // of both tenants
	owner     = "zoo.test/owner"  // the marker: whose object it is
	patience  = 120 * time.Second // for what upstream's controllers do in their own time
)

// party is one who asks: a tenant, or upstream's administrator (without an ID).
type party struct {
	id     string
	config *rest.Config
	client dynamic.Interface
	serves map[schema.GroupVersionResource]served
}

func newParty(t *testing.T, kubeconfigVariable, id string) *party {
	t.Helper()
	path := os.Getenv(kubeconfigVariable)
	if path == "" {
		t.Fatalf("%s is not set: the path of a kubeconfig", kubeconfigVariable)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatalf("%s: %v", kubeconfigVariable, err)
	}
	config.QPS, config.Burst = 1000, 2000
	config.Timeout = patience
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := discover(config)
	if err != nil {
		t.Fatalf("discovery with %s: %v", kubeconfigVariable, err)
	}
	p := &party{id: id, config: config, client: client, serves: map[schema.GroupVersionResource]served{}}
	for _, r := range resources {
		p.serves[r.gvr] = r
	}
	return p
}

// needID reads a tenant's ID, which the tenants' own kubeconfigs do not tell.
func needID(t *testing.T, variable string) string {
	t.Helper()
	id := os.Getenv(variable)
	if len(id) != 6 {
		t.Fatalf("%s is not set: a tenant's ID, six characters", variable)
	}
	return id
}

func (p *party) at(of served, ns string) dynamic.ResourceInterface {
	if of.namespaced {
		return p.client.Resource(of.gvr).Namespace(ns)
	}
	return p.client.Resource(of.gvr)
}

// tenants are the two, and what each must never see.
type tenants struct{ a, b *party }

// clean fails when anything that a tenant reads names a tenant, itself included: a prefix never comes out.
func (ts tenants) clean(t *testing.T, what string, object any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{ts.a.id, ts.b.id} {
		if at := strings.Index(string(text), id+"-"); at >= 0 {
			from, to := max(0, at-60), min(len(text), at+60)
			t.Errorf("%s shows the prefix of tenant %s: ...%s...", what, id, text[from:to])
		}
	}
}

func TestKinds(t *testing.T) {
	upstream := newParty(t, "ZOO_ADMIN", "")
	ts := tenants{
		newParty(t, "ZOO_TENANT_A", needID(t, "ZOO_TENANT_A_ID")),
		newParty(t, "ZOO_TENANT_B", needID(t, "ZOO_TENANT_B_ID")),
	}
	treatments, err := loadTreatments(os.Getenv("ZOO_API_RESOURCES"))
	if err != nil {
		t.Fatalf("ZOO_API_RESOURCES: %v", err)
	}
	for _, tenant := range []*party{ts.a, ts.b} {
		makeNamespace(t, tenant)
	}
	stubs := etcd.GetEtcdStorageDataForNamespace(namespace)

	all := make([]served, 0, len(upstream.serves))
	for _, of := range upstream.serves {
		all = append(all, of)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].String() < all[j].String() })
	if len(all) < 50 {
		t.Fatalf("upstream's discovery names only %d kinds", len(all))
	}

	report := map[string][]string{}
	note := func(class string, of served) { report[class] = append(report[class], of.String()) }
	for _, of := range all {
		t.Run(of.String(), func(t *testing.T) {
			mode := treatments[of.gvr]
			shown, ok := ts.a.serves[of.gvr]
			if _, alsoB := ts.b.serves[of.gvr]; ok != alsoB {
				t.Fatalf("tenant A's discovery shows it: %v, tenant B's: %v", ok, alsoB)
			}
			switch {
			case !ok && mayBeAbsent.Has(mode):
				note("not shown, "+string(mode), of)
			case !ok:
				t.Fatalf("upstream serves it and no tenant's discovery shows it (treatment %q)", mode)
			case !of.stored():
				note("shown, nothing stored", of)
			case !shown.stored() && mayBeAbsent.Has(mode):
				readOnly(t, ts, shown, stubs)
				note("read-only, "+string(mode), of)
			case !shown.stored():
				t.Fatalf("a tenant has only the verbs %v (treatment %q)", shown.verbs.UnsortedList(), mode)
			default:
				data, ok := stubs[of.gvr]
				if !ok {
					t.Fatal("Kubernetes' storage test data has no object of it")
				}
				p := proof{tenants: ts, upstream: upstream, of: shown, mode: mode, data: data}
				if p.run(t) {
					note("two of the same name, each sees its own", of)
				} else {
					note("refused by rule, "+string(mode), of)
				}
			}
		})
	}
	classes := make([]string, 0, len(report))
	for class := range report {
		classes = append(classes, class)
	}
	sort.Strings(classes)
	for _, class := range classes {
		fmt.Printf("%d kinds: %s: %s\n", len(report[class]), class, strings.Join(report[class], " "))
	}
}

func makeNamespace(t *testing.T, tenant *party) {
	t.Helper()
	ns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}}
	namespaces := tenant.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if _, err := namespaces.Create(t.Context(), ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("tenant %s: namespace: %v", tenant.id, err)
	}
	// Pods are refused until upstream's controller has made this.
	accounts := tenant.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace(namespace)
	within(t, "the default ServiceAccount of tenant "+tenant.id, func() error {
		_, err := accounts.Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
}

// within repeats until no error, and fails with the last one when patience ends.
func within(t *testing.T, what string, attempt func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = attempt(); err == nil {
			return
		}
	}
	t.Fatalf("%s: not within %v: %v", what, patience, err)
}

// readOnly: a kind that tenants may look at. Reading answers and names nobody; writing is refused and leaves nothing.
func readOnly(t *testing.T, ts tenants, of served, stubs map[schema.GroupVersionResource]etcd.StorageData) {
	for _, tenant := range []*party{ts.a, ts.b} {
		resource := tenant.at(of, namespace)
		if of.verbs.Has("list") {
			list, err := resource.List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("tenant %s: list: %v", tenant.id, err)
			}
			ts.clean(t, "list", list)
		}
		data, ok := stubs[of.gvr]
		if !ok {
			continue
		}
		object, err := stub(of, data, namespace)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resource.Create(t.Context(), object, metav1.CreateOptions{}); err == nil {
			_ = resource.Delete(t.Context(), object.GetName(), metav1.DeleteOptions{})
			t.Errorf("tenant %s: created one, though its discovery does not say so", tenant.id)
		} else if !apierrors.IsForbidden(err) && !apierrors.IsMethodNotSupported(err) {
			t.Errorf("tenant %s: create: want Forbidden or MethodNotAllowed, got %v", tenant.id, err)
		}
	}
}

// proof is the work on one kind.
type proof struct {
	tenants
	upstream *party
	of       served
	mode     treatment
	data     etcd.StorageData
	name     string
}

func (p *proof) other(tenant *party) *party {
	if tenant == p.a {
		return p.b
	}
	return p.a
}

// mine fails when an object is not the tenant's own.
func (p *proof) mine(t *testing.T, what string, tenant *party, object *unstructured.Unstructured) {
	t.Helper()
	if got := object.GetAnnotations()[owner]; got != tenant.id {
		t.Errorf("tenant %s: %s: the object belongs to %q", tenant.id, what, got)
	}
	if object.GetName() != p.name {
		t.Errorf("tenant %s: %s: the name is %q, not %q", tenant.id, what, object.GetName(), p.name)
	}
	if p.of.namespaced && object.GetNamespace() != namespace {
		t.Errorf("tenant %s: %s: the namespace is %q, not %q", tenant.id, what, object.GetNamespace(), namespace)
	}
	p.clean(t, "tenant "+tenant.id+": "+what, object)
}

func (p *proof) get(t *testing.T, what string, tenant *party) *unstructured.Unstructured {
	t.Helper()
	object, err := p.at(tenant).Get(t.Context(), p.name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("tenant %s: %s: get: %v", tenant.id, what, err)
	}
	p.mine(t, what, tenant, object)
	return object
}

func (p *proof) at(tenant *party) dynamic.ResourceInterface { return tenant.at(p.of, namespace) }

// run says false when the kind's rule refuses tenants' objects, which has then been proven to leave nothing behind.
func (p *proof) run(t *testing.T) bool {
	object, err := stub(p.of, p.data, namespace)
	if err != nil {
		t.Fatal(err)
	}
	p.name = object.GetName()
	both := []*party{p.a, p.b}
	t.Cleanup(func() { p.remove(t, both) })
	for _, tenant := range both {
		p.prerequisites(t, tenant)
	}

	refused := 0
	for _, tenant := range both {
		copied := object.DeepCopy()
		copied.SetAnnotations(map[string]string{owner: tenant.id})
		created, err := p.at(tenant).Create(t.Context(), copied, metav1.CreateOptions{})
		if apierrors.IsForbidden(err) && mayBeRefused.Has(p.mode) {
			t.Logf("tenant %s: %v", tenant.id, err)
			refused++
			continue
		}
		if err != nil {
			t.Fatalf("tenant %s: create: %v", tenant.id, err)
		}
		p.mine(t, "create", tenant, created)
	}
	p.nothingUnprefixed(t)
	if refused > 0 {
		if refused != len(both) {
			t.Fatal("refused to one of the two tenants only")
		}
		for _, tenant := range both {
			where := upstreamPlace(p.of, tenant.id, namespace, p.name)
			if _, err := p.atPlace(where).Get(t.Context(), where.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("refused, and upstream still has %s (%v)", where, err)
			}
		}
		return false
	}

	if p.get(t, "get", p.a).GetUID() == p.get(t, "get", p.b).GetUID() {
		t.Error("both tenants were given the same object")
	}
	for _, tenant := range both {
		p.upstreamHas(t, tenant)
		p.lists(t, tenant)
	}
	if p.of.verbs.Has("watch") {
		p.watches(t)
	}
	for _, tenant := range both {
		p.updates(t, tenant)
		p.patches(t, tenant)
	}
	p.deletes(t)
	return true
}

func (p *proof) prerequisites(t *testing.T, tenant *party) {
	for _, needed := range p.data.Prerequisites {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(needed.Stub), &object.Object); err != nil {
			t.Fatal(err)
		}
		of, ok := tenant.serves[needed.GvrData]
		if !ok {
			t.Fatalf("needs %v first, which the tenant's discovery does not show", needed.GvrData)
		}
		object.SetGroupVersionKind(needed.GvrData.GroupVersion().WithKind(of.kind))
		if _, err := tenant.at(of, namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("tenant %s: prerequisite %v: %v", tenant.id, needed.GvrData, err)
		}
	}
}

func (p *proof) atPlace(where place) dynamic.ResourceInterface {
	if where.namespace != "" {
		return p.upstream.client.Resource(where.gvr).Namespace(where.namespace)
	}
	return p.upstream.client.Resource(where.gvr)
}

// upstreamHas: under the promised name, with the tenant's own marker.
func (p *proof) upstreamHas(t *testing.T, tenant *party) {
	t.Helper()
	if mayBeElsewhere.Has(p.mode) {
		return
	}
	where := upstreamPlace(p.of, tenant.id, namespace, p.name)
	object, err := p.atPlace(where).Get(t.Context(), where.name, metav1.GetOptions{})
	if err != nil {
		t.Errorf("upstream should have %s: %v", where, err)
	} else if got := object.GetAnnotations()[owner]; got != tenant.id {
		t.Errorf("upstream's %s belongs to %q, not %q", where, got, tenant.id)
	}
}

// nothingUnprefixed: no object of the tenants has come to lie upstream under the name the tenants use.
func (p *proof) nothingUnprefixed(t *testing.T) {
	t.Helper()
	object, err := p.upstream.at(p.of, namespace).Get(t.Context(), p.name, metav1.GetOptions{})
	if err == nil && object.GetAnnotations()[owner] != "" {
		t.Errorf("upstream has %s without a prefix: it belongs to %q", p.name, object.GetAnnotations()[owner])
	} else if err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("upstream, under the plain name: %v", err)
	}
}

// scopes are the paths on which a tenant lists and watches a kind: its namespace, and all namespaces.
func (p *proof) scopes(tenant *party) map[string]dynamic.ResourceInterface {
	scopes := map[string]dynamic.ResourceInterface{"": p.at(tenant)}
	if p.of.namespaced {
		scopes[" in all namespaces"] = tenant.client.Resource(p.of.gvr)
	}
	return scopes
}

func (p *proof) lists(t *testing.T, tenant *party) {
	t.Helper()
	for scope, resource := range p.scopes(tenant) {
		what := "list" + scope
		list, err := resource.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatalf("tenant %s: %s: %v", tenant.id, what, err)
		}
		if list.GetResourceVersion() == "" {
			t.Errorf("tenant %s: %s has no resourceVersion", tenant.id, what)
		}
		seen := 0
		for i := range list.Items {
			switch item := &list.Items[i]; item.GetAnnotations()[owner] {
			case tenant.id:
				if item.GetName() == p.name {
					seen++
				}
			case p.other(tenant).id:
				t.Errorf("tenant %s: %s shows an object of the other tenant: %s", tenant.id, what, item.GetName())
			}
		}
		if seen != 1 {
			t.Errorf("tenant %s: %s shows its object %d times among %d", tenant.id, what, seen, len(list.Items))
		}
		p.clean(t, "tenant "+tenant.id+": "+what, list)
	}
}

// stream is one open watch of one tenant.
type stream struct {
	what   string
	tenant *party
	events watch.Interface
}

// watches: from the list's resourceVersion, each tenant sees each change of its own object and none of the other's.
// The order of the changes is B, A, B: when A's stream brings A's change, B's first had to be there before it; and
// B's stream brings B's second only after it would have brought A's.
func (p *proof) watches(t *testing.T) {
	t.Helper()
	var streams []stream
	for _, tenant := range []*party{p.a, p.b} {
		for scope, resource := range p.scopes(tenant) {
			what := "tenant " + tenant.id + ": watch" + scope
			list, err := resource.List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("%s: list: %v", what, err)
			}
			seconds := int64(2 * patience / time.Second)
			events, err := resource.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion(), TimeoutSeconds: &seconds})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			defer events.Stop()
			streams = append(streams, stream{what, tenant, events})
		}
	}
	last := map[*party]string{}
	for i, tenant := range []*party{p.b, p.a, p.b} {
		step := fmt.Sprintf("%d", i)
		p.annotate(t, tenant, "zoo.test/watch", step)
		last[tenant] = step
	}
	for _, s := range streams {
		p.sees(t, s, last[s.tenant])
	}
}

// sees reads a stream up to the tenant's own last change.
func (p *proof) sees(t *testing.T, s stream, step string) {
	t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	for {
		select {
		case event, open := <-s.events.ResultChan():
			if !open {
				t.Errorf("%s: ended before its own change came", s.what)
				return
			}
			object, ok := event.Object.(*unstructured.Unstructured)
			if event.Type == watch.Error || !ok {
				t.Errorf("%s: %v %v", s.what, event.Type, event.Object)
				return
			}
			p.clean(t, s.what, object)
			switch whose := object.GetAnnotations()[owner]; {
			case whose == p.other(s.tenant).id:
				t.Errorf("%s: shows a change of the other tenant's object", s.what)
				return
			case whose == s.tenant.id && object.GetAnnotations()["zoo.test/watch"] == step:
				return
			}
		case <-end.C:
			t.Errorf("%s: its own change did not come within %v", s.what, patience)
			return
		}
	}
}

// annotate changes one annotation by a full update, repeated when a controller was quicker.
func (p *proof) annotate(t *testing.T, tenant *party, key, value string) *unstructured.Unstructured {
	t.Helper()
	var updated *unstructured.Unstructured
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := p.at(tenant).Get(t.Context(), p.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		annotations := object.GetAnnotations()
		annotations[key] = value
		object.SetAnnotations(annotations)
		updated, err = p.at(tenant).Update(t.Context(), object, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("tenant %s: update: %v", tenant.id, err)
	}
	return updated
}

// untouched fails when what one tenant wrote has reached the other's object.
func (p *proof) untouched(t *testing.T, tenant *party, key, value string) {
	t.Helper()
	other := p.other(tenant)
	if got := p.get(t, "get after the other's write", other).GetAnnotations()[key]; got == value {
		t.Errorf("tenant %s wrote %s=%s into the object of tenant %s", tenant.id, key, value, other.id)
	}
}

func (p *proof) updates(t *testing.T, tenant *party) {
	t.Helper()
	const key = "zoo.test/update"
	updated := p.annotate(t, tenant, key, tenant.id)
	p.mine(t, "update", tenant, updated)
	if updated.GetAnnotations()[key] != tenant.id {
		t.Errorf("tenant %s: update was answered without what it wrote", tenant.id)
	}
	p.untouched(t, tenant, key, tenant.id)
}

func (p *proof) patches(t *testing.T, tenant *party) {
	t.Helper()
	key := func(name string) string { return "zoo.test/" + name }
	merge := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key(name), tenant.id)
	}
	apply, err := json.Marshal(map[string]any{
		"apiVersion": p.of.gvr.GroupVersion().String(), "kind": p.of.kind,
		"metadata": map[string]any{"name": p.name, "annotations": map[string]any{key("apply"): tenant.id}}})
	if err != nil {
		t.Fatal(err)
	}
	force := true
	for _, patch := range []struct {
		name    string
		kind    types.PatchType
		body    string
		options metav1.PatchOptions
	}{
		{"json", types.JSONPatchType,
			fmt.Sprintf(`[{"op":"add","path":"/metadata/annotations/zoo.test~1json","value":%q}]`, tenant.id), metav1.PatchOptions{}},
		{"merge", types.MergePatchType, merge("merge"), metav1.PatchOptions{}},
		{"strategic", types.StrategicMergePatchType, merge("strategic"), metav1.PatchOptions{}},
		{"apply", types.ApplyPatchType, string(apply), metav1.PatchOptions{FieldManager: "kinds", Force: &force}},
	} {
		patched, err := p.at(tenant).Patch(t.Context(), p.name, patch.kind, []byte(patch.body), patch.options)
		if err != nil {
			t.Errorf("tenant %s: %s patch: %v", tenant.id, patch.name, err)
			continue
		}
		p.mine(t, patch.name+" patch", tenant, patched)
		if patched.GetAnnotations()[key(patch.name)] != tenant.id {
			t.Errorf("tenant %s: %s patch was answered without what it wrote", tenant.id, patch.name)
		}
		p.untouched(t, tenant, key(patch.name), tenant.id)
	}
}

var errStillThere = errors.New("still there")

// gone waits until the tenant's object is no more; finalizers and namespaces take upstream's controllers a while.
func (p *proof) gone(t *testing.T, tenant *party) {
	t.Helper()
	within(t, "tenant "+tenant.id+": "+p.name+" is gone after its deletion", func() error {
		_, err := p.at(tenant).Get(context.Background(), p.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			return errStillThere
		}
		return err
	})
}

func (p *proof) deletes(t *testing.T) {
	t.Helper()
	uid := p.get(t, "get before the deletion", p.b).GetUID()
	background := metav1.DeletePropagationBackground
	now := int64(0)
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	if p.of.gvr.Resource == "pods" {
		options.GracePeriodSeconds = &now
	}
	if err := p.at(p.a).Delete(t.Context(), p.name, options); err != nil {
		t.Fatalf("tenant %s: delete: %v", p.a.id, err)
	}
	p.gone(t, p.a)
	kept := p.get(t, "get after the other's deletion", p.b)
	if kept.GetUID() != uid || kept.GetDeletionTimestamp() != nil {
		t.Errorf("tenant %s deleted the object of tenant %s too", p.a.id, p.b.id)
	}
	p.upstreamHas(t, p.b)
	if !mayBeElsewhere.Has(p.mode) {
		where := upstreamPlace(p.of, p.a.id, namespace, p.name)
		if _, err := p.atPlace(where).Get(t.Context(), where.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("upstream still has %s after its deletion (%v)", where, err)
		}
	}
}

// remove leaves both tenants as they were, so that the test can be run again.
func (p *proof) remove(t *testing.T, both []*party) {
	background := metav1.DeletePropagationBackground
	for _, tenant := range both {
		err := p.at(tenant).Delete(context.Background(), p.name, metav1.DeleteOptions{PropagationPolicy: &background})
		if err == nil {
			p.gone(t, tenant)
		}
	}
}
