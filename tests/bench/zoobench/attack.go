// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// own is the CPU time that this process has spent.
func own() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// fresh is a client of path that opens a connection for each request.
func fresh(path string) (*http.Client, string) {
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	must(err)
	tls, err := rest.TLSConfigFor(cfg)
	must(err)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: tls, DisableKeepAlives: true}}, strings.TrimRight(cfg.Host, "/")
}

// attack asks with -c requests under way at any time, as the users of -kubeconfig in turn, and takes no answer for a hint
// to wait. What is answered is counted, and no failure.
func attack(out figures) {
	var clients []*http.Client
	var hosts []string
	for _, each := range strings.Split(*kubeconfig, ",") {
		open := client
		if *anew {
			open = fresh
		}
		c, host := open(each)
		clients, hosts = append(clients, c), append(hosts, host)
	}
	stop := time.Now().Add(*dur)
	var counts [600]atomic.Int64
	var lost atomic.Int64
	var wg sync.WaitGroup
	for n := range *conc {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c, url := clients[n%len(clients)], hosts[n%len(hosts)]+*path
			for time.Now().Before(stop) {
				if status, _, err := do(c, "GET", url, "", *accept, nil); err != nil {
					lost.Add(1)
				} else {
					counts[status].Add(1)
				}
			}
		}()
	}
	wg.Wait()
	out["cpu_s"], out["errors"] = own().Seconds(), lost.Load()
	for status := range counts {
		if n := counts[status].Load(); n > 0 {
			out["status_"+strconv.Itoa(status)] = n
		}
	}
}

// paced asks -rate times a second whatever becomes of earlier requests; the time of each runs from when it was due.
func paced(c *http.Client, host string, out figures) {
	var mu sync.Mutex
	var lat []time.Duration
	var bad atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		_, _, err := do(c, "GET", host+*path, "", *accept, nil)
		must(err)
	}
	gap := time.Second / time.Duration(*rate)
	begun := time.Now()
	for n := 0; time.Duration(n)*gap < *dur; n++ {
		due := begun.Add(time.Duration(n) * gap)
		time.Sleep(time.Until(due))
		wg.Add(1)
		go func() {
			defer wg.Done()
			status, _, err := do(c, "GET", host+*path, "", *accept, nil)
			if err != nil || status >= 300 {
				bad.Add(1)
			}
			mu.Lock()
			lat = append(lat, time.Since(due))
			mu.Unlock()
		}()
	}
	wg.Wait()
	out["n"], out["bad"] = len(lat), bad.Load()
	percentiles(lat, out)
}
