// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func object(kind, ns, name string) []byte {
	meta := map[string]any{"name": name, "namespace": ns, "labels": map[string]string{"app": "bench", "bench": name}}
	var o map[string]any
	if kind == "pod" {
		var cs []any
		for i := 0; i < 2; i++ {
			cs = append(cs, map[string]any{"name": fmt.Sprintf("c%d", i), "image": "registry.example/app:1", "env": []any{
				map[string]any{"name": "A", "value": "some value"}, map[string]any{"name": "NS", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.namespace"}}}},
				"resources": map[string]any{"requests": map[string]any{"cpu": "10m", "memory": "16Mi"}}})
		}
		o = map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": map[string]any{"schedulerName": "none", "containers": cs}}
	} else if kind == "persistentvolume" { // as a provisioner makes it, for a claim that is gone
		meta["name"] = fmt.Sprintf("pvc-00000000-0000-4000-8000-%012x", crc32.ChecksumIEEE([]byte(ns+"/"+name)))
		delete(meta, "namespace")
		o = map[string]any{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": map[string]any{
			"capacity": map[string]string{"storage": "1Gi"}, "accessModes": []string{"ReadWriteOnce"}, "persistentVolumeReclaimPolicy": "Retain",
			"storageClassName": "none", "csi": map[string]string{"driver": "csi.example.com", "volumeHandle": ns + "-" + name},
			"claimRef": map[string]string{"namespace": ns, "name": name}}}
	} else if kind == "ipaddress" { // as upstream makes it, for a Service that is gone
		meta["name"] = netip.AddrFrom16([16]byte(binary.BigEndian.AppendUint32(append([]byte{0x20, 0x01, 0x0d, 0xb8}, make([]byte, 8)...), crc32.ChecksumIEEE([]byte(ns+"/"+name))))).String()
		delete(meta, "namespace")
		o = map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": meta, "spec": map[string]any{
			"parentRef": map[string]string{"group": "", "resource": "services", "namespace": ns, "name": name}}}
	} else if kind == "customresourcedefinition" { // all of a group are one kind: upstream serves the first of them alone
		tenant := strings.TrimSuffix(ns, "-default")
		group, plural := tenant+"-bench.example.com", strings.ReplaceAll(name, "-", "")
		meta["name"] = plural + "." + group
		meta["labels"] = map[string]string{"tenant.kubezoo.io/id": tenant}
		delete(meta, "namespace")
		o = map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta, "spec": map[string]any{
			"group": group, "scope": "Cluster", "names": map[string]string{"plural": plural, "kind": "Same"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]string{"type": "object"}}}}}}
	} else if kind == "namespace" {
		o = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
	} else if kind == "space" { // ns: the account
		o = map[string]any{"apiVersion": "tenancy.kiosk.sh/v1alpha1", "kind": "Space", "metadata": map[string]any{"name": name}, "spec": map[string]any{"account": ns}}
	} else {
		o = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": map[string]string{"k": strings.Repeat("x", 512)}}
	}
	b, err := json.Marshal(o)
	must(err)
	return b
}

// fill creates -n objects, spread evenly over the namespaces of -ns; those that exist stay.
func fill(c *http.Client, host string, out figures) {
	var wg sync.WaitGroup
	jobs := make(chan int)
	var bad atomic.Int64
	spaces := strings.Split(*ns, ",")
	start := time.Now()
	for i := 0; i < *conc; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range jobs {
				space := spaces[n%len(spaces)]
				path := fmt.Sprintf("%s/api/v1/namespaces/%s/%ss", host, space, *kind)
				switch *kind { // of the cluster
				case "persistentvolume":
					path = host + "/api/v1/persistentvolumes"
				case "ipaddress":
					path = host + "/apis/networking.k8s.io/v1/ipaddresses"
				case "customresourcedefinition":
					path = host + "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
				}
				st, _, err := do(c, "POST", path, "application/json", *accept, object(*kind, space, fmt.Sprintf("%s-%06d", *prefix, n)))
				if err != nil || (st != 201 && st != 409) {
					bad.Add(1)
				}
			}
		}()
	}
	for i := 0; i < *count; i++ {
		jobs <- *first + i
	}
	close(jobs)
	wg.Wait()
	out["n"], out["bad"], out["seconds"] = *count, bad.Load(), time.Since(start).Seconds()
}

