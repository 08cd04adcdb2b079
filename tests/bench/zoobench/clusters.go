// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// podBody is a pod that any node takes, and that ends at once when it is deleted.
func podBody(name, label string) []byte {
	spec := map[string]any{
		"terminationGracePeriodSeconds": 0, "tolerations": []any{map[string]string{"operator": "Exists"}},
		"containers": []any{map[string]any{"name": "c", "image": "registry.example/x", "resources": map[string]any{"requests": map[string]string{"cpu": "10m", "memory": "16Mi"}}}}}
	if !*tokens {
		spec["automountServiceAccountToken"] = false
	}
	b, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "labels": map[string]string{"bench": label}}, "spec": spec})
	must(err)
	return b
}

// births are the pods of one API server that were made and do not run yet: when the request for each began.
type births struct {
	mu    sync.Mutex
	begun map[string]time.Time // by "namespace/name"
	took  []time.Duration      // of those that run
}

// podPhase is what is read of a pod.
type podPhase struct {
	Metadata struct{ Namespace, Name string }
	Status   struct{ Phase string }
}

// hear is called with each pod that is told of.
func (b *births) hear(pod podPhase) {
	at := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	key := pod.Metadata.Namespace + "/" + pod.Metadata.Name
	if begun, waits := b.begun[key]; waits && pod.Status.Phase == "Running" {
		delete(b.begun, key)
		b.took = append(b.took, at.Sub(begun))
	}
}

// follow hears of the pods with that label until the process ends. A kube-apiserver ends a watch whose client does not
// keep up with it, as on a busy machine: then they are listed anew.
func (b *births) follow(c *http.Client, host, label string, listed func()) {
	path := host + "/api/v1/pods?labelSelector=" + url.QueryEscape("bench="+label)
	for ; ; listed = func() {} {
		var list struct {
			Metadata struct{ ResourceVersion string }
			Items    []podPhase
		}
		answer, err := c.Get(path)
		must(err)
		must(json.NewDecoder(answer.Body).Decode(&list))
		answer.Body.Close()
		for _, pod := range list.Items {
			b.hear(pod)
		}
		answer, err = c.Get(path + "&watch=1&resourceVersion=" + list.Metadata.ResourceVersion)
		must(err)
		if answer.StatusCode != http.StatusOK {
			must(fmt.Errorf("watch %s: status %d", path, answer.StatusCode))
		}
		listed()
		in := bufio.NewReaderSize(answer.Body, 1<<16)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				break
			}
			if bytes.Contains(line, []byte(`"phase":"Running"`)) {
				var event struct{ Object podPhase }
				must(json.Unmarshal(line, &event))
				b.hear(event.Object)
			}
		}
		answer.Body.Close()
	}
}

func (b *births) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.begun)
}

// clusters makes -n pods in each namespace of -ns of each API server of -kubeconfig, one kubeconfig or a folder of them,
// with -c requests under way, and tells how long it was until all of them ran, as watches say. Bad is a pod that was
// refused, and one that does not run within the time of -d.
func clusters(out figures) {
	files := []string{*kubeconfig}
	if about, err := os.Stat(*kubeconfig); err == nil && about.IsDir() {
		files, err = filepath.Glob(filepath.Join(*kubeconfig, "*"))
		must(err)
	}
	type place struct {
		c      *http.Client
		path   string
		space  string
		births *births
	}
	var places []place
	var all []*births
	var bad atomic.Int64
	var watching sync.WaitGroup
	for _, file := range files {
		c, host := client(file)
		each := &births{begun: map[string]time.Time{}}
		watching.Add(1)
		go each.follow(c, host, *prefix, watching.Done)
		all = append(all, each)
		for _, space := range strings.Split(*ns, ",") {
			places = append(places, place{c, host + "/api/v1/namespaces/" + space + "/pods", space, each})
		}
	}
	watching.Wait()
	own := spent()
	start := time.Now()
	jobs := make(chan func())
	var wg sync.WaitGroup
	for i := 0; i < *conc; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for job := range jobs {
				job()
			}
		}()
	}
	for i := 0; i < *count; i++ {
		for _, at := range places {
			jobs <- func() {
				name := fmt.Sprintf("%s-%d", *prefix, i)
				key := at.space + "/" + name
				at.births.mu.Lock()
				at.births.begun[key] = time.Now()
				at.births.mu.Unlock()
				status, _, err := do(at.c, "POST", at.path, "application/json", *accept, podBody(name, *prefix))
				if err == nil && status == http.StatusCreated {
					return
				}
				bad.Add(1)
				at.births.mu.Lock()
				delete(at.births.begun, key)
				at.births.mu.Unlock()
			}
		}
	}
	close(jobs)
	wg.Wait()
	out["made_s"] = time.Since(start).Seconds()
	left := func() (sum int) {
		for _, each := range all {
			sum += each.left()
		}
		return sum
	}
	for end := start.Add(*dur); left() > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	took := time.Since(start).Seconds()
	var samples []time.Duration
	var sum, longest time.Duration
	for _, each := range all {
		each.mu.Lock()
		bad.Add(int64(len(each.begun)))
		for _, one := range each.took {
			sum, longest = sum+one, max(longest, one)
		}
		samples = append(samples, each.took...)
		each.mu.Unlock()
	}
	out["pods"], out["bad"], out["all_s"], out["own_cpu_s"] = len(samples), bad.Load(), took, spent()-own
	if len(samples) > 0 {
		out["mean_s"], out["max_s"] = sum.Seconds()/float64(len(samples)), longest.Seconds()
	}
	percentiles(samples, out)
}

// spent is the CPU time of this process.
func spent() float64 {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
