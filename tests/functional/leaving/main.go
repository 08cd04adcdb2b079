// SPDX-License-Identifier: Apache-2.0

// leaving asks and watches as clients of Kubernetes do until it is sent SIGTERM, and says then in JSON what a client would have
// noticed: requests that failed, watches that ended otherwise than in order, changes that a watch was not told.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type report struct {
	Requests     int64    `json:"requests"`
	Failed       []string `json:"failed"`
	Watches      int64    `json:"watches"`
	Ends         int64    `json:"ends"`
	Bookmarked   int64    `json:"bookmarkedEnds"`
	SocketCloses int64    `json:"socketCloses"`
	Unclean      []string `json:"unclean"`
	Gaps         []string `json:"gaps"`
	Writes       int64    `json:"writes"`
	Waited       int64    `json:"toldToWait"`
}

const mostTold = 20 // of each sort of failure

var (
	mutex   sync.Mutex
	result  = report{Failed: []string{}, Unclean: []string{}, Gaps: []string{}}
	stopped atomic.Bool
)

func tell(list *[]string, format string, args ...any) {
	mutex.Lock()
	defer mutex.Unlock()
	if len(*list) < mostTold {
		*list = append(*list, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
}

type client struct {
	http   *http.Client
	server string
	name   string
}

func newClient(server string, config *tls.Config, h2 bool, name string) *client {
	transport := &http.Transport{TLSClientConfig: config.Clone(), MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: time.Minute, ForceAttemptHTTP2: h2}
	if !h2 {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	return &client{&http.Client{Transport: transport}, server, name}
}

func (c *client) do(method, path, body string) (int, []byte, error) {
	request, err := http.NewRequest(method, c.server+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.send(request)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	return answer.StatusCode, read, err
}

// send waits as it is told to by 429 and Retry-After, ten times at most, as client-go does (rest/with_retry.go): what has waited
// while no zood was there comes to the next one all at once.
func (c *client) send(request *http.Request) (*http.Response, error) {
	for tries := 0; ; tries++ {
		if request.GetBody != nil {
			request.Body, _ = request.GetBody()
		}
		answer, err := c.http.Do(request)
		if err != nil || answer.StatusCode != http.StatusTooManyRequests || tries == 10 {
			return answer, err
		}
		seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		if err != nil {
			return answer, nil
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		atomic.AddInt64(&result.Waited, 1)
		time.Sleep(time.Duration(seconds) * time.Second)
	}
}

// ask counts, and tells of what a client would not like.
func (c *client) ask(method, path, body string) []byte {
	status, read, err := c.do(method, path, body)
	atomic.AddInt64(&result.Requests, 1)
	if err != nil || status < 200 || status >= 300 {
		tell(&result.Failed, "%s: %s %s: %d %v %.200s", c.name, method, path, status, err, read)
	}
	return read
}

// write sets the counter. A PATCH is nothing that Go would send again by itself; here it is safe to.
func (c *client) write(path string, n int) {
	request, _ := http.NewRequest("PATCH", c.server+path, strings.NewReader(fmt.Sprintf(`{"data":{"n":"%d"}}`, n)))
	request.Header.Set("Content-Type", "application/merge-patch+json")
	answer, err := c.send(request)
	atomic.AddInt64(&result.Requests, 1)
	atomic.AddInt64(&result.Writes, 1)
	if err != nil {
		tell(&result.Failed, "%s: PATCH: %v", c.name, err)
		return
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 {
		tell(&result.Failed, "%s: PATCH: %d %v %.200s", c.name, answer.StatusCode, err, body)
	}
}

type event struct {
	Type   string `json:"type"`
	Object struct {
		Code     int `json:"code"`
		Metadata struct {
			Name            string `json:"name"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Data map[string]string `json:"data"`
	} `json:"object"`
}

// A watcher follows one kind from where it stood, over as many watches as it takes.
type watcher struct {
	client  *client
	path    string
	version string
	counter int // of ConfigMap counter; -1: none was seen
	last    string
}

func (w *watcher) list() {
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Data map[string]string `json:"data"`
		} `json:"items"`
	}
	_ = json.Unmarshal(w.client.ask("GET", w.path, ""), &list)
	w.version, w.counter = list.Metadata.ResourceVersion, -1
	for _, item := range list.Items {
		if item.Metadata.Name == "counter" {
			w.counter, _ = strconv.Atoi(item.Data["n"])
		}
	}
}

func (w *watcher) take(line []byte) error {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("an event that is none: %.100s", line)
	}
	if e.Type == "ERROR" {
		return fmt.Errorf("an ERROR event: %.200s", line)
	}
	w.last, w.version = e.Type, e.Object.Metadata.ResourceVersion
	if e.Type == "BOOKMARK" || e.Object.Metadata.Name != "counter" {
		return nil
	}
	n, _ := strconv.Atoi(e.Object.Data["n"])
	if w.counter >= 0 && n != w.counter+1 {
		tell(&result.Gaps, "%s: %d came behind %d", w.client.name, n, w.counter)
	}
	w.counter = n
	return nil
}

func (w *watcher) query() string {
	return w.path + "?watch=1&allowWatchBookmarks=true&resourceVersion=" + url.QueryEscape(w.version)
}

func (w *watcher) once() error {
	w.last = ""
	request, err := http.NewRequest("GET", w.client.server+w.query(), nil)
	if err != nil {
		return err
	}
	answer, err := w.client.send(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != 200 {
		body, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("status %d: %.200s", answer.StatusCode, body)
	}
	atomic.AddInt64(&result.Watches, 1)
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.take(line); err != nil {
			return err
		}
	}
}

// socket watches once over a WebSocket (RFC 6455): each event is a message.
func (w *watcher) socket(config *tls.Config, address string) error {
	w.last = ""
	plain := config.Clone()
	plain.NextProtos = []string{"http/1.1"}
	connection, err := (&tls.Dialer{Config: plain}).Dial("tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: %s\r\nOrigin: https://%s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", w.query(), address, address)
	reader := bufio.NewReader(connection)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	atomic.AddInt64(&result.Watches, 1)
	for {
		head := make([]byte, 2)
		if _, err := io.ReadFull(reader, head); err != nil {
			return fmt.Errorf("before a close frame: %w", err)
		}
		size := uint64(head[1] & 0x7f)
		if more := map[uint64]int{126: 2, 127: 8}[size]; more != 0 {
			length := make([]byte, more)
			if _, err := io.ReadFull(reader, length); err != nil {
				return err
			}
			size = 0
			for _, b := range length {
				size = size<<8 | uint64(b)
			}
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(reader, payload); err != nil {
			return err
		}
		if head[0]&0xf == 8 { // close
			if !bytes.Equal(payload, []byte{3, 232}) {
				return fmt.Errorf("a close frame of %v", payload)
			}
			atomic.AddInt64(&result.SocketCloses, 1)
			_, _ = connection.Write([]byte{0x88, 0x80, 0, 0, 0, 0})
			return nil
		}
		if err := w.take(payload); err != nil {
			return err
		}
	}
}

func (w *watcher) follow(watch func() error) {
	for w.list(); !stopped.Load(); {
		err := watch()
		if stopped.Load() {
			return
		}
		if err != nil {
			tell(&result.Unclean, "%s: %v", w.client.name, err)
			time.Sleep(200 * time.Millisecond)
			w.list()
			continue
		}
		atomic.AddInt64(&result.Ends, 1)
		if w.last == "BOOKMARK" {
			atomic.AddInt64(&result.Bookmarked, 1)
		}
	}
}

func main() {
	server := flag.String("server", "", "https://HOST:PORT")
	address := flag.String("address", "", "HOST:PORT to connect to")
	authority := flag.String("ca", "", "CA file")
	certificate := flag.String("cert", "", "certificate file")
	key := flag.String("key", "", "key file")
	watches := flag.Int("watches", 40, "watches at the same time, a few of them over WebSockets")
	rate := flag.Int("rate", 60, "requests a second")
	flag.Parse()

	pem, err := os.ReadFile(*authority)
	pair, err2 := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil || err2 != nil {
		fmt.Fprintln(os.Stderr, err, err2)
		os.Exit(1)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
	if host, _, err := net.SplitHostPort(*address); err == nil {
		config.ServerName = host
	}
	const space = "/api/v1/namespaces/default/configmaps"
	first := newClient(*server, config, true, "writer")
	first.ask("POST", space, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"counter"},"data":{"n":"0"}}`)

	// Half of the clients have HTTP/2 and ten watches on a connection, half HTTP/1.1 and a connection for each.
	clients := []*client{}
	for i := 0; i < 16; i++ {
		clients = append(clients, newClient(*server, config, i%2 == 0, fmt.Sprintf("client %d (HTTP/%d)", i, 2-i%2)))
	}
	paths := []string{space, "/api/v1/configmaps", "/api/v1/namespaces/default/configmaps"}
	var all sync.WaitGroup
	for i := 0; i < *watches; i++ {
		w := &watcher{client: clients[i%len(clients)], path: paths[i%len(paths)]}
		watch := w.once
		if i%20 == 7 {
			w.client = newClient(*server, config, false, fmt.Sprintf("WebSocket %d", i))
			watch = func() error { return w.socket(config, *address) }
		}
		go w.follow(watch)
		time.Sleep(10 * time.Millisecond) // clients do not come all at once, and handshakes take a processor's time
	}

	all.Add(1)
	go func() { // changes, each of which every watch is told once
		defer all.Done()
		for n := 1; !stopped.Load(); n++ {
			first.write(space+"/counter", n)
			time.Sleep(100 * time.Millisecond)
		}
	}()
	go func() {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		<-asked
		stopped.Store(true)
	}()

	tick := time.NewTicker(time.Second / time.Duration(*rate))
	var sequence int64
	for ; !stopped.Load(); <-tick.C {
		sequence++
		n := sequence
		all.Add(1)
		go func() {
			defer all.Done()
			c := clients[n%int64(len(clients))]
			switch n % 10 {
			case 0:
				name := fmt.Sprintf("made-%d-%d", os.Getpid(), n)
				c.ask("POST", space, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"}}`)
				c.ask("DELETE", space+"/"+name, "")
			case 1, 2:
				c.ask("GET", space+"?limit=5", "")
			default:
				c.ask("GET", space+"/counter", "")
			}
		}()
	}
	all.Wait()
	mutex.Lock()
	defer mutex.Unlock()
	out, _ := json.MarshalIndent(result, "", "  ")
	fmt.Println(string(out))
}
