// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"
	"math/rand"
	"net"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/connrotation"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	writers  = 4 // a tenant
	duration = 8 * time.Second
	label    = "zoo.test/written-by" // whose object it is
)

var (
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	pages        = webVersion.WithResource("pages")
	watched      = []schema.GroupVersionResource{configMaps, clusterRoles, namespaces, pages}
	places       = []string{"north", "south", "east"} // namespaces, in both tenants
)

// observer keeps what one informer said, and holds it against the rules as it comes.
type observer struct {
	name     string
	informer cache.SharedIndexInformer
	lists    func(key string) bool // which objects it should have
	mutex    sync.Mutex
	have     map[string]string // key -> UID/resourceVersion
	events   int
	problems []string
}

func (o *observer) problem(format string, arguments ...any) {
	if len(o.problems) < 10 {
		o.problems = append(o.problems, fmt.Sprintf(format, arguments...))
	}
}

func version(object metav1.Object) uint64 {
	number, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(err)
	}
	return number
}

func keyOf(object metav1.Object) string { return object.GetNamespace() + "/" + object.GetName() }

func valueOf(object metav1.Object) string {
	return string(object.GetUID()) + "/" + object.GetResourceVersion()
}

// follow: each object is added once, updated to later versions, and deleted once; and is nobody else's.
func (o *observer) follow(id, other string) error {
	check := func(object metav1.Object) {
		o.events++
		if by := object.GetLabels()[label]; by == other || strings.Contains(keyOf(object), other) {
			o.problem("%s is the other tenant's", keyOf(object))
		}
		if strings.Contains(keyOf(object), id+"-") {
			o.problem("%s shows the prefix", keyOf(object))
		}
	}
	_, err := o.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			object := added.(metav1.Object)
			o.mutex.Lock()
			defer o.mutex.Unlock()
			check(object)
			if had, ok := o.have[keyOf(object)]; ok {
				o.problem("%s was added twice: %s, %s", keyOf(object), had, valueOf(object))
			}
			o.have[keyOf(object)] = valueOf(object)
		},
		UpdateFunc: func(was, is any) {
			before, after := was.(metav1.Object), is.(metav1.Object)
			o.mutex.Lock()
			defer o.mutex.Unlock()
			check(after)
			if had := o.have[keyOf(after)]; had != valueOf(before) {
				o.problem("%s was updated from %s, and was %s", keyOf(after), valueOf(before), had)
			}
			if before.GetUID() == after.GetUID() && version(after) < version(before) {
				o.problem("%s went back from %s to %s", keyOf(after), valueOf(before), valueOf(after))
			}
			o.have[keyOf(after)] = valueOf(after)
		},
		DeleteFunc: func(deleted any) {
			if unknown, ok := deleted.(cache.DeletedFinalStateUnknown); ok {
				deleted = unknown.Obj
			}
			object := deleted.(metav1.Object)
			o.mutex.Lock()
			defer o.mutex.Unlock()
			check(object)
			if _, ok := o.have[keyOf(object)]; !ok {
				o.problem("%s was deleted, and was not there", keyOf(object))
			}
			delete(o.have, keyOf(object))
		},
	})
	return err
}

// same is nothing when the informer's store and its events say exactly what a list says.
func (o *observer) same(listed map[string]string) error {
	wanted := map[string]string{}
	for key, value := range listed {
		if o.lists(key) {
			wanted[key] = value
		}
	}
	stored := valuesIn(o.informer.GetStore().List())
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if difference := compare(wanted, stored); difference != "" {
		return fmt.Errorf("%s: its store: %s", o.name, difference)
	}
	if difference := compare(wanted, o.have); difference != "" {
		return fmt.Errorf("%s: its events: %s", o.name, difference)
	}
	return nil
}

// valuesIn are those of a store, by key.
func valuesIn(store []any) map[string]string {
	out := map[string]string{}
	for _, entry := range store {
		object := entry.(metav1.Object)
		out[keyOf(object)] = valueOf(object)
	}
	return out
}

// listedBy asks anew what there is, past all caches: values by key.
func listedBy(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, options metav1.ListOptions) (map[string]string, error) {
	list, err := client.Resource(resource).List(ctx, options)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i := range list.Items {
		out[keyOf(&list.Items[i])] = valueOf(&list.Items[i])
	}
	return out, nil
}

