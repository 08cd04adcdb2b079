// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	home      = "operators" // the operator's own namespace: its lease and its ledger
	finalizer = "web.example.org/ledger"
	ownerKey  = "owner" // an index of the cache
)

// operator keeps for each Website a ConfigMap (made by patches), a Deployment (by updates), its Pages (by server-side
// apply), and an entry in the ledger, which is in another namespace and goes by a finalizer.
type operator struct {
	client.Client
	live     client.Reader
	marker   string // what every Website of this tenant says; another one is another tenant's
	events   events.EventRecorder
	mutex    sync.Mutex
	served   int
	problems []string
}

func (o *operator) saw(site *Website) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.served++
	if !strings.HasSuffix(site.Spec.Greeting, o.marker) {
		o.problems = append(o.problems, fmt.Sprintf("Website %s/%s says %q", site.Namespace, site.Name, site.Spec.Greeting))
	}
}

func (o *operator) count() int {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.served
}

func (o *operator) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := &Website{}
	// Not from the cache: that of another kind may be ahead of it, and what is going would be given its dependents back.
	if err := o.live.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	o.saw(site)
	entry := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: site.Namespace + "." + site.Name}}
	if !site.DeletionTimestamp.IsZero() {
		if !controllerutil.ContainsFinalizer(site, finalizer) {
			return ctrl.Result{}, nil
		}
		if err := client.IgnoreNotFound(o.Delete(ctx, entry)); err != nil {
			return ctrl.Result{}, err
		}
		controllerutil.RemoveFinalizer(site, finalizer)
		return ctrl.Result{}, o.Update(ctx, site)
	}
	if controllerutil.AddFinalizer(site, finalizer) {
		if err := o.Update(ctx, site); err != nil {
			return ctrl.Result{}, err
		}
	}
	if _, err := controllerutil.CreateOrUpdate(ctx, o.Client, entry, func() error {
		entry.Data = map[string]string{"uid": string(site.UID)}
		return nil
	}); err != nil {
		return ctrl.Result{}, fmt.Errorf("ledger: %w", err)
	}
	ready, err := o.serve(ctx, site)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := site.DeepCopyObject().(*Website)
	site.Status = WebsiteStatus{Ready: ready, ObservedGeneration: site.Generation}
	if site.Status == before.Status {
		return ctrl.Result{}, nil
	}
	o.events.Eventf(site, nil, corev1.EventTypeNormal, "Served", "Serve", "%d ready in %s", ready, site.Namespace)
	return ctrl.Result{}, o.Status().Patch(ctx, site, client.MergeFrom(before))
}

// serve makes what a Website owns; how many of its pods are ready.
func (o *operator) serve(ctx context.Context, site *Website) (int32, error) {
	meta := metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}
	settings := &corev1.ConfigMap{ObjectMeta: meta}
	if _, err := controllerutil.CreateOrPatch(ctx, o.Client, settings, func() error {
		settings.Data = map[string]string{"greeting": site.Spec.Greeting}
		return controllerutil.SetControllerReference(site, settings, o.Scheme())
	}); err != nil {
		return 0, fmt.Errorf("settings: %w", err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: meta}
	if _, err := controllerutil.CreateOrUpdate(ctx, o.Client, deployment, func() error {
		labels := map[string]string{"website": site.Name}
		deployment.Spec.Replicas = site.Spec.Replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
		}
		return controllerutil.SetControllerReference(site, deployment, o.Scheme())
	}); err != nil {
		return 0, fmt.Errorf("deployment: %w", err)
	}
	return deployment.Status.ReadyReplicas, o.servePages(ctx, site)
}

func (o *operator) servePages(ctx context.Context, site *Website) error {
	wanted := map[string]bool{}
	for _, name := range site.Spec.Pages {
		page := &unstructured.Unstructured{}
		page.SetGroupVersionKind(webVersion.WithKind("Page"))
		page.SetNamespace(site.Namespace)
		page.SetName(site.Name + "-" + name)
		wanted[page.GetName()] = true
		if err := controllerutil.SetControllerReference(site, page, o.Scheme()); err != nil {
			return err
		}
		if err := unstructured.SetNestedField(page.Object, site.Spec.Greeting, "spec", "text"); err != nil {
			return err
		}
		if err := o.Apply(ctx, client.ApplyConfigurationFromUnstructured(page), client.FieldOwner("websites"), client.ForceOwnership); err != nil {
			return fmt.Errorf("page %s: %w", name, err)
		}
	}
	pages := &PageList{}
	if err := o.List(ctx, pages, client.InNamespace(site.Namespace), client.MatchingFields{ownerKey: site.Name}); err != nil {
		return err
	}
	for i := range pages.Items {
		if !wanted[pages.Items[i].Name] {
			if err := client.IgnoreNotFound(o.Delete(ctx, &pages.Items[i])); err != nil {
				return err
			}
		}
	}
	return nil
}

