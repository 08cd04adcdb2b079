// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	manyWatches = 300 // more than one connection carries
	manyWorkers = 150 // each writes: below limits.mutations_inflight
	turns       = 20
)

// wire speaks HTTP to the tenant's cluster with client-go's transport, without client-go's own readings.
type wire struct {
	*testing.T
	base   string
	client *http.Client
	dialed atomic.Int32
}

func newWire(t *testing.T, p *party) *wire {
	t.Helper()
	out := &wire{T: t, base: p.config.Host}
	config := rest.CopyConfig(p.config)
	config.DisableCompression = true // Accept-Encoding is what a test says
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		out.dialed.Add(1)
		return (&net.Dialer{Timeout: patience}).DialContext(ctx, network, address)
	}
	made, err := rest.HTTPClientFor(config)
	must(t, err, "HTTP client")
	out.client = made
	return out
}

func (w *wire) do(ctx context.Context, method, path string, body []byte, headers ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, w.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	answer, err := w.client.Do(request)
	if err == nil && answer.ProtoMajor != 2 {
		err = fmt.Errorf("%s %s came by %s", method, path, answer.Proto)
	}
	return answer, err
}

// read asks and reads all of the answer, of which it undoes the compression.
func (w *wire) read(ctx context.Context, method, path string, body []byte, headers ...string) (*http.Response, []byte, error) {
	answer, err := w.do(ctx, method, path, body, headers...)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	reader := io.Reader(answer.Body)
	if answer.Header.Get("Content-Encoding") == "gzip" {
		if reader, err = gzip.NewReader(answer.Body); err != nil {
			return answer, nil, err
		}
	}
	text, err := io.ReadAll(reader)
	return answer, text, err
}

type event struct {
	Type   string
	Object corev1.ConfigMap
}

// follow reads a watch until it has seen all turns, each once and in order; each one that it has seen is counted.
func (w *wire) follow(ctx context.Context, path string, open *sync.WaitGroup, seen *atomic.Int32, headers ...string) error {
	answer, err := w.do(ctx, "GET", path, nil, headers...)
	open.Done()
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	reader := io.Reader(answer.Body)
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(reader)
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	if answer.Header.Get("Content-Encoding") == "gzip" {
		if reader, err = gzip.NewReader(reader); err != nil {
			return err
		}
	}
	lines := bufio.NewReader(reader)
	for turn := 1; turn <= turns; turn++ {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("waiting for turn %d: %w", turn, err)
		}
		var got event
		if err := json.Unmarshal(line, &got); err != nil {
			return fmt.Errorf("%w: %s", err, line)
		}
		if got.Type != "MODIFIED" || got.Object.Name != "beacon" || got.Object.Data["turn"] != strconv.Itoa(turn) {
			return fmt.Errorf("instead of turn %d: %s", turn, line)
		}
		seen.Add(1)
	}
	return nil
}

