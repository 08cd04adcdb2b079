// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"
	"math/rand"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/connrotation"
)

// Of account_informers.sh:
//
//	ZOO_JOHN        the kubeconfig of an ordinary user of the upstream, at the account door
//	ZOO_JOHN_NAME   his name
//	ZOO_DOOR_FILE   a file with host:port of the account door, which moves when zood is started again
//	ZOO_ACCOUNT     an account that he is a member of
//	ZOO_PREFIX      of the names of all that is made
//	ZOO_SECONDS     for how long is written
const (
	shownNames = 12 // namespaces that are granted, revoked, labelled, deleted, made again
	colour     = "zoo.test/colour"
	owner      = "kiosk.sh/account"
)

var spaces = schema.GroupVersionResource{Group: "tenancy.kiosk.sh", Version: "v1alpha1", Resource: "spaces"}

// seen is what one client keeps by what it was told.
type seen struct {
	name     string
	resource schema.GroupVersionResource
	selector string
	store    func() []any
	synced   func() bool
}

// same is nothing when the client has exactly what a list says.
func (s *seen) same(ctx context.Context, client dynamic.Interface) error {
	wanted, err := listedBy(ctx, client, s.resource, metav1.ListOptions{LabelSelector: s.selector})
	if err != nil {
		return err
	}
	stored := valuesIn(s.store())
	if difference := compare(wanted, stored); difference != "" {
		return fmt.Errorf("%s: %s", s.name, difference)
	}
	return nil
}

// listThenWatch is a source for reflectors that begin with a list and go on with a watch from its resourceVersion; informers
// begin with a watch that sends the state.
type listThenWatch struct{ *cache.ListWatch }

func (listThenWatch) IsWatchListSemanticsUnSupported() bool { return true }

// johnsConfig is of the user, whose connections go to where the door is now, and are cut by the dialer.
func johnsConfig(t *testing.T) (*rest.Config, *connrotation.Dialer) {
	config := newParty(t, "ZOO_JOHN").config
	dialer := connrotation.NewDialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
		address, err := os.ReadFile(os.Getenv("ZOO_DOOR_FILE"))
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, strings.TrimSpace(string(address)))
	})
	config.Dial = dialer.DialContext
	return config, dialer
}

// follow starts clients of every make on namespaces and spaces.
func follow(t *testing.T, config *rest.Config) []*seen {
	var out []*seen
	add := func(name string, resource schema.GroupVersionResource, selector string, informer cache.SharedIndexInformer) {
		out = append(out, &seen{name + " " + resource.Resource, resource, selector, informer.GetStore().List, informer.HasSynced})
		go informer.Run(t.Context().Done())
	}
	for _, encoding := range []string{"json", "protobuf"} {
		encoded, _ := cuttable(config, encoding)
		encoded.Dial = config.Dial
		typed, err := kubernetes.NewForConfig(encoded)
		must(t, err, "typed client")
		add("typed "+encoding, namespaces, "", informers.NewSharedInformerFactory(typed, 0).Core().V1().Namespaces().Informer())
	}
	summaries, err := metadata.NewForConfig(config)
	must(t, err, "metadata client")
	untyped, err := dynamic.NewForConfig(config)
	must(t, err, "dynamic client")
	for _, resource := range []schema.GroupVersionResource{namespaces, spaces} {
		add("metadata", resource, "", metadatainformer.NewSharedInformerFactory(summaries, 0).ForResource(resource).Informer())
		for _, selector := range []string{"", colour + "=red"} {
			tweak := func(options *metav1.ListOptions) { options.LabelSelector = selector }
			factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(untyped, 0, metav1.NamespaceAll, tweak)
			add("dynamic "+selector, resource, selector, factory.ForResource(resource).Informer())

			store := cache.NewStore(cache.MetaNamespaceKeyFunc)
			source := listThenWatch{&cache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
					tweak(&options)
					return untyped.Resource(resource).List(ctx, options)
				},
				WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
					tweak(&options)
					return untyped.Resource(resource).Watch(ctx, options)
				},
			}}
			reflector := cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, store, cache.ReflectorOptions{})
			out = append(out, &seen{"reflector " + selector + " " + resource.Resource, resource, selector, store.List,
				func() bool { return reflector.LastSyncResourceVersion() != "" }})
			go reflector.RunWithContext(t.Context())
		}
	}
	for _, s := range out {
		awaitSync(t, s.name, s.synced)
	}
	return out
}

