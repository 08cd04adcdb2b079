// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	stderrors "errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Of replicas_balanced.sh, beside ZOO_TENANT_A and ZOO_ADMIN:
//
//	ZOO_INFORMERS   how many informers, each with a connection of its own
//	ZOO_STEADY      a file that is made when all of them have synced
//	ZOO_ENDS        they are held against upstream as soon as this file is there
const shortWatch = time.Second // client-go lists again behind a watch that was shorter and told nothing (VeryShortWatchError)

// traffic is what all informers have asked.
type traffic struct {
	steady                          atomic.Bool // they have synced: nobody has to list any more
	watches, broken, waits, excused atomic.Int64
	mutex                           sync.Mutex
	problems                        []string
}

func (t *traffic) problem(format string, arguments ...any) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.problems) < 20 {
		t.problems = append(t.problems, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, arguments...))
	}
}

// witness stands between one informer and its connection. A list behind a watch that was cut off at its very beginning is the client's
// own, and every other one is zood's fault.
type witness struct {
	name    string
	traffic *traffic
	next    http.RoundTripper
	cut     atomic.Bool // the last watch broke off before it had told anything
}

func (w *witness) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	lists := query.Get("watch") == "" || query.Get("sendInitialEvents") == "true"
	if lists && w.traffic.steady.Load() {
		if w.cut.Load() {
			w.traffic.excused.Add(1)
		} else {
			w.traffic.problem("%s lists again: %s", w.name, request.URL)
		}
	}
	begun := time.Now()
	answer, err := w.next.RoundTrip(request)
	if err != nil {
		w.cut.Store(true)
		w.traffic.broken.Add(1)
		return nil, err
	}
	switch {
	case answer.StatusCode == http.StatusTooManyRequests:
		w.traffic.waits.Add(1)
	case answer.StatusCode != http.StatusOK:
		w.traffic.problem("%s: %s: %s", w.name, request.URL, answer.Status)
	case !lists || query.Get("watch") != "":
		w.traffic.watches.Add(1)
		w.cut.Store(false)
		answer.Body = &watchedBody{answer.Body, w, begun, false}
	}
	return answer, nil
}

type watchedBody struct {
	io.ReadCloser
	witness *witness
	begun   time.Time
	told    bool
}

func (b *watchedBody) Read(buffer []byte) (int, error) {
	count, err := b.ReadCloser.Read(buffer)
	b.told = b.told || count > 0
	if err != nil && !stderrors.Is(err, io.EOF) && !stderrors.Is(err, context.Canceled) {
		b.witness.traffic.broken.Add(1)
		if !b.told && time.Since(b.begun) < shortWatch {
			b.witness.cut.Store(true)
		}
	}
	return count, err
}

// informerOf makes informer number n: makes and selections take turns.
func informerOf(t *testing.T, p *party, n int, all *traffic) (*observer, schema.GroupVersionResource) {
	encoding := []string{"json", "protobuf"}[n/4%2]
	config, _ := cuttable(p.config, encoding) // a dialer of its own, so that connections are not shared
	name := fmt.Sprintf("informer %d (%s)", n, encoding)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &witness{name: name, traffic: all, next: next} })
	o := &observer{name: name, have: map[string]string{}, lists: func(string) bool { return true }}
	switch n % 4 {
	case 0:
		typed, err := kubernetes.NewForConfig(config)
		must(t, err, "typed client")
		o.informer = informers.NewSharedInformerFactory(typed, 0).Core().V1().ConfigMaps().Informer()
	case 1:
		typed, err := kubernetes.NewForConfig(config)
		must(t, err, "typed client")
		o.lists = func(key string) bool { return strings.HasPrefix(key, "north/some") }
		o.informer = informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithNamespace("north"),
			informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = label + "=" + p.id })).
			Core().V1().ConfigMaps().Informer()
	case 2:
		summaries, err := metadata.NewForConfig(config)
		must(t, err, "metadata client")
		o.informer = metadatainformer.NewSharedInformerFactory(summaries, 0).ForResource(configMaps).Informer()
	default:
		untyped, err := dynamic.NewForConfig(config)
		must(t, err, "dynamic client")
		o.informer = dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0).ForResource(clusterRoles).Informer()
		return o, clusterRoles
	}
	return o, configMaps
}

func pickForReplicas(random *rand.Rand, writer int) client.Object {
	name := fmt.Sprintf("some-%d-%d", writer, random.Intn(12))
	if random.Intn(6) == 0 {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: places[random.Intn(len(places))], Name: name},
		Data: map[string]string{"filling": strings.Repeat("x", random.Intn(2000))}}
}

