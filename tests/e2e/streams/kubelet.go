// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// kubelet stands in for a node's: its pods run as soon as they are there, and what is executed in them runs here. It has
// the streaming server of the container runtimes' own library, so that what upstream speaks to is the real protocol.
type kubelet struct {
	client  *kubernetes.Clientset
	node    string
	port    int
	podIP   string
	flooded atomic.Int64 // bytes that `flood` has got rid of
}

const idle, creation = 4 * time.Hour, 30 * time.Second

// without serves the commands that need no process of their own; false: it is none of them.
//
//	echo-stdin    gives back what it reads
//	end-of-stdin  says how much it has read when that ends
//	flood BYTES   writes zeros; `flooded` says how many of them are written
//	terminal      says the sizes that its terminal is given, until its input ends
func (k *kubelet) without(cmd []string, in io.Reader, out io.Writer, tty bool, resize <-chan remotecommand.TerminalSize) (bool, error) {
	switch cmd[0] {
	case "echo-stdin":
		_, err := io.Copy(out, in)
		return true, err
	case "end-of-stdin":
		read, err := io.Copy(io.Discard, in)
		if err == nil {
			_, err = fmt.Fprintf(out, "%d bytes", read)
		}
		return true, err
	case "flood":
		size, err := strconv.ParseInt(cmd[1], 10, 64)
		k.flooded.Store(0)
		for block := make([]byte, 16<<10); err == nil && k.flooded.Load() < size; {
			_, err = out.Write(block)
			k.flooded.Add(int64(len(block)))
		}
		return true, err
	case "flooded":
		_, err := fmt.Fprint(out, k.flooded.Load())
		return true, err
	case "terminal":
		ended := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, in)
			close(ended)
		}()
		for {
			select {
			case size := <-resize:
				if _, err := fmt.Fprintf(out, "%t %dx%d\n", tty, size.Width, size.Height); err != nil {
					return true, err
				}
			case <-ended:
				return true, nil
			}
		}
	}
	return false, nil
}

// ExecInContainer runs a command of this machine.
func (k *kubelet) ExecInContainer(ctx context.Context, _, _, _ string, cmd []string, in io.Reader, out, errs io.WriteCloser,
	tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if done, err := k.without(cmd, in, out, tty, resize); done {
		return err
	}
	command := exec.CommandContext(ctx, cmd[0], cmd[1:]...)
	// Through a pipe of our own: Run() would wait for the end of an input that nobody reads.
	var input io.WriteCloser
	if in != nil {
		pipe, err := command.StdinPipe()
		if err != nil {
			return err
		}
		input = pipe
	}
	command.Stdout = out
	command.Stderr = out
	if errs != nil {
		command.Stderr = errs
	}
	if err := command.Start(); err != nil {
		return err
	}
	if input != nil {
		go func() {
			_, _ = io.Copy(input, in)
			_ = input.Close()
		}()
	}
	err := command.Wait()
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return exitError{exited}
	}
	return err
}

// exitError is what the library takes for the status of a command (k8s.io/utils/exec).
type exitError struct{ *exec.ExitError }

func (e exitError) ExitStatus() int { return e.ExitCode() }
func (e exitError) Exited() bool    { return e.ExitError.Exited() }

func (k *kubelet) AttachContainer(ctx context.Context, name, uid, container string, in io.Reader, out, errs io.WriteCloser,
	tty bool, resize <-chan remotecommand.TerminalSize) error {
	_, _ = fmt.Fprintf(out, "attached to %s\n", container)
	if in == nil {
		return nil
	}
	_, err := io.Copy(out, in)
	return err
}

func (k *kubelet) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer connection.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(connection, stream)
		_ = connection.(*net.TCPConn).CloseWrite() // half-close: the other direction goes on
	}()
	_, err = io.Copy(stream, connection)
	_ = stream.Close()
	<-done
	return err
}