// running is an operator at work: stop gives its lease back and waits until it has ended.
type running struct {
	*operator
	elected <-chan struct{}
	stop    func()
}

func startOperator(t *testing.T, as *rest.Config, marker string) *running {
	t.Helper()
	no, lease, renew, retry := true, 15*time.Second, 10*time.Second, 500*time.Millisecond
	manager, err := ctrl.NewManager(as, ctrl.Options{
		Scheme: scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller:     config.Controller{SkipNameValidation: &no}, // several managers live in this process
		LeaderElection: true, LeaderElectionID: "websites", LeaderElectionNamespace: home,
		LeaderElectionReleaseOnCancel: true, LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
	})
	must(t, err, "new manager")
	o := &operator{Client: manager.GetClient(), live: manager.GetAPIReader(), marker: marker, events: manager.GetEventRecorder("websites")}
	ctx, cancel := context.WithCancel(t.Context())
	must(t, manager.GetFieldIndexer().IndexField(ctx, &Page{}, ownerKey, func(object client.Object) []string {
		if owner := metav1.GetControllerOf(object); owner != nil && owner.APIVersion == webVersion.String() && owner.Kind == "Website" {
			return []string{owner.Name}
		}
		return nil
	}), "index pages")
	must(t, ctrl.NewControllerManagedBy(manager).For(&Website{}).Owns(&corev1.ConfigMap{}).Owns(&appsv1.Deployment{}).
		Owns(&Page{}).Complete(o), "new controller")
	done := make(chan error, 1)
	go func() { done <- manager.Start(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("the operator ended with: %v", err)
			}
		case <-time.After(patience):
			t.Errorf("the operator did not end within %v", patience)
		}
		for _, problem := range o.problems {
			t.Errorf("the operator saw what is not its tenant's: %s", problem)
		}
	})
	t.Cleanup(stop)
	return &running{operator: o, elected: manager.Elected(), stop: stop}
}

// TestOperator runs the same operator in two tenants at once: in A as its administrator, in B as a ServiceAccount with
// rights of its own. Both define the same kinds and use the same names.
func TestOperator(t *testing.T) {
	ctrl.SetLogger(klog.Background())
	upstream := newParty(t, "ZOO_ADMIN")
	for _, name := range []string{"ZOO_TENANT_A", "ZOO_TENANT_B"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenant := newParty(t, name)
			tenant.makeNamespaces(t, t.Context(), home, "shop", "blog")
			tenant.define(t, t.Context())
			as := tenant.config
			if name == "ZOO_TENANT_B" {
				as = tenant.serviceAccount(t, t.Context())
			}
			(&operatorTest{T: t, ctx: t.Context(), tenant: tenant, upstream: upstream, marker: " from " + tenant.id}).run(as)
		})
	}
}

type operatorTest struct {
	*testing.T
	ctx              context.Context
	tenant, upstream *party
	marker           string
}

