// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

const forwarded = 32 << 20 // bytes each way

// serve accepts connections on a port of its own until the program ends.
func serve(each func(*net.TCPConn)) (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				each(connection.(*net.TCPConn))
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func (p *pod) dialer(protocol string) (httpstream.Dialer, error) {
	if protocol == "WebSocket" {
		return portforward.NewSPDYOverWebsocketDialer(p.url("portforward", nil), p.config)
	}
	transport, upgrader, err := spdy.RoundTripperFor(p.config)
	if err != nil {
		return nil, err
	}
	return spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", p.url("portforward", nil)), nil
}

// ports forwards two ports of the pod: of one that counts what it is sent and answers when that has ended, and of one that
// sends everything back at once.
func ports(_ context.Context, p *pod) error {
	counting, err := serve(func(connection *net.TCPConn) {
		read, _ := io.Copy(io.Discard, connection)
		fmt.Fprintf(connection, "%d bytes", read)
	})
	if err != nil {
		return err
	}
	echoing, err := serve(func(connection *net.TCPConn) { _, _ = io.Copy(connection, connection) })
	if err != nil {
		return err
	}
	for _, protocol := range protocols {
		dialer, err := p.dialer(protocol)
		if err != nil {
			return err
		}
		stop, ready := make(chan struct{}), make(chan struct{})
		forwarder, err := portforward.New(dialer, []string{fmt.Sprintf("0:%d", counting), fmt.Sprintf("0:%d", echoing)}, stop, ready, io.Discard, os.Stderr)
		if err != nil {
			return err
		}
		end := make(chan error, 1)
		go func() { end <- forwarder.ForwardPorts() }()
		select {
		case <-ready:
		case err := <-end:
			return fmt.Errorf("%s: %w", protocol, err)
		case <-time.After(patience):
			return fmt.Errorf("%s: no port is forwarded", protocol)
		}
		local, err := forwarder.GetPorts()
		if err != nil {
			return err
		}
		if err := errors.Join(countedBy(local[0].Local), echoedBy(local[1].Local)); err != nil {
			return fmt.Errorf("%s: %w", protocol, err)
		}
		close(stop)
		<-end
	}
	return nil
}

func dial(port uint16) (*net.TCPConn, error) {
	connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return nil, err
	}
	_ = connection.SetDeadline(time.Now().Add(patience))
	return connection.(*net.TCPConn), nil
}

func countedBy(port uint16) error {
	connection, err := dial(port)
	if err != nil {
		return err
	}
	defer connection.Close()
	if _, err := io.CopyN(connection, zeros{}, forwarded); err != nil {
		return err
	}
	_ = connection.CloseWrite()
	answer, err := io.ReadAll(connection)
	if err != nil || string(answer) != fmt.Sprintf("%d bytes", forwarded) {
		return fmt.Errorf("counted %q, %w", answer, err)
	}
	return nil
}

func echoedBy(port uint16) error {
	connection, err := dial(port)
	if err != nil {
		return err
	}
	defer connection.Close()
	go func() {
		_, _ = io.CopyN(connection, zeros{}, forwarded)
		_ = connection.CloseWrite()
	}()
	read, err := io.Copy(io.Discard, connection)
	if err != nil || read != forwarded {
		return fmt.Errorf("%d of %d bytes came back, %w", read, forwarded, err)
	}
	return nil
}