// logs are three lines, and with follow one more every 100 ms; of container large-N about N bytes.
func (k *kubelet) logs(w http.ResponseWriter, r *http.Request, container string) {
	flusher := w.(http.Flusher)
	if size, err := strconv.Atoi(strings.TrimPrefix(container, "large-")); err == nil {
		line := []byte(strings.Repeat("x", 1023) + "\n")
		for written := 0; written < size; written += len(line) {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
		return
	}
	for i := 0; r.URL.Query().Get("follow") == "true" || i < 3; i++ {
		if _, err := fmt.Fprintf(w, "line %d of %s\n", i, container); err != nil {
			return
		}
		flusher.Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (k *kubelet) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("container") == "busy" { // an answer of its own, and no upgrade
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusConflict)
			_, _ = fmt.Fprintf(w, `{"error":"%s is busy"}`, r.PathValue("namespace"))
			return
		}
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		remotecommand.ServeExec(w, r, k, r.PathValue("pod"), "", r.PathValue("container"), r.URL.Query()["command"], options,
			idle, creation, remotecommand.SupportedStreamingProtocols)
	})
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		remotecommand.ServeAttach(w, r, k, r.PathValue("pod"), "", r.PathValue("container"), options, idle, creation,
			remotecommand.SupportedStreamingProtocols)
	})
	mux.HandleFunc("/portForward/{namespace}/{pod}", func(w http.ResponseWriter, r *http.Request) {
		options, err := portforward.NewV4Options(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, r, k, r.PathValue("pod"), "", options, idle, creation, portforward.SupportedProtocols)
	})
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		k.logs(w, r, r.PathValue("container"))
	})
	return mux
}

func selfSigned() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubelet"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

var resources = corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("100")}

func (k *kubelet) status() corev1.NodeStatus {
	return corev1.NodeStatus{
		Phase:           corev1.NodeRunning,
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: "127.0.0.1"}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(k.port)}},
		Capacity:        resources, Allocatable: resources,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "StandIn",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}},
	}
}

// beat keeps the node ready: its controller looks at the time of the last report.
func (k *kubelet) beat(ctx context.Context) {
	for {
		patch, _ := json.Marshal(map[string]any{"status": k.status()})
		if _, err := k.client.CoreV1().Nodes().Patch(ctx, k.node, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			log.Printf("report: %v", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Second):
		}
	}
}

// runPods makes the node's pods run, and lets them end.
func (k *kubelet) runPods(ctx context.Context) {
	for ctx.Err() == nil {
		events, err := k.client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + k.node})
		if err != nil {
			log.Printf("watch: %v", err)
			time.Sleep(time.Second)
			continue
		}
		for event := range events.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || event.Type == "DELETED" {
				continue
			}
			if pod.DeletionTimestamp != nil {
				now := int64(0)
				_ = k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
				continue
			}
			if pod.Status.Phase == corev1.PodRunning {
				continue
			}
			now := metav1.Now()
			pod.Status.Phase, pod.Status.PodIP, pod.Status.HostIP, pod.Status.StartTime = corev1.PodRunning, k.podIP, "127.0.0.1", &now
			pod.Status.ContainerStatuses = nil
			for _, each := range pod.Spec.Containers {
				pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: each.Name, Image: each.Image,
					Ready: true, ContainerID: "standin://" + each.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}})
			}
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now})
			if _, err := k.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
				log.Printf("run %s: %v", pod.Name, err)
			}
		}
	}
}

func serveKubelet(ctx context.Context, kubeconfig, node, podIP string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	k := &kubelet{client: client, node: node, port: listener.Addr().(*net.TCPAddr).Port, podIP: podIP}
	server := &http.Server{Handler: k.handler(), TLSConfig: &tls.Config{Certificates: []tls.Certificate{selfSigned()}},
		ReadHeaderTimeout: 30 * time.Second, TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}}
	go func() { log.Print(server.ServeTLS(listener, "", "")) }()
	// Nothing of anybody else's is placed here.
	_, err = client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"kubernetes.io/hostname": node}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "zoo.test/streams", Effect: corev1.TaintEffectNoSchedule}}},
		Status:     k.status(),
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	defer func() {
		_ = client.CoreV1().Nodes().Delete(context.Background(), node, metav1.DeleteOptions{})
	}()
	go k.runPods(ctx)
	k.beat(ctx)
	return nil
}