// beside asks for all paths at once, as one who needs all of the answers.
func beside(c *http.Client, host string, paths []string) (status int, read int64, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, each := range paths {
		wg.Add(1)
		go func() {
			defer wg.Done()
			st, n, failed := do(c, "GET", host+each, "", *accept, nil)
			mu.Lock()
			defer mu.Unlock()
			status, read = max(status, st), read+n
			if failed != nil {
				err = failed
			}
		}()
	}
	wg.Wait()
	return status, read, err
}

// pages asks for a list with a limit and for all pages that follow, one after the other.
func pages(c *http.Client, host, path string) (int, int64, error) {
	var read int64
	for next := path; ; {
		req, err := http.NewRequest("GET", host+next, nil)
		if err != nil {
			return 0, read, err
		}
		req.Header.Set("Accept", *accept)
		resp, err := c.Do(req)
		if err != nil {
			return 0, read, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		read += int64(len(body))
		if err != nil || resp.StatusCode >= 300 {
			return resp.StatusCode, read, err
		}
		// It stands in front of the items or behind them, and no object of these lists has a field of this name.
		_, rest, more := bytes.Cut(body, []byte(`"continue":"`))
		token, _, _ := bytes.Cut(rest, []byte(`"`))
		if !more || len(token) == 0 {
			return resp.StatusCode, read, nil
		}
		next = path + "&continue=" + url.QueryEscape(string(token))
	}
}

// somebody is the client of the n-th of those who ask at the same time: each his own where -kubeconfig names several.
func somebody(clients []*http.Client, n int) *http.Client { return clients[n%len(clients)] }

// load asks again and again, with -c requests under way, for the time of -d.
func load(host string, out figures) {
	var clients []*http.Client
	for _, file := range strings.Split(*kubeconfig, ",") {
		c, _ := client(file)
		clients = append(clients, c)
	}
	var mu sync.Mutex
	var lat []time.Duration
	refused := map[string]int{} // why, and how often
	var bytesIn, bad, seq atomic.Int64
	one := func(c *http.Client) (int, int64, error) {
		switch *scenario {
		case "beside":
			return beside(c, host, strings.Split(*path, ","))
		case "pages":
			return pages(c, host, *path)
		case "create":
			name := fmt.Sprintf("c-%d-%d", os.Getpid(), seq.Add(1))
			switch *kind {
			case "namespace":
				return do(c, "POST", host+"/api/v1/namespaces", "application/json", *accept, object("namespace", "", name))
			case "space":
				return do(c, "POST", host+"/apis/tenancy.kiosk.sh/v1alpha1/spaces", "application/json", *accept, object("space", *ns, name))
			}
			return do(c, "POST", fmt.Sprintf("%s/api/v1/namespaces/%s/configmaps", host, *ns), "application/json", *accept, object("configmap", *ns, name))
		}
		return do(c, "GET", host+*path, "", *accept, nil)
	}
	if *scenario == "handshake" {
		anew := handshake(out)
		one = func(*http.Client) (int, int64, error) { return anew() }
	}
	warm := 50
	if *scenario == "list" || *scenario == "beside" || *scenario == "pages" || *kind == "space" || *kind == "namespace" {
		warm = 3
	}
	for i := 0; i < warm; i++ {
		if st, _, err := one(somebody(clients, i)); err != nil || st >= 300 {
			must(fmt.Errorf("%s: status %d, %v", *path, st, err))
		}
	}
	forgetPeak()
	before := used()
	start := time.Now()
	stop := start.Add(*dur)
	var wg sync.WaitGroup
	for i := 0; i < *conc; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var mine []time.Duration
			c := somebody(clients, i)
			for time.Now().Before(stop) {
				t := time.Now()
				st, n, err := one(c)
				if err != nil || st >= 300 {
					bad.Add(1)
					mu.Lock()
					refused[fmt.Sprintf("%d %v", st, err)]++
					mu.Unlock()
				}
				bytesIn.Add(n)
				mine = append(mine, time.Since(t))
			}
			mu.Lock()
			lat = append(lat, mine...)
			mu.Unlock()
		}()
	}
	wg.Wait()
	el := time.Since(start).Seconds()
	after := used()
	n := float64(len(lat))
	if len(refused) > 0 {
		out["refused"] = refused
	}
	out["n"], out["bad"], out["seconds"], out["rps"] = len(lat), bad.Load(), el, n/el
	out["bytes_per_request"] = float64(bytesIn.Load()) / n
	out["cpu_us"], out["rss_mib"] = (after.cpu-before.cpu)*1e6/n, after.rss
	out["peak_mib"] = peak()
	percentiles(lat, out)
}