func awaitSync(t *testing.T, name string, synced func() bool) {
	eventually(t, name+" has synced", func() error {
		if !synced() {
			return fmt.Errorf("not yet")
		}
		return nil
	})
}

func compare(wanted, got map[string]string) string {
	var out []string
	for key, value := range wanted {
		if got[key] != value {
			out = append(out, fmt.Sprintf("%s: %q instead of %q", key, got[key], value))
		}
	}
	for key, value := range got {
		if _, ok := wanted[key]; !ok {
			out = append(out, fmt.Sprintf("%s: %q, and there is none", key, value))
		}
	}
	sort.Strings(out)
	if len(out) > 3 {
		out = append(out[:3], fmt.Sprintf("and %d more", len(out)-3))
	}
	return strings.Join(out, "; ")
}

// cuttable: what it returns lets all connections of a client be cut.
func cuttable(config *rest.Config, contentType string) (*rest.Config, *connrotation.Dialer) {
	out := rest.CopyConfig(config)
	dialer := connrotation.NewDialer((&net.Dialer{Timeout: 30 * time.Second}).DialContext)
	out.Dial = dialer.DialContext
	if contentType == "protobuf" {
		out.ContentType = "application/vnd.kubernetes.protobuf"
		out.AcceptContentTypes = out.ContentType + ",application/json"
	} else {
		out.ContentType = "application/json"
		out.AcceptContentTypes = out.ContentType
	}
	return out, dialer
}

// observe starts informers of every make on the tenant's objects; the dialers cut their connections.
func observe(t *testing.T, p *party, other string) (map[schema.GroupVersionResource][]*observer, []*connrotation.Dialer) {
	out := map[schema.GroupVersionResource][]*observer{}
	var dialers []*connrotation.Dialer
	everything := func(string) bool { return true }
	add := func(name string, resource schema.GroupVersionResource, informer cache.SharedIndexInformer, lists func(string) bool) {
		o := &observer{name: p.id + " " + name + " " + resource.Resource, informer: informer, lists: lists, have: map[string]string{}}
		must(t, o.follow(p.id, other), "follow %s", o.name)
		out[resource] = append(out[resource], o)
		go informer.Run(t.Context().Done())
	}
	own := func(options *metav1.ListOptions) { options.LabelSelector = label + "=" + p.id }
	labelled := func(key string) bool { return !strings.Contains(key, "/plain") }
	// Objects that were not written here: system ClusterRoles, kube-root-ca.crt, standing namespaces: they count as well.
	for _, encoding := range []string{"json", "protobuf"} {
		config, dialer := cuttable(p.config, encoding)
		dialers = append(dialers, dialer)
		typed, err := kubernetes.NewForConfig(config)
		must(t, err, "typed client")
		factory := informers.NewSharedInformerFactory(typed, 0)
		add("typed "+encoding, configMaps, factory.Core().V1().ConfigMaps().Informer(), everything)
		add("typed "+encoding, clusterRoles, factory.Rbac().V1().ClusterRoles().Informer(), everything)
		add("typed "+encoding, namespaces, factory.Core().V1().Namespaces().Informer(), everything)
		one := informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithNamespace("north"))
		add("typed "+encoding+" of one namespace", configMaps, one.Core().V1().ConfigMaps().Informer(),
			func(key string) bool { return strings.HasPrefix(key, "north/") })
		selected := informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithTweakListOptions(own))
		add("typed "+encoding+" by label", configMaps, selected.Core().V1().ConfigMaps().Informer(),
			func(key string) bool {
				return labelled(key) && !strings.HasSuffix(key, "/kube-root-ca.crt") && !strings.HasPrefix(key, "kube-system/")
			})

		summaries, err := metadata.NewForConfig(config)
		must(t, err, "metadata client")
		partial := metadatainformer.NewSharedInformerFactory(summaries, 0)
		for _, resource := range watched {
			add("metadata "+encoding, resource, partial.ForResource(resource).Informer(), everything)
		}
	}
	config, dialer := cuttable(p.config, "json")
	dialers = append(dialers, dialer)
	untyped, err := dynamic.NewForConfig(config)
	must(t, err, "dynamic client")
	factory := dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0)
	for _, resource := range watched {
		add("dynamic", resource, factory.ForResource(resource).Informer(), everything)
	}
	for _, observers := range out {
		for _, o := range observers {
			awaitSync(t, o.name, o.informer.HasSynced)
		}
	}
	return out, dialers
}

