// SPDX-License-Identifier: Apache-2.0

// Command zoobench drives one Kubernetes API endpoint with one workload and prints one line of JSON.
//
//	zoobench -kubeconfig K -scenario get|list|beside|pages|create|watch|watches|grants|informers|fill|connect|attack|paced|clusters [-c N] [-d 5s] [-pid P,P...] ...
//
// With -pid it also tells the CPU time that these processes spent and their resident memory, as the operating system
// accounts for them, so that two proxies can be compared on a machine whose speed drifts.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	kubeconfig = flag.String("kubeconfig", "", "kubeconfig of the endpoint under test (attack, get, list, create: of each user, separated by commas; informers: a folder of them; clusters: one, or a folder of them)")
	writer     = flag.String("writer", "", "kubeconfig that makes the changes (watch, watches, grants); watch without it: -kubeconfig")
	scenario   = flag.String("scenario", "get", "get, list, beside, pages, create, handshake, watch, watches, grants, informers, fill, connect, attack, paced or clusters")
	path       = flag.String("path", "/api/v1/namespaces/default/configmaps/bench", "path to GET (get, list, handshake, attack, paced; beside: paths, separated by commas, all at once; pages: and all that follow it) or to watch (informers: paths, separated by commas)")
	ns         = flag.String("ns", "default", "namespaces written to (create, watch, watches, grants, fill, clusters), separated by commas; create of spaces: their account")
	accept     = flag.String("accept", "application/json", "Accept header")
	encoding   = flag.String("encoding", "gzip", "what client-go asks for: gzip, or identity")
	conc       = flag.Int("c", 8, "concurrent requests, watchers, or connections")
	dur        = flag.Duration("d", 5*time.Second, "how long to measure, or to wait at most (clusters)")
	rate       = flag.Int("rate", 100, "writes a second (watch), requests (paced)")
	hear       = flag.String("hear", "all", "who must hear each change (watch): all watchers, or none (grants: one, or none)")
	anew       = flag.Bool("anew", false, "a connection for each request (attack)")
	sessions   = flag.String("sessions", "new", "of TLS, where each request has a connection of its own (handshake): new or resumed")
	count      = flag.Int("n", 1000, "objects (fill), watches on each connection (watches), pods in each namespace (clusters)")
	first      = flag.Int("first", 0, "number of the first object (fill)")
	kind       = flag.String("kind", "configmap", "object kind (fill): configmap, pod, persistentvolume, ipaddress or customresourcedefinition; (create): configmap, namespace or space")
	prefix     = flag.String("prefix", "bench", "what names of objects begin with (fill, clusters)")
	tokens     = flag.Bool("tokens", true, "whether pods have tokens of their account (clusters)")
	pids       = flag.String("pid", "", "processes whose CPU and memory are read, separated by commas")
)

// figures is the line that is printed.
type figures map[string]any

func main() {
	flag.Parse()
	out := figures{"scenario": *scenario}
	if many := map[string]func(figures){"attack": attack, "informers": informers, "clusters": clusters}[*scenario]; many != nil {
		many(out)
		must(json.NewEncoder(os.Stdout).Encode(out))
		return
	}
	c, host := client(strings.Split(*kubeconfig, ",")[0])
	switch *scenario {
	case "fill":
		fill(c, host, out)
	case "watch":
		watch(c, host, out)
	case "watches":
		watches(c, host, out)
	case "connect":
		connect(out)
	case "grants":
		grants(c, host, out)
	case "get", "list", "beside", "pages", "create", "handshake":
		load(host, out)
	case "paced":
		paced(c, host, out)
	default:
		must(fmt.Errorf("unknown scenario %q", *scenario))
	}
	must(json.NewEncoder(os.Stdout).Encode(out))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "zoobench:", err)
		os.Exit(1)
	}
}

func client(path string) (*http.Client, string) {
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	must(err)
	cfg.QPS = -1
	cfg.DisableCompression = *encoding == "identity"
	rt, err := rest.TransportFor(cfg)
	must(err)
	return &http.Client{Transport: rt}, strings.TrimRight(cfg.Host, "/")
}

func do(c *http.Client, method, url, ctype, acc string, body []byte) (int, int64, error) {
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Accept", acc)
	if ctype != "" {
		req.Header.Set("Content-Type", ctype)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, 0, err
	}
	n, err := io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode, n, err
}

// processes are those of -pid.
func processes() []string {
	return strings.FieldsFunc(*pids, func(c rune) bool { return c == ',' })
}

// usage is what the operating system says of the processes of -pid, all together.
type usage struct{ cpu, rss float64 } // seconds, MiB

func used() usage {
	var sum usage
	for _, pid := range processes() {
		b, err := os.ReadFile("/proc/" + pid + "/stat")
		must(err)
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+2:]))
		number := func(i int) float64 {
			v, err := strconv.ParseFloat(f[i], 64)
			must(err)
			return v
		}
		sum.cpu += ran(pid)
		sum.rss += number(21) * float64(os.Getpagesize()) / (1 << 20)
	}
	return sum
}

// forgetPeak begins to count anew what the processes of -pid have at most (proc(5), clear_refs).
func forgetPeak() {
	for _, pid := range processes() {
		must(os.WriteFile("/proc/"+pid+"/clear_refs", []byte("5"), 0))
	}
}

// peak is the most memory that they had since then, MiB.
func peak() (sum float64) {
	for _, pid := range processes() {
		b, err := os.ReadFile("/proc/" + pid + "/status")
		must(err)
		_, rest, _ := strings.Cut(string(b), "VmHWM:")
		kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		must(err)
		sum += kib / 1024
	}
	return sum
}

// ran is how long the threads that a process has now have run. /proc/PID/stat says it in hundredths of a second.
func ran(pid string) (seconds float64) {
	files, err := filepath.Glob("/proc/" + pid + "/task/*/schedstat")
	must(err)
	if len(files) == 0 {
		must(errors.New("no /proc/" + pid + "/task/*/schedstat: this kernel does not account so"))
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread has ended
		}
		must(err)
		ns, err := strconv.ParseFloat(strings.Fields(string(b))[0], 64)
		must(err)
		seconds += ns / 1e9
	}
	return seconds
}

// percentiles sorts the samples.
func percentiles(lat []time.Duration, out figures) {
	if len(lat) == 0 {
		return
	}
	sort.Slice(lat, func(i, j int) bool { return lat[i] < lat[j] })
	at := func(p float64) float64 { return float64(lat[int(p*float64(len(lat)-1))].Microseconds()) / 1000 }
	out["p50_ms"], out["p99_ms"] = at(.5), at(.99)
}