func (t *operatorTest) run(as *rest.Config) {
	first := startOperator(t.T, as, t.marker)
	select {
	case <-first.elected:
	case <-time.After(patience):
		t.Fatalf("the first operator was not elected within %v", patience)
	}
	second := startOperator(t.T, as, t.marker)

	for _, namespace := range []string{"shop", "blog"} {
		site := t.site(namespace)
		must(t.T, t.tenant.client.Create(t.ctx, site), "create")
		if site.Spec.Replicas == nil || *site.Spec.Replicas != 1 {
			t.Errorf("the default of the definition: %v", site.Spec.Replicas)
		}
	}
	t.served("shop")
	t.served("blog")
	t.owners("shop")

	t.change("shop", func(site *Website) {
		three := int32(3)
		site.Spec.Replicas, site.Spec.Greeting, site.Spec.Pages = &three, "welcome"+t.marker, []string{"news", "prices"}
	})
	t.served("shop")

	// What somebody else does to owned objects is undone: the operator is told of them as their owner.
	must(t.T, t.tenant.client.Delete(t.ctx, t.settings("shop")), "delete the settings")
	t.served("shop")
	scaled := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front"}}
	must(t.T, t.tenant.client.Patch(t.ctx, scaled, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))), "scale")
	t.served("shop")
	must(t.T, t.tenant.client.Delete(t.ctx, &Page{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front-news"}}), "delete a page")
	t.served("shop")

	if n := second.count(); n != 0 {
		t.Errorf("the second operator served %d without having been elected", n)
	}
	first.stop()
	select {
	case <-second.elected:
	case <-time.After(patience):
		t.Fatalf("the second operator was not elected within %v", patience)
	}
	served := first.count()
	t.change("blog", func(site *Website) { site.Spec.Pages = []string{"about"} })
	t.served("blog")
	if n := first.count(); n != served {
		t.Errorf("the first operator served %d after it ended", n-served)
	}
	t.told("shop")

	t.deleted("shop", metav1.DeletePropagationForeground)
	t.orphaned("blog")

	// A finalizer holds while nobody is there to remove it.
	must(t.T, t.tenant.client.Create(t.ctx, t.site("shop")), "create again")
	t.served("shop")
	second.stop()
	site := t.site("shop")
	must(t.T, t.tenant.client.Delete(t.ctx, site), "delete without an operator")
	must(t.T, t.tenant.client.Get(t.ctx, client.ObjectKeyFromObject(site), site), "it waits for its finalizer")
	if site.DeletionTimestamp.IsZero() || len(site.Finalizers) == 0 {
		t.Errorf("deletionTimestamp %v, finalizers %v", site.DeletionTimestamp, site.Finalizers)
	}
	third := startOperator(t.T, as, t.marker)
	t.gone("shop")
	third.stop()
}

func (t *operatorTest) site(namespace string) *Website {
	return &Website{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front"},
		Spec: WebsiteSpec{Greeting: "hello" + t.marker, Pages: []string{"news", "jobs"}}}
}

func (t *operatorTest) settings(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front"}}
}

func (t *operatorTest) change(namespace string, how func(*Website)) {
	t.Helper()
	eventually(t.T, "change the Website of "+namespace, func() error {
		site := t.site(namespace)
		if err := t.tenant.client.Get(t.ctx, client.ObjectKeyFromObject(site), site); err != nil {
			return err
		}
		how(site)
		return t.tenant.client.Update(t.ctx, site)
	})
}

// served waits until all that the Website says is so.
func (t *operatorTest) served(namespace string) {
	t.Helper()
	eventually(t.T, "serve the Website of "+namespace, func() error {
		site, settings := t.site(namespace), t.settings(namespace)
		if err := t.tenant.client.Get(t.ctx, client.ObjectKeyFromObject(site), site); err != nil {
			return err
		}
		if site.Status.ObservedGeneration != site.Generation || site.Status.Ready != *site.Spec.Replicas {
			return fmt.Errorf("generation %d, replicas %d, status %+v", site.Generation, *site.Spec.Replicas, site.Status)
		}
		if err := t.tenant.client.Get(t.ctx, client.ObjectKeyFromObject(settings), settings); err != nil {
			return err
		}
		if settings.Data["greeting"] != site.Spec.Greeting {
			return fmt.Errorf("settings %v", settings.Data)
		}
		deployment := &appsv1.Deployment{}
		if err := t.tenant.client.Get(t.ctx, client.ObjectKeyFromObject(site), deployment); err != nil {
			return err
		}
		if *deployment.Spec.Replicas != *site.Spec.Replicas {
			return fmt.Errorf("the deployment wants %d", *deployment.Spec.Replicas)
		}
		pages := &PageList{}
		if err := t.tenant.client.List(t.ctx, pages, client.InNamespace(namespace)); err != nil {
			return err
		}
		names := map[string]bool{}
		for _, page := range pages.Items {
			names[page.Name] = page.Spec.Text == site.Spec.Greeting && page.DeletionTimestamp.IsZero()
		}
		for _, name := range site.Spec.Pages {
			if !names["front-"+name] {
				return fmt.Errorf("pages %v, wanted %v", names, site.Spec.Pages)
			}
		}
		if len(names) != len(site.Spec.Pages) {
			return fmt.Errorf("pages %v, wanted %v", names, site.Spec.Pages)
		}
		return nil
	})
}

// owners looks at references to the Website, as the tenant sees them and as upstream has them.
func (t *operatorTest) owners(namespace string) {
	t.Helper()
	site := t.site(namespace)
	must(t.T, t.tenant.client.Get(t.ctx, client.ObjectKeyFromObject(site), site), "get")
	yes := true
	wanted := metav1.OwnerReference{APIVersion: webVersion.String(), Kind: "Website", Name: "front", UID: site.UID, Controller: &yes, BlockOwnerDeletion: &yes}
	stored := wanted
	stored.APIVersion = t.tenant.id + "-" + wanted.APIVersion
	type sight struct {
		who       *party
		namespace string
		owner     metav1.OwnerReference
		group     string
	}
	views := []sight{{t.tenant, namespace, wanted, webVersion.Group}}
	if os.Getenv("ZOO_IN_CLUSTERS") == "" {
		views = append(views, sight{t.upstream, t.tenant.id + "-" + namespace, stored, t.tenant.id + "-" + webVersion.Group})
	}
	for _, view := range views {
		page := &unstructured.Unstructured{}
		page.SetAPIVersion(view.group + "/v1")
		page.SetKind("Page")
		page.SetName("front-news")
		for _, object := range []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "front"}},
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "front"}}, page} {
			object.SetNamespace(view.namespace)
			must(t.T, view.who.client.Get(t.ctx, client.ObjectKeyFromObject(object), object), "get %T", object)
			owners := object.GetOwnerReferences()
			if len(owners) != 1 || fmt.Sprint(owners[0].String()) != view.owner.String() {
				t.Errorf("%T in %s: owners %v, wanted %v", object, view.namespace, owners, view.owner)
			}
		}
	}
}