// writeUntil creates, changes and deletes until it is over. What a connection that breaks leaves open is asked about in the next turn.
func writeUntil(t *testing.T, p *party, writer int, seed int64, over func() bool) (writes, lost int) {
	random := rand.New(rand.NewSource(seed))
	for ; !over(); time.Sleep(time.Duration(50+random.Intn(100)) * time.Millisecond) {
		object := pickForReplicas(random, writer)
		err := p.client.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		switch {
		case errors.IsNotFound(err):
			object.SetLabels(map[string]string{label: p.id})
			err = p.client.Create(t.Context(), object)
		case err == nil && random.Intn(3) == 0:
			err = p.client.Delete(t.Context(), object)
		case err == nil:
			object.SetAnnotations(map[string]string{"zoo.test/turn": strconv.Itoa(random.Int())})
			err = p.client.Update(t.Context(), object)
		}
		var status *errors.StatusError
		switch {
		case err == nil:
			writes++
		case !stderrors.As(err, &status):
			lost++ // of the way: the zood was killed
		case !errors.IsConflict(err) && !errors.IsNotFound(err) && !errors.IsAlreadyExists(err):
			t.Errorf("writer %d: %T %s: %v", writer, object, keyOf(object), err)
			return writes, lost
		}
	}
	return writes, lost
}

// ofUpstream are a tenant's objects that were written here, as upstream's administrator lists them, by the tenant's keys.
func ofUpstream(ctx context.Context, admin *party, id string, resource schema.GroupVersionResource) (map[string]string, error) {
	untyped, err := dynamic.NewForConfig(admin.config)
	if err != nil {
		return nil, err
	}
	all, err := listedBy(ctx, untyped, resource, metav1.ListOptions{LabelSelector: label + "=" + id})
	out := map[string]string{}
	for key, value := range all {
		out[strings.Replace(key, id+"-", "", 1)] = value
	}
	return out, err
}

// labelledOf are the same by the tenant's own list.
func labelledOf(ctx context.Context, p *party, resource schema.GroupVersionResource) (map[string]string, error) {
	untyped, err := dynamic.NewForConfig(p.config)
	if err != nil {
		return nil, err
	}
	return listedBy(ctx, untyped, resource, metav1.ListOptions{LabelSelector: label + "=" + p.id})
}

// TestReplicas: informers of every make, each on a connection of its own to a load balancer, while zoods are killed behind it and two
// writers write. None lists again, none is refused, none is told a version that goes back or a change twice; and at the end each one's
// store is what a list says, which is what upstream has.
func TestReplicas(t *testing.T) {
	count, err := strconv.Atoi(os.Getenv("ZOO_INFORMERS"))
	must(t, err, "ZOO_INFORMERS")
	p, admin, all := newParty(t, "ZOO_TENANT_A"), newParty(t, "ZOO_ADMIN"), &traffic{}
	p.makeNamespaces(t, t.Context(), places...)
	observers := map[*observer]schema.GroupVersionResource{}
	for n := range count {
		o, resource := informerOf(t, p, n, all)
		must(t, o.follow(p.id, "another tenant"), "follow %s", o.name)
		observers[o] = resource
		go o.informer.Run(t.Context().Done())
	}
	for o := range observers {
		awaitSync(t, o.name, o.informer.HasSynced)
	}
	time.Sleep(2 * shortWatch) // a watch that is cut sooner behind its first state is listed again by the client's own rule
	all.steady.Store(true)
	must(t, os.WriteFile(os.Getenv("ZOO_STEADY"), nil, 0o600), "ZOO_STEADY")

	over := func() bool {
		_, err := os.Stat(os.Getenv("ZOO_ENDS"))
		return err == nil
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	var work sync.WaitGroup
	var writes, lost atomic.Int64
	for writer := range 2 {
		work.Go(func() {
			done, gone := writeUntil(t, p, writer, seed+int64(writer), over)
			writes.Add(int64(done))
			lost.Add(int64(gone))
		})
	}
	work.Wait()

	there := map[schema.GroupVersionResource]map[string]string{}
	for _, resource := range []schema.GroupVersionResource{configMaps, clusterRoles} {
		eventually(t, "the tenant's list of "+resource.Resource+" is upstream's", func() error {
			wanted, err := ofUpstream(t.Context(), admin, p.id, resource)
			if err != nil {
				return err
			}
			shown, err := labelledOf(t.Context(), p, resource)
			if err != nil {
				return err
			}
			if difference := compare(wanted, shown); difference != "" {
				return stderrors.New(difference)
			}
			there[resource], err = listed(t.Context(), p, resource)
			return err
		})
	}
	events := 0
	for o, resource := range observers {
		eventually(t, o.name+" has what is listed", func() error { return o.same(there[resource]) })
		o.mutex.Lock()
		events += o.events
		for _, problem := range o.problems {
			t.Errorf("%s: %s", o.name, problem)
		}
		o.mutex.Unlock()
	}
	all.mutex.Lock()
	defer all.mutex.Unlock()
	for _, problem := range all.problems {
		t.Error(problem)
	}
	t.Logf("%d writes, %d cut off; %d events, %d watches, %d broken off, %d told to wait, %d listed again behind a watch that was cut at its beginning",
		writes.Load(), lost.Load(), events, all.watches.Load(), all.broken.Load(), all.waits.Load(), all.excused.Load())
	if all.broken.Load() == 0 {
		t.Error("no watch was broken off: was any zood killed?")
	}
}
