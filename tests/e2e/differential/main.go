// SPDX-License-Identifier: Apache-2.0

// The same random walk of requests against the upstream itself and through a tenant: the answers must be the same but
// for identities, revisions and times. The namespaces and names are the same on both sides, since a tenant's are its own.
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sync"
	"time"
)

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(2)
}

func main() {
	direct := flag.String("direct", "", "kubeconfig of the upstream's administrator")
	tenant := flag.String("tenant", "", "kubeconfig of a tenant's administrator")
	seed := flag.Int64("seed", time.Now().UnixNano()%1_000_000, "of the walk: the same one takes the same steps")
	steps := flag.Int("steps", 1_000_000, "how many at most")
	longest := flag.Duration("time", 60*time.Second, "how long at most")
	show := flag.Int("show", 20, "how many differences to print whole")
	trace := flag.Bool("trace", false, "print every request and its two statuses")
	flag.Parse()
	fmt.Printf("seed %d\n", *seed)

	a, err := newSide("direct", *direct, *seed)
	if err != nil {
		fail("%v", err)
	}
	b, err := newSide("tenant", *tenant, *seed)
	if err != nil {
		fail("%v", err)
	}
	w := &walk{r: rand.New(rand.NewSource(*seed)), seed: *seed}
	for _, letter := range []string{"a", "b"} {
		w.namespaces = append(w.namespaces, fmt.Sprintf("walk%d-%s", *seed, letter))
	}
	w.kinds = kinds(*seed, w.namespaces[0])
	defer clean(w, a, b)
	if err := prepare(w, a, b); err != nil {
		clean(w, a, b)
		fail("%v", err)
	}

	end := time.Now().Add(*longest)
	found, taken := 0, 0
	kinds := map[string]int{}
	for ; taken < *steps && time.Now().Before(end); taken++ {
		next := w.next()
		requests := [2]request{next(a), next(b)}
		answers := askBoth(requests, a, b)
		if *trace {
			fmt.Printf("%d: %s %s: %d %d\n", taken, requests[0].method, requests[0].path, answers[0].status, answers[1].status)
		}
		differences, excused := compareAnswers(requests[0], answers[0], answers[1])
		if len(differences) > 0 && requests[0].method == "GET" {
			// Reads from any version are of two caches, each as old as it is: they are asked once more.
			time.Sleep(time.Second)
			answers = askBoth(requests, a, b)
			differences, excused = compareAnswers(requests[0], answers[0], answers[1])
		}
		for i, s := range []*side{a, b} {
			if documents, err := answers[i].decode(requests[i].watch); err == nil && answers[i].status < 300 && !requests[i].watch {
				s.remember(requests[i], documents)
			}
		}
		if a.next == "" || b.next == "" {
			a.next, b.next = "", "" // the rest of a list is asked for when both sides have one
		}
		if len(differences) == 0 {
			// With 406 the upstream has made what it cannot show in the form that was asked for; zood has not.
			if excused > 0 && (answers[0].status < 300 || answers[1].status < 300) || answers[0].status == 406 {
				level(requests, a, b)
			}
			continue
		}
		found++
		signature := requests[0].method
		for _, each := range differences {
			signature += " " + each.path
		}
		kinds[signature]++
		if kinds[signature] == 1 && len(kinds) <= *show {
			print(taken, requests, answers, differences)
		}
		level(requests, a, b)
	}
	for _, each := range exceptions {
		fmt.Printf("    %5d times meant to be: %s\n", each.used, each.reason)
	}
	fmt.Printf("%d steps, %d differ in %d ways\n", taken, found, len(kinds))
	if found > 0 {
		fmt.Printf("again: --seed %d --steps %d\n", *seed, taken)
		clean(w, a, b)
		os.Exit(1)
	}
}

// askBoth asks both sides at the same time.
func askBoth(requests [2]request, a, b *side) (answers [2]answer) {
	var both sync.WaitGroup
	for i, s := range []*side{a, b} {
		both.Add(1)
		go func() {
			defer both.Done()
			answers[i] = s.do(requests[i])
		}()
	}
	both.Wait()
	return answers
}

func short(s string) string {
	if len(s) > 900 {
		return s[:900] + "..."
	}
	return s
}

func print(at int, requests [2]request, answers [2]answer, differences []difference) {
	r := requests[0]
	fmt.Printf("--- step %d: %s %s\n    Accept %q Content-Type %q\n", at, r.method, r.path, r.accept, r.contentType)
	if len(r.body) > 0 {
		fmt.Printf("    body %s\n", short(fmt.Sprintf("%q", r.body)))
	}
	for i, name := range []string{"direct", "tenant"} {
		fmt.Printf("    %s %d %s\n", name, answers[i].status, short(fmt.Sprintf("%q", answers[i].body)))
	}
	for _, each := range differences {
		fmt.Printf("    differs: %s: %s | %s\n", each.path, short(text(each.a)), short(text(each.b)))
	}
}

// level removes what a step that differed may have left on one side alone.
func level(requests [2]request, a, b *side) {
	if about := requests[0].about; about != "" && requests[0].method != "GET" && requests[0].method != "HEAD" {
		for _, s := range []*side{a, b} {
			s.do(request{method: "DELETE", path: about})
		}
	}
}

func prepare(w *walk, a, b *side) error {
	for _, s := range []*side{a, b} {
		for _, name := range w.namespaces {
			body := object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name,
				"labels": object{"walk": mark}}}
			if err := s.must("POST", "/api/v1/namespaces", body); err != nil {
				return err
			}
		}
		for _, each := range definitions(w.seed) {
			if err := s.must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", each); err != nil {
				return err
			}
		}
		for _, k := range w.kinds {
			if !k.custom {
				continue
			}
			end := time.Now().Add(120 * time.Second)
			for {
				err := s.must("GET", k.path(w.namespaces[0]), nil)
				if err == nil {
					break
				}
				if time.Now().After(end) {
					return err
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
		// The controllers put their objects there before the walk begins.
		for _, name := range w.namespaces {
			end := time.Now().Add(120 * time.Second)
			for s.must("GET", "/api/v1/namespaces/"+name+"/serviceaccounts/default", nil) != nil && time.Now().Before(end) {
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
	return nil
}

func clean(w *walk, sides ...*side) {
	for _, s := range sides {
		for _, k := range w.kinds {
			if !k.namespaced {
				_ = s.must("DELETE", k.path("")+"?labelSelector="+w.label(), nil)
			}
		}
		for _, each := range definitions(w.seed) {
			name := each["metadata"].(object)["name"].(string)
			_ = s.must("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name, nil)
		}
		for _, name := range w.namespaces {
			_ = s.must("DELETE", "/api/v1/namespaces/"+name, nil)
		}
	}
}
