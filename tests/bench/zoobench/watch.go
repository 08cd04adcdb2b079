// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// now returns the resourceVersion of the collection at url.
func now(c *http.Client, url string) string {
	req, err := http.NewRequest("GET", url+"?limit=1", nil)
	must(err)
	req.Header.Set("Accept", "application/json")
	resp, err := c.Do(req)
	must(err)
	defer resp.Body.Close()
	var l struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	must(json.NewDecoder(resp.Body).Decode(&l))
	return l.Metadata.ResourceVersion
}

// watch opens -c watches of -path, changes -rate times a second a ConfigMap in each namespace of -ns in turn, and
// tells the time from write to delivery. With -rate 0 nothing is written. Bad is a change that was refused, or not heard
// once by each of those who must, and a watch that has ended.
func watch(c *http.Client, host string, out figures) {
	w, whost := c, host
	if *writer != "" {
		w, whost = client(*writer)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rv := now(c, host+*path)
	var mu sync.Mutex
	var lat []time.Duration
	var events, opened, failed, ended, refused atomic.Int64
	for i := 0; i < *conc; i++ {
		go func() {
			req, err := http.NewRequestWithContext(ctx, "GET", host+*path+"?watch=1&allowWatchBookmarks=true&resourceVersion="+rv, nil)
			must(err)
			req.Header.Set("Accept", *accept)
			resp, err := c.Do(req)
			if err != nil || resp.StatusCode != 200 {
				failed.Add(1)
				return
			}
			opened.Add(1)
			r := bufio.NewReaderSize(resp.Body, 1<<16)
			for {
				line, err := r.ReadBytes('\n')
				if err != nil {
					ended.Add(1)
					return
				}
				now := time.Now()
				events.Add(1)
				if k := bytes.Index(line, []byte(`"sent":"`)); k >= 0 {
					rest := line[k+8:]
					ns, _ := strconv.ParseInt(string(rest[:bytes.IndexByte(rest, '"')]), 10, 64)
					if ns > 0 {
						mu.Lock()
						lat = append(lat, now.Sub(time.Unix(0, ns)))
						mu.Unlock()
					}
				}
			}
		}()
	}
	for end := time.Now().Add(10 * time.Second); opened.Load()+failed.Load() < int64(*conc) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	spaces := strings.Split(*ns, ",")
	if *rate > 0 {
		for _, space := range spaces {
			do(w, "POST", fmt.Sprintf("%s/api/v1/namespaces/%s/configmaps", whost, space), "application/json", "application/json", object("configmap", space, "watched"))
		}
	}
	time.Sleep(500 * time.Millisecond)
	mu.Lock()
	lat = nil
	mu.Unlock()
	events.Store(0)
	before := used()
	start := time.Now()
	sent := 0
	if *rate > 0 {
		// One writer cannot make 1,000 changes a second: as many as it takes, each change is its own request.
		var wg sync.WaitGroup
		places := make(chan struct{}, 16)
		tick := time.NewTicker(time.Second / time.Duration(*rate))
		for time.Since(start) < *dur {
			<-tick.C
			places <- struct{}{}
			wg.Add(1)
			go func(space string) {
				defer wg.Done()
				p := fmt.Sprintf(`{"data":{"sent":"%d"}}`, time.Now().UnixNano())
				status, _, err := do(w, "PATCH", fmt.Sprintf("%s/api/v1/namespaces/%s/configmaps/watched", whost, space), "application/merge-patch+json", "application/json", []byte(p))
				if err != nil || status != 200 {
					refused.Add(1)
				}
				<-places
			}(spaces[sent%len(spaces)])
			sent++
		}
		wg.Wait()
	} else {
		time.Sleep(*dur)
	}
	el := time.Since(start).Seconds()
	wanted := 0
	if *hear == "all" {
		wanted = int(opened.Load()) * (sent - int(refused.Load()))
	}
	time.Sleep(500 * time.Millisecond)
	delivered := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(lat)
	}
	for end := time.Now().Add(10 * time.Second); delivered() < wanted && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	after := used()
	mu.Lock()
	defer mu.Unlock()
	wrong := len(lat) - wanted
	if wrong < 0 {
		wrong = -wrong
	}
	out["bad"] = refused.Load() + ended.Load() + int64(wrong)
	out["watchers"], out["failed"], out["ended"] = opened.Load(), failed.Load(), ended.Load()
	out["writes"], out["events"], out["seconds"] = sent, events.Load(), el
	out["cpu_s"], out["rss_mib"] = after.cpu-before.cpu, after.rss
	if sent > 0 {
		out["cpu_us"] = (after.cpu - before.cpu) * 1e6 / float64(sent)
	}
	percentiles(lat, out)
}
