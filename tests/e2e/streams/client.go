// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
)

const patience = 60 * time.Second

// pod is where the clients of this program execute, as a tenant.
type pod struct {
	config          *rest.Config
	client          *kubernetes.Clientset
	namespace, name string
}

func connect(kubeconfig, namespace, name string) (*pod, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	return &pod{config, client, namespace, name}, err
}

func (p *pod) url(subresource string, options *corev1.PodExecOptions) *url.URL {
	request := p.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(p.namespace).Name(p.name).SubResource(subresource)
	if options != nil {
		request = request.VersionedParams(options, scheme.ParameterCodec)
	}
	return request.URL()
}

var protocols = []string{"WebSocket", "SPDY"}

// executor of a command, over one of the two protocols; each has a connection of its own.
func (p *pod) executor(protocol string, options corev1.PodExecOptions) (remotecommand.Executor, error) {
	options.Container = "c"
	where := p.url("exec", &options)
	if protocol == "SPDY" {
		return remotecommand.NewSPDYExecutor(p.config, "POST", where)
	}
	return remotecommand.NewWebSocketExecutor(p.config, "GET", where.String())
}

// output of a command that needs no input.
func (p *pod) output(ctx context.Context, protocol string, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	executor, err := p.executor(protocol, corev1.PodExecOptions{Command: command, Stdout: true})
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out})
	return out.String(), err
}

// expecting is an output that tells when all that is wanted has come.
type expecting struct {
	lock  sync.Mutex
	got   bytes.Buffer
	want  string
	found chan struct{}
	once  sync.Once
}

func expect(want string) *expecting { return &expecting{want: want, found: make(chan struct{})} }

func (e *expecting) Write(p []byte) (int, error) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.got.Write(p)
	if e.got.String() == e.want {
		e.once.Do(func() { close(e.found) })
	}
	return len(p), nil
}

func (e *expecting) text() string {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.got.String()
}

func (e *expecting) wait() error {
	select {
	case <-e.found:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("got %q instead of %q", e.text(), e.want)
	}
}

// resident memory of a process in KiB.
func resident(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			out, _ := strconv.Atoi(strings.Fields(rest)[0])
			return out
		}
	}
	return 0
}

// session is a running `echo-stdin`.
type session struct {
	feed io.WriteCloser
	out  *expecting
	end  chan error
}

func (p *pod) echo(ctx context.Context, protocol, want string) (*session, error) {
	executor, err := p.executor(protocol, corev1.PodExecOptions{Command: []string{"echo-stdin"}, Stdin: true, Stdout: true})
	if err != nil {
		return nil, err
	}
	in, feed := io.Pipe()
	out := &session{feed, expect(want), make(chan error, 1)}
	go func() {
		out.end <- executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out.out})
	}()
	return out, nil
}
