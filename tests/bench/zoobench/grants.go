// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	grantees = "grantee-%04d" // users, one a watcher
	spacesAt = "/apis/tenancy.kiosk.sh/v1alpha1/spaces"
)

// binding is a RoleBinding for one user, by which he sees the namespace that it stands in.
func binding(user string) []byte {
	b, err := json.Marshal(map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": map[string]string{"name": "bench-grant"},
		"roleRef":  map[string]string{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
		"subjects": []any{map[string]string{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}}})
	must(err)
	return b
}

// grants opens -c watches of spaces, each as a user of its own whom the one of -kubeconfig may impersonate, and lets one
// of these users into the namespace of -ns and out of it again, over and over: p50_ms and p99_ms tell the time from the
// request until he hears of ADDED, revoked_p50_ms and revoked_p99_ms until DELETED. With -hear none somebody who does
// not watch is let in and out, -rate times a second. Bad is a request that was refused, an event that did not come, one
// that somebody else got, and a watch that has ended.
func grants(c *http.Client, host string, out figures) {
	w, whost := client(*writer)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	heard := make(chan string, 16)
	var opened, failed, strange atomic.Int64
	for i := 0; i < *conc; i++ {
		go func() {
			req, err := http.NewRequestWithContext(ctx, "GET", host+spacesAt+"?watch=1", nil)
			must(err)
			req.Header.Set("Accept", "application/json")
			req.Header.Set("Impersonate-User", fmt.Sprintf(grantees, i))
			resp, err := c.Do(req)
			if err != nil || resp.StatusCode != 200 {
				failed.Add(1)
				return
			}
			opened.Add(1)
			r := bufio.NewReaderSize(resp.Body, 1<<12)
			for {
				line, err := r.ReadBytes('\n')
				if err != nil {
					if ctx.Err() == nil {
						strange.Add(1)
					}
					return
				}
				var event struct{ Type string }
				must(json.Unmarshal(line, &event))
				switch {
				case event.Type == "BOOKMARK":
				case i == 0 && *hear != "none":
					heard <- event.Type
				default:
					strange.Add(1)
				}
			}
		}()
	}
	for end := time.Now().Add(60 * time.Second); opened.Load()+failed.Load() < int64(*conc) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	at := whost + "/apis/rbac.authorization.k8s.io/v1/namespaces/" + *ns + "/rolebindings"
	user := fmt.Sprintf(grantees, 0)
	if *hear == "none" {
		user = "nobody-listens"
	}
	do(w, "DELETE", at+"/bench-grant", "", "application/json", nil) // of a run before, if it was cut short
	time.Sleep(500 * time.Millisecond)
	for len(heard) > 0 {
		<-heard
	}
	var bad, changes int64
	// change sends one request, and says how long it was until the event that must come of it.
	change := func(method, url, event string, body []byte) (time.Duration, bool) {
		begun := time.Now()
		status, _, err := do(w, method, url, "application/json", "application/json", body)
		changes++
		if err != nil || status >= 300 {
			bad++
			return 0, false
		}
		if *hear == "none" {
			return 0, false
		}
		select {
		case kind := <-heard:
			if kind != event {
				bad++
				return 0, false
			}
			return time.Since(begun), true
		case <-time.After(10 * time.Second):
			bad++
			return 0, false
		}
	}
	var added, deleted []time.Duration
	tick := time.NewTicker(time.Second / time.Duration(*rate))
	before := used()
	start := time.Now()
	for time.Since(start) < *dur {
		<-tick.C
		if took, ok := change("POST", at, "ADDED", binding(user)); ok {
			added = append(added, took)
		}
		<-tick.C
		if took, ok := change("DELETE", at+"/bench-grant", "DELETED", nil); ok {
			deleted = append(deleted, took)
		}
	}
	time.Sleep(500 * time.Millisecond)
	after := used()
	out["watchers"], out["failed"], out["writes"] = opened.Load(), failed.Load(), changes
	out["bad"] = bad + strange.Load()
	out["cpu_us"], out["rss_mib"] = (after.cpu-before.cpu)*1e6/float64(max(changes, 1)), after.rss
	revoked := figures{}
	percentiles(added, out)
	percentiles(deleted, revoked)
	for name, value := range revoked {
		out["revoked_"+name] = value
	}
}