// unrest is what happens upstream while the clients follow.
type unrest struct {
	admin                kubernetes.Interface
	user, prefix         string
	account              string
	everywhere           atomic.Bool // has he ever been let in everywhere? In the second half of the time he is
	granted, taken, made atomic.Int64
}

func (u *unrest) name(random *rand.Rand) string {
	return fmt.Sprintf("%s-%d", u.prefix, random.Intn(shownNames))
}

// allowed are the answers that unrest itself makes: what is not there any more, or again, or is being deleted.
func allowed(err error) error {
	if errors.IsNotFound(err) || errors.IsAlreadyExists(err) || errors.IsConflict(err) || errors.IsForbidden(err) &&
		strings.Contains(err.Error(), "being terminated") {
		return nil
	}
	return err
}

func (u *unrest) subject(random *rand.Rand) rbacv1.Subject {
	if random.Intn(3) == 0 {
		return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "devs-" + u.prefix}
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: u.user}
}

// right gives or takes one: a binding to a name of two, so that one of them may go while the other holds.
func (u *unrest) right(ctx context.Context, random *rand.Rand) error {
	bindings := u.admin.RbacV1().RoleBindings(u.name(random))
	binding := fmt.Sprintf("unrest-%d", random.Intn(2))
	if random.Intn(2) == 0 {
		u.taken.Add(1)
		return bindings.Delete(ctx, binding, metav1.DeleteOptions{})
	}
	u.granted.Add(1)
	_, err := bindings.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: binding},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: []string{"view", "edit", "admin"}[random.Intn(3)]},
		Subjects: []rbacv1.Subject{u.subject(random)}}, metav1.CreateOptions{})
	return err
}

// namespace makes one, or deletes it.
func (u *unrest) namespace(ctx context.Context, random *rand.Rand) error {
	if random.Intn(3) == 0 {
		return u.admin.CoreV1().Namespaces().Delete(ctx, u.name(random), metav1.DeleteOptions{})
	}
	u.made.Add(1)
	_, err := u.admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: u.name(random)}},
		metav1.CreateOptions{})
	return err
}

// label changes the colour, an annotation or whose space it is.
func (u *unrest) label(ctx context.Context, random *rand.Rand) error {
	client := u.admin.CoreV1().Namespaces()
	object, err := client.Get(ctx, u.name(random), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if object.Labels == nil {
		object.Labels = map[string]string{}
	}
	switch random.Intn(6) {
	case 0:
		if _, owned := object.Labels[owner]; owned {
			delete(object.Labels, owner)
		} else {
			object.Labels[owner] = u.account
		}
	case 1:
		object.Annotations = map[string]string{"zoo.test/turn": strconv.Itoa(random.Int())}
	default:
		object.Labels[colour] = []string{"red", "green"}[random.Intn(2)]
	}
	_, err = client.Update(ctx, object, metav1.UpdateOptions{})
	return err
}

// all lets him in everywhere for a moment: then upstream itself answers his lists and watches of namespaces.
func (u *unrest) all(ctx context.Context, random *rand.Rand) error {
	u.everywhere.Store(true)
	bindings := u.admin.RbacV1().ClusterRoleBindings()
	_, err := bindings.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: u.prefix},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}, Subjects: []rbacv1.Subject{u.subject(random)}},
		metav1.CreateOptions{})
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(random.Intn(2000)) * time.Millisecond)
	return bindings.Delete(ctx, u.prefix, metav1.DeleteOptions{})
}

// goOn does it again and again until the time is over, at intervals of the given length on the average.
func goOn(t *testing.T, end time.Time, seed int64, pause time.Duration, what func(context.Context, *rand.Rand) error) {
	random := rand.New(rand.NewSource(seed))
	for time.Now().Before(end) {
		if err := allowed(what(t.Context(), random)); err != nil {
			t.Errorf("unrest: %v", err)
			return
		}
		time.Sleep(time.Duration(random.Int63n(int64(2 * pause))))
	}
}