// told: the operator's events say what it did, in the tenant's words.
func (t *operatorTest) told(namespace string) {
	t.Helper()
	eventually(t.T, "an event of the operator", func() error {
		list := &corev1.EventList{}
		if err := t.tenant.client.List(t.ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Reason != "Served" {
				continue
			}
			about := event.InvolvedObject
			if about.APIVersion != webVersion.String() || about.Kind != "Website" || about.Namespace != namespace || strings.Contains(event.Message, t.tenant.id+"-") {
				t.Errorf("event about %+v: %s", about, event.Message)
			}
			return nil
		}
		return fmt.Errorf("none among %d", len(list.Items))
	})
}

// gone waits for the end of the Website and of all that it owned.
func (t *operatorTest) gone(namespace string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "front"}
	for _, object := range []client.Object{&Website{ObjectMeta: meta}, &corev1.ConfigMap{ObjectMeta: meta}, &appsv1.Deployment{ObjectMeta: meta},
		&Page{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front-news"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: namespace + ".front"}}} {
		eventually(t.T, fmt.Sprintf("the end of %T", object), func() error { return t.tenant.gone(t.ctx, object) })
	}
	eventually(t.T, "the end of the pods", func() error {
		pods := &corev1.PodList{}
		if err := t.tenant.client.List(t.ctx, pods, client.InNamespace(namespace)); err != nil || len(pods.Items) == 0 {
			return err
		}
		return fmt.Errorf("%d are still there", len(pods.Items))
	})
}

func (t *operatorTest) deleted(namespace string, how metav1.DeletionPropagation) {
	t.Helper()
	must(t.T, t.tenant.client.Delete(t.ctx, t.site(namespace), client.PropagationPolicy(how)), "delete")
	t.gone(namespace)
}

// orphaned: what was owned stays, and is nobody's.
func (t *operatorTest) orphaned(namespace string) {
	t.Helper()
	site := t.site(namespace)
	must(t.T, t.tenant.client.Delete(t.ctx, site, client.PropagationPolicy(metav1.DeletePropagationOrphan)), "delete, leaving orphans")
	eventually(t.T, "the end of the Website", func() error { return t.tenant.gone(t.ctx, site) })
	for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.ConfigMap{}} {
		must(t.T, t.tenant.client.Get(t.ctx, client.ObjectKeyFromObject(site), object), "get the orphan")
		if owners := object.GetOwnerReferences(); len(owners) != 0 || object.GetDeletionTimestamp() != nil {
			t.Errorf("%T: owners %v, deletion %v", object, owners, object.GetDeletionTimestamp())
		}
	}
}
