// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// endpoint is how a connection of protocol is opened to the server of -kubeconfig, and where.
func endpoint(protocol string) (*tls.Config, string) { return endpointOf(*kubeconfig, protocol) }

func endpointOf(file, protocol string) (*tls.Config, string) {
	cfg, err := clientcmd.BuildConfigFromFlags("", file)
	must(err)
	settings, err := rest.TLSConfigFor(cfg)
	must(err)
	settings.NextProtos = []string{protocol}
	at, err := url.Parse(cfg.Host)
	must(err)
	return settings, at.Host
}

// connect opens -c connections, makes one request of -path on each, and leaves them idle for the time of -d: what
// does one that waits cost?
func connect(out figures) {
	settings, address := endpoint("http/1.1")
	before := used()
	var open []*tls.Conn
	var mu sync.Mutex
	var wg sync.WaitGroup
	var bad atomic.Int64
	jobs := make(chan struct{})
	start := time.Now()
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range jobs {
				conn, err := tls.Dial("tcp", address, settings)
				if err != nil {
					bad.Add(1)
					continue
				}
				mu.Lock()
				open = append(open, conn)
				mu.Unlock()
				if _, err := io.WriteString(conn, "GET "+*path+" HTTP/1.1\r\nHost: "+address+"\r\n\r\n"); err != nil {
					bad.Add(1)
					continue
				}
				var answer [4096]byte
				if n, err := conn.Read(answer[:]); err != nil || string(answer[:min(n, 12)]) != "HTTP/1.1 200" {
					bad.Add(1)
				}
			}
		}()
	}
	for i := 0; i < *conc; i++ {
		jobs <- struct{}{}
	}
	close(jobs)
	wg.Wait()
	opened := time.Since(start).Seconds()
	made := used()
	time.Sleep(*dur)
	after := used()
	out["connections"], out["bad"], out["seconds"] = len(open), bad.Load(), opened
	out["cpu_us"] = (made.cpu - before.cpu) * 1e6 / float64(*conc)
	out["idle_cpu_s"] = after.cpu - made.cpu
	out["kib_per_connection"] = (after.rss - before.rss) * 1024 / float64(*conc)
	out["rss_mib"] = after.rss
	for _, conn := range open {
		conn.Close()
	}
}

// handshake makes what opens a connection, asks for -path on it and closes it, each time it is called, and counts in out
// the connections that went on from an earlier session.
func handshake(out figures) func() (int, int64, error) {
	settings, address := endpoint("http/1.1")
	if *sessions == "resumed" {
		settings.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	resumed := 0
	return func() (int, int64, error) { // by one client: a ticket is good for one connection
		conn, err := tls.Dial("tcp", address, settings)
		if err != nil {
			return 0, 0, err
		}
		defer conn.Close()
		if conn.ConnectionState().DidResume {
			resumed++
			out["resumed"] = resumed
		}
		request, err := http.NewRequest("GET", "https://"+address+*path, nil)
		if err != nil {
			return 0, 0, err
		}
		if err := request.Write(conn); err != nil {
			return 0, 0, err
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), request)
		if err != nil {
			return 0, 0, err
		}
		n, err := io.Copy(io.Discard, answer.Body)
		return answer.StatusCode, n, err
	}
}
