// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
)

// watches opens -n watches of -path on each of -c HTTP/2 connections, changes one ConfigMap of -ns once they are all
// open, and reads its event from each: what does a watcher cost, and does each of so many hear?
func watches(c *http.Client, host string, out figures) {
	w, whost := client(*writer)
	settings, address := endpoint("h2")
	const object = "watches-0"
	do(w, "POST", fmt.Sprintf("%s/api/v1/namespaces/%s/configmaps", whost, *ns), "application/json", "application/json",
		[]byte(fmt.Sprintf(`{"metadata":{"name":"%s"}}`, object)))
	target := host + *path + "?watch=1&resourceVersion=" + now(c, host+*path)

	before := used()
	start := time.Now()
	var open []*http.Response
	var connections []*http2.ClientConn
	var mu sync.Mutex
	var bad atomic.Int64
	transport := &http2.Transport{DisableCompression: true}
	inParallel(*conc, func(int) {
		conn, err := tls.Dial("tcp", address, settings)
		if err != nil {
			bad.Add(int64(*count))
			return
		}
		h2, err := transport.NewClientConn(conn)
		if err != nil {
			bad.Add(int64(*count))
			return
		}
		var mine []*http.Response
		for i := 0; i < *count; i++ {
			req, err := http.NewRequest("GET", target, nil)
			must(err)
			req.Header.Set("Accept", *accept)
			resp, err := h2.RoundTrip(req)
			if err != nil || resp.StatusCode != 200 {
				bad.Add(1)
				continue
			}
			mine = append(mine, resp)
		}
		mu.Lock()
		connections = append(connections, h2)
		open = append(open, mine...)
		mu.Unlock()
	})
	out["seconds"] = time.Since(start).Seconds()
	time.Sleep(*dur)
	idle := used()
	change := fmt.Sprintf(`{"data":{"a":"%d"}}`, time.Now().UnixNano()) // a change, whatever an earlier run has left
	code, _, err := do(w, "PATCH", fmt.Sprintf("%s/api/v1/namespaces/%s/configmaps/%s", whost, *ns, object), "application/merge-patch+json",
		"application/json", []byte(change))
	if err != nil || code != 200 {
		must(fmt.Errorf("the change was answered %d: %w", code, err))
	}
	told := time.Now()
	var heard atomic.Int64
	late := time.AfterFunc(time.Minute, func() {
		for _, conn := range connections {
			conn.Close()
		}
	})
	inParallel(len(open), func(i int) {
		const wanted = `{"type":"MODIFIED"`
		var begin [len(wanted)]byte
		if _, err := io.ReadFull(open[i].Body, begin[:]); err == nil && string(begin[:]) == wanted {
			heard.Add(1)
		}
	})
	late.Stop()
	out["delivery_s"] = time.Since(told).Seconds()
	time.Sleep(time.Second)
	after := used()
	out["connections"], out["watches"], out["bad"], out["heard"] = len(connections), len(open), bad.Load(), heard.Load()
	out["failed"] = int64(len(open)) - heard.Load()
	out["kib_per_watch"] = (idle.rss - before.rss) * 1024 / float64(max(len(open), 1))
	out["delivery_cpu_us"] = (after.cpu - idle.cpu) * 1e6 / float64(max(len(open), 1))
	out["rss_mib"] = after.rss
	for _, conn := range connections {
		conn.Close()
	}
}