// write creates, changes, relabels and deletes at random until the time is over; what it does is decided by the seed.
func write(ctx context.Context, p *party, seed int64) error {
	random := rand.New(rand.NewSource(seed))
	for end := time.Now().Add(duration); time.Now().Before(end); {
		object := pick(random, seed)
		err := p.client.Get(ctx, client.ObjectKeyFromObject(object), object)
		switch {
		case errors.IsNotFound(err):
			object.SetLabels(map[string]string{label: p.id})
			if strings.HasPrefix(object.GetName(), "plain") {
				object.SetLabels(nil)
			}
			err = p.client.Create(ctx, object)
		case err == nil && random.Intn(3) == 0:
			err = p.client.Delete(ctx, object)
		case err == nil:
			object.SetAnnotations(map[string]string{"zoo.test/turn": strconv.Itoa(random.Int())})
			err = p.client.Update(ctx, object)
		}
		// The namespace's own controllers may write at the same moment.
		if err != nil && !errors.IsConflict(err) && !errors.IsNotFound(err) {
			return fmt.Errorf("%T %s: %w", object, keyOf(object), err)
		}
	}
	return nil
}

// pick chooses an object; each writer has its own ones, and each tenant has all of these names.
func pick(random *rand.Rand, seed int64) client.Object {
	name := fmt.Sprintf("%s-%d-%d", []string{"some", "plain"}[random.Intn(2)], seed%writers, random.Intn(12))
	place := places[random.Intn(len(places))]
	switch random.Intn(8) {
	case 0:
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	case 1:
		return &Page{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: name}}
	default:
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: name},
			Data: map[string]string{"filling": strings.Repeat("x", random.Intn(2000))}}
	}
}

func listed(ctx context.Context, p *party, resource schema.GroupVersionResource) (map[string]string, error) {
	untyped, err := dynamic.NewForConfig(p.config)
	if err != nil {
		return nil, err
	}
	return listedBy(ctx, untyped, resource, metav1.ListOptions{})
}

// TestInformers: two tenants write objects of the same names at the same time, while informers of every make follow each;
// their connections are cut twice meanwhile. At the end each informer has exactly what a list says, and none was told a
// change twice, backwards, or of the other tenant.
func TestInformers(t *testing.T) {
	parties := []*party{newParty(t, "ZOO_TENANT_A"), newParty(t, "ZOO_TENANT_B")}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	for _, p := range parties {
		p.makeNamespaces(t, t.Context(), places...)
		p.define(t, t.Context())
	}
	observers := make([]map[schema.GroupVersionResource][]*observer, 2)
	var dialers []*connrotation.Dialer
	for i, p := range parties {
		cut := []*connrotation.Dialer{}
		observers[i], cut = observe(t, p, parties[1-i].id)
		dialers = append(dialers, cut...)
	}
	var work sync.WaitGroup
	for _, p := range parties {
		for n := range writers {
			work.Add(1)
			go func() {
				defer work.Done()
				if err := write(t.Context(), p, seed-seed%writers+int64(n)); err != nil {
					t.Errorf("%s writes: %v", p.id, err)
				}
			}()
		}
	}
	for range 2 {
		time.Sleep(duration / 3)
		for _, dialer := range dialers {
			dialer.CloseAll()
		}
	}
	work.Wait()
	events := 0
	for i, p := range parties {
		for _, resource := range watched {
			for _, o := range observers[i][resource] {
				eventually(t, o.name+" has what is listed", func() error {
					now, err := listed(t.Context(), p, resource)
					if err != nil {
						return err
					}
					return o.same(now)
				})
				o.mutex.Lock()
				events += o.events
				for _, problem := range o.problems {
					t.Errorf("%s: %s", o.name, problem)
				}
				o.mutex.Unlock()
			}
		}
	}
	t.Logf("%d events were told", events)
}
