// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
)

// informers opens one HTTP/2 connection for each kubeconfig in the folder -kubeconfig, and on it a watch of each path
// of -path, holds them for the time of -d, and tells what they cost: one tenant each, as its informers would.
func informers(out figures) {
	files, err := filepath.Glob(*kubeconfig + "/*.kubeconfig")
	must(err)
	paths := strings.Split(*path, ",")
	c, host := client(files[0])
	targets := make([]string, len(paths))
	for i, each := range paths {
		targets[i] = host + each + "?watch=1&allowWatchBookmarks=true&resourceVersion=" + now(c, host+each)
	}
	before := used()
	start := time.Now()
	transport := &http2.Transport{DisableCompression: true}
	var connections []*http2.ClientConn
	var mu sync.Mutex
	var open, bad atomic.Int64
	inParallel(len(files), func(i int) {
		settings, address := endpointOf(files[i], "h2")
		conn, err := tls.Dial("tcp", address, settings)
		if err != nil {
			bad.Add(int64(len(paths)))
			return
		}
		h2, err := transport.NewClientConn(conn)
		must(err)
		mu.Lock()
		connections = append(connections, h2)
		mu.Unlock()
		for _, target := range targets {
			req, err := http.NewRequest("GET", target, nil)
			must(err)
			req.Header.Set("Accept", *accept)
			if resp, err := h2.RoundTrip(req); err != nil || resp.StatusCode != 200 {
				bad.Add(1)
				continue
			}
			open.Add(1)
		}
	})
	opened := used()
	out["seconds"] = time.Since(start).Seconds()
	time.Sleep(*dur)
	idle := used()
	out["connections"], out["watches"], out["bad"] = len(connections), open.Load(), bad.Load()
	out["cpu_us"] = (opened.cpu - before.cpu) * 1e6 / float64(max(open.Load(), 1))
	out["idle_cpu_s"] = idle.cpu - opened.cpu
	out["kib_per_watch"] = (idle.rss - before.rss) * 1024 / float64(max(open.Load(), 1))
	out["rss_mib"] = idle.rss
	for _, conn := range connections {
		conn.Close()
	}
}

// inParallel runs task for 0 to count-1, 16 at a time.
func inParallel(count int, task func(int)) {
	var wg sync.WaitGroup
	jobs := make(chan int)
	for i := 0; i < 16; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for job := range jobs {
				task(job)
			}
		}()
	}
	for i := 0; i < count; i++ {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
}