// TestAccountInformers: clients of every make follow namespaces and spaces through the account door, as a user whose rights
// come and go, while namespaces are made, relabelled and deleted, and zood is started again and again. At the end each of
// them has exactly what a list says, and that is what upstream's own access reviews say.
func TestAccountInformers(t *testing.T) {
	seconds, err := strconv.Atoi(os.Getenv("ZOO_SECONDS"))
	must(t, err, "ZOO_SECONDS")
	admin, err := kubernetes.NewForConfig(newParty(t, "ZOO_ADMIN").config)
	must(t, err, "the administrator's client")
	config, dialer := johnsConfig(t)
	john, err := dynamic.NewForConfig(config)
	must(t, err, "john's client")
	u := &unrest{admin: admin, user: os.Getenv("ZOO_JOHN_NAME"), prefix: os.Getenv("ZOO_PREFIX"), account: os.Getenv("ZOO_ACCOUNT")}
	hidden := u.prefix + "-hidden"
	must(t, allowed(u.ensure(t.Context(), hidden)), "a namespace of nobody")

	clients := follow(t, config)
	seed, begun := time.Now().UnixNano(), time.Now()
	end := begun.Add(time.Duration(seconds) * time.Second)
	t.Logf("seed %d", seed)
	var work sync.WaitGroup
	for i, actor := range []struct {
		begin time.Duration
		pause time.Duration
		what  func(context.Context, *rand.Rand) error
	}{
		{0, 60 * time.Millisecond, u.right}, {0, 60 * time.Millisecond, u.right}, {0, 300 * time.Millisecond, u.namespace},
		{0, 100 * time.Millisecond, u.label}, {end.Sub(begun) / 2, 6 * time.Second, u.all},
	} {
		work.Go(func() {
			time.Sleep(actor.begin)
			goOn(t, end, seed+int64(i), actor.pause, actor.what)
		})
	}
	work.Go(func() { // watches that are cut are resumed
		random := rand.New(rand.NewSource(seed - 1))
		for time.Now().Before(end) {
			time.Sleep(time.Duration(random.Intn(6000)) * time.Millisecond)
			dialer.CloseAll()
		}
	})
	work.Go(func() { // what he was never let into he never sees
		for ; time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			before := u.everywhere.Load()
			for _, s := range clients {
				for _, entry := range s.store() {
					if entry.(metav1.Object).GetName() == hidden && !before && !u.everywhere.Load() {
						t.Errorf("%s shows a namespace that he may not see", s.name)
						return
					}
				}
			}
		}
	})
	work.Wait()
	t.Logf("%d times granted, %d taken, %d namespaces made", u.granted.Load(), u.taken.Load(), u.made.Load())

	eventually(t, "the list is what he may see", func() error { return u.listIsRight(t.Context(), john) })
	for _, s := range clients {
		t.Run(s.name, func(t *testing.T) {
			eventually(t, "it has what is listed", func() error { return s.same(t.Context(), john) })
		})
	}
}

func (u *unrest) ensure(ctx context.Context, name string) error {
	_, err := u.admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

// listIsRight asks upstream about each namespace, whether the user may see it.
func (u *unrest) listIsRight(ctx context.Context, john dynamic.Interface) error {
	all, err := u.admin.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	wanted := map[string]string{}
	for i := range all.Items {
		name := all.Items[i].Name
		review, err := u.admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: u.user, Groups: []string{"devs-" + u.prefix, "system:authenticated"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "namespaces", Namespace: name, Name: name}}},
			metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if review.Status.Allowed {
			wanted[keyOf(&all.Items[i])] = valueOf(&all.Items[i])
		}
	}
	for _, resource := range []schema.GroupVersionResource{namespaces, spaces} {
		shown, err := listedBy(ctx, john, resource, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if difference := compare(wanted, shown); difference != "" {
			return fmt.Errorf("the list of %s: %s", resource.Resource, difference)
		}
	}
	return nil
}
