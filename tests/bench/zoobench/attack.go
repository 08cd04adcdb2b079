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
)

// own is the CPU time that this process has spent.
func own() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// gate lets nobody through while this process has spent more than its share of one core.
func gate(share float64, stop time.Time) *sync.RWMutex {
	closed := &sync.RWMutex{}
	go func() {
		begun, spent := time.Now(), own()
		for time.Now().Before(stop) {
			time.Sleep(2 * time.Millisecond)
			if over := own() - spent - time.Duration(share*float64(time.Since(begun))); over > 0 {
				closed.Lock()
				time.Sleep(time.Duration(float64(over) / share))
				closed.Unlock()
			}
		}
	}()
	return closed
}

// attack asks with -c requests under way at any time, as the users of -kubeconfig in turn, and takes no answer for a hint
// to wait; it spends no more than -cpu of one core. What is answered is counted, and no failure.
func attack(out figures) {
	var clients []*http.Client
	var hosts []string
	for _, each := range strings.Split(*kubeconfig, ",") {
		c, host := client(each)
		clients, hosts = append(clients, c), append(hosts, host)
	}
	stop := time.Now().Add(*dur)
	closed := gate(*cpu, stop)
	var counts [600]atomic.Int64
	var lost atomic.Int64
	var wg sync.WaitGroup
	for n := range *conc {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c, url := clients[n%len(clients)], hosts[n%len(hosts)]+*path
			for time.Now().Before(stop) {
				closed.RLock()
				closed.RUnlock()
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