func (p *party) turn(ctx context.Context, object client.Object, n int) error {
	patch := fmt.Sprintf(`{"data":{"turn":"%d"}}`, n)
	return p.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// TestManyStreams: hundreds of watches and of requests at once on the few HTTP/2 connections of one client.
func TestManyStreams(t *testing.T) {
	p := newParty(t, "ZOO_TENANT_A")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	p.makeNamespaces(t, ctx, "streams", "work")
	beacon := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "streams", Name: "beacon", Labels: map[string]string{"beacon": "yes"}}}
	must(t, p.client.Create(ctx, beacon), "create the beacon")
	w := newWire(t, p)
	// The first one finds out that this is HTTP/2; without it each of many makes a connection first.
	_, _, err := w.read(ctx, "GET", "/version", nil)
	must(t, err, "the first request")

	var seen atomic.Int32
	var open, watches, workers sync.WaitGroup
	open.Add(manyWatches)
	paths := []string{ // tenant-wide, of one namespace, of one name
		"/api/v1/configmaps?fieldSelector=metadata.name%3Dbeacon&",
		"/api/v1/namespaces/streams/configmaps?fieldSelector=metadata.name%3Dbeacon&",
		"/api/v1/namespaces/streams/configmaps?labelSelector=beacon&",
	}
	for n := range manyWatches {
		watches.Add(1)
		go func() {
			defer watches.Done()
			path := paths[n%len(paths)] + "watch=true&resourceVersion=" + beacon.ResourceVersion
			if err := w.follow(ctx, path, &open, &seen); err != nil && ctx.Err() == nil {
				t.Errorf("watch %d of %s: %v", n, path, err)
			}
		}()
	}
	open.Wait()
	var requests atomic.Int32
	for n := range manyWorkers {
		workers.Add(1)
		go func() {
			defer workers.Done()
			name := fmt.Sprintf("worker-%d", n)
			path := "/api/v1/namespaces/work/configmaps"
			own := fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"worker":"yes"}},"data":{"filling":%q}}`, name, strings.Repeat(name, 500))
			for _, step := range []struct {
				method, path, body, kind string
				status                   int
			}{
				{"POST", path, own, "application/json", 201},
				{"GET", path + "/" + name, "", "", 200},
				{"PATCH", path + "/" + name, `{"data":{"more":"x"}}`, "application/merge-patch+json", 200},
				{"GET", path + "?limit=50&labelSelector=worker", "", "", 200},
				{"GET", path + "/none", "", "", 404},
				{"DELETE", path + "/" + name, "", "", 200},
			} {
				answer, text, err := w.read(ctx, step.method, step.path, []byte(step.body), "Content-Type: "+step.kind)
				// What upstream has no room for is asked again, as clients do.
				for err == nil && (answer.StatusCode == 429 || answer.StatusCode == 503) && ctx.Err() == nil {
					time.Sleep(100 * time.Millisecond)
					answer, text, err = w.read(ctx, step.method, step.path, []byte(step.body), "Content-Type: "+step.kind)
				}
				if err != nil || answer.StatusCode != step.status || !json.Valid(text) {
					t.Errorf("%s %s: %v: %.300s", step.method, step.path, err, text)
					return
				}
				requests.Add(1)
			}
		}()
	}
	for n := 1; n <= turns; n++ {
		must(t, p.turn(ctx, beacon, n), "turn %d", n)
		// kube-apiserver ends watches that fall behind: the next turn waits for all.
		eventually(t, "all watches tell of the turn", func() error {
			if all := int32(n * manyWatches); seen.Load() != all {
				return fmt.Errorf("%d of %d events", seen.Load(), all)
			}
			return nil
		})
	}
	workers.Wait()
	watches.Wait()
	t.Logf("%d watches and %d requests on %d connections", manyWatches, requests.Load(), w.dialed.Load())
}

// ages are what a Table says of the time since an object was made.
var ages = regexp.MustCompile(`"[0-9]+s"|"[0-9]+m([0-9]+s)?"`)

// TestCompression: lists and watches are the same for a client that takes gzip, and a compressed body is refused as
// kube-apiserver refuses it.
func TestCompression(t *testing.T) {
	p := newParty(t, "ZOO_TENANT_A")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p.makeNamespaces(t, ctx, "compressed")
	for n := range 100 {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "compressed", Name: fmt.Sprintf("c-%03d", n),
			Labels: map[string]string{"filled": "here"}}, // other ConfigMaps of the tenant come while the test runs
			Data: map[string]string{"filling": strings.Repeat(fmt.Sprint(n, " "), 2000)}}
		must(t, p.client.Create(ctx, object), "create %s", object.Name)
	}
	w := newWire(t, p)
	for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf",
		"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"} {
		for _, path := range []string{"/api/v1/configmaps?labelSelector=filled", "/api/v1/namespaces/compressed/configmaps?labelSelector=filled",
			"/api/v1/namespaces/compressed/configmaps?limit=70", "/api/v1/namespaces/compressed/configmaps/c-099", "/openapi/v2", "/apis"} {
			_, plain, err := w.read(ctx, "GET", path, nil, "Accept: "+accept, "Accept-Encoding: identity")
			must(t, err, "%s of %s", path, accept)
			answer, unpacked, err := w.read(ctx, "GET", path, nil, "Accept: "+accept, "Accept-Encoding: gzip")
			must(t, err, "%s of %s, compressed", path, accept)
			if path == "/openapi/v2" || path == "/apis" {
				accept = answer.Header.Get("Content-Type") // these have media types of their own
			}
			plain, unpacked = ages.ReplaceAll(plain, []byte(`"age"`)), ages.ReplaceAll(unpacked, []byte(`"age"`))
			if len(plain) != len(unpacked) { // sealed tokens may differ, not in length
				t.Errorf("%s of %s: %d bytes, %d when compressed", path, accept, len(plain), len(unpacked))
			}
			t.Logf("%-60s %-22.22s %8d bytes, encoding %q", path, accept, len(plain), answer.Header.Get("Content-Encoding"))
		}
	}

	beacon := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "compressed", Name: "beacon"}}
	must(t, p.client.Create(ctx, beacon), "create the beacon")
	var open sync.WaitGroup
	var seen atomic.Int32
	open.Add(1)
	done := make(chan error, 1)
	go func() {
		path := "/api/v1/namespaces/compressed/configmaps?watch=true&resourceVersion=" + beacon.ResourceVersion
		done <- w.follow(ctx, path, &open, &seen, "Accept-Encoding: gzip")
	}()
	open.Wait()
	for n := 1; n <= turns; n++ {
		must(t, p.turn(ctx, beacon, n), "turn %d", n)
	}
	must(t, <-done, "a watch of a client that takes gzip")

	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write([]byte(`{"metadata":{"name":"packed"}}`))
	must(t, writer.Close(), "compress")
	direct := newWire(t, newParty(t, "ZOO_ADMIN"))
	headers := []string{"Content-Type: application/json", "Content-Encoding: gzip"}
	wanted, _, err := direct.read(ctx, "POST", "/api/v1/namespaces/"+p.id+"-compressed/configmaps", packed.Bytes(), headers...)
	must(t, err, "a compressed body, directly")
	got, text, err := w.read(ctx, "POST", "/api/v1/namespaces/compressed/configmaps", packed.Bytes(), headers...)
	must(t, err, "a compressed body")
	if got.StatusCode != wanted.StatusCode {
		t.Errorf("a compressed body: %s instead of %s: %s", got.Status, wanted.Status, text)
	}
}

// TestIdleStream: a watch on which nothing happens stays, and tells what happens at last.
func TestIdleStream(t *testing.T) {
	p := newParty(t, "ZOO_TENANT_A")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	p.makeNamespaces(t, ctx, "idle")
	beacon := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "idle", Name: "beacon"}}
	must(t, p.client.Create(ctx, beacon), "create the beacon")
	w := newWire(t, p)
	var open sync.WaitGroup
	var seen atomic.Int32
	open.Add(1)
	done := make(chan error, 1)
	go func() {
		done <- w.follow(ctx, "/api/v1/configmaps?fieldSelector=metadata.name%3Dbeacon&watch=true&resourceVersion="+beacon.ResourceVersion, &open, &seen)
	}()
	open.Wait()
	select {
	case err := <-done:
		t.Fatalf("the watch ended: %v", err)
	case <-time.After(45 * time.Second): // client-go's transport has pinged the connection by then
	}
	for n := 1; n <= turns; n++ {
		must(t, p.turn(ctx, beacon, n), "turn %d", n)
	}
	must(t, <-done, "the watch")
	if n := w.dialed.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}
