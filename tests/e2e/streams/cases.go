// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
)

// sizes gives one size after the other, each when the one before has been answered.
type sizes struct {
	list []remotecommand.TerminalSize
	next <-chan struct{}
}

func (s *sizes) Next() *remotecommand.TerminalSize {
	if _, open := <-s.next; !open || len(s.list) == 0 {
		return nil
	}
	out := s.list[0]
	s.list = s.list[1:]
	return &out
}

// answered tells of each line.
type answered struct {
	got   bytes.Buffer
	lines chan<- struct{}
}

func (a *answered) Write(p []byte) (int, error) {
	for range bytes.Count(p, []byte("\n")) {
		a.lines <- struct{}{}
	}
	return a.got.Write(p)
}

// terminal: a terminal is resized while its command runs.
func terminal(ctx context.Context, p *pod) error {
	for _, protocol := range protocols {
		executor, err := p.executor(protocol, corev1.PodExecOptions{Command: []string{"terminal"}, Stdin: true, Stdout: true, TTY: true})
		if err != nil {
			return err
		}
		turns := make(chan struct{}, 8)
		lines := make(chan struct{}, 8)
		queue := &sizes{[]remotecommand.TerminalSize{{Width: 80, Height: 24}, {Width: 132, Height: 43}, {Width: 7, Height: 3}}, turns}
		in, feed := io.Pipe()
		out := &answered{lines: lines}
		go func() {
			defer feed.Close()
			defer close(turns)
			for range 3 {
				turns <- struct{}{}
				select {
				case <-lines:
				case <-time.After(patience):
					return
				}
			}
		}()
		limited, cancel := context.WithTimeout(ctx, 2*patience)
		err = executor.StreamWithContext(limited, remotecommand.StreamOptions{Stdin: in, Stdout: out, Tty: true, TerminalSizeQueue: queue})
		cancel()
		if want := "true 80x24\ntrue 132x43\ntrue 7x3\n"; err != nil || out.got.String() != want {
			return fmt.Errorf("%s: got %q, %v", protocol, out.got.String(), err)
		}
	}
	return nil
}

// halfClose: a command sees the end of its input, and its output still comes.
func halfClose(ctx context.Context, p *pod) error {
	for _, protocol := range protocols {
		limited, cancel := context.WithTimeout(ctx, patience)
		executor, err := p.executor(protocol, corev1.PodExecOptions{Command: []string{"end-of-stdin"}, Stdin: true, Stdout: true})
		if err != nil {
			cancel()
			return err
		}
		var out bytes.Buffer
		in := io.LimitReader(zeros{}, 3<<20)
		err = executor.StreamWithContext(limited, remotecommand.StreamOptions{Stdin: in, Stdout: &out})
		cancel()
		if want := fmt.Sprintf("%d bytes", 3<<20); err != nil || out.String() != want {
			return fmt.Errorf("%s: got %q, %v", protocol, out.String(), err)
		}
	}
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// gated is a reader's end that takes nothing until it is opened.
type gated struct {
	open  <-chan struct{}
	total int64
}

func (g *gated) Write(p []byte) (int, error) {
	<-g.open
	g.total += int64(len(p))
	return len(p), nil
}

const (
	floodSize  = 256 << 20
	mostBehind = 32 << 10 // KiB that zood may grow by while a reader has stopped
)

// stalled: a reader stops. What is under way is bounded by the buffers on the way, other sessions go on, and nothing is lost.
func stalled(ctx context.Context, p *pod, pid int) error {
	for _, protocol := range protocols {
		before := resident(pid)
		executor, err := p.executor(protocol, corev1.PodExecOptions{Command: []string{"flood", fmt.Sprint(floodSize)}, Stdout: true})
		if err != nil {
			return err
		}
		open := make(chan struct{})
		reader := &gated{open: open}
		end := make(chan error, 1)
		go func() { end <- executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: reader}) }()
		// Others work meanwhile: by them it is seen that the flood stands.
		behind, err := stands(ctx, p, protocol)
		during := resident(pid)
		close(open)
		if err != nil {
			return fmt.Errorf("%s: %w", protocol, err)
		}
		if err := <-end; err != nil || reader.total != floodSize {
			return fmt.Errorf("%s: %d of %d bytes came, %v", protocol, reader.total, floodSize, err)
		}
		fmt.Printf("%s: with %d KiB on the way zood grew by %d KiB\n", protocol, behind>>10, during-before)
		if during-before > mostBehind {
			return fmt.Errorf("%s: zood has grown by %d KiB", protocol, during-before)
		}
	}
	return nil
}

// stands waits until the flood gets rid of nothing any more, and says how much it has got rid of.
func stands(ctx context.Context, p *pod, protocol string) (int64, error) {
	var last int64
	same := 0
	for end := time.Now().Add(patience); time.Now().Before(end); {
		text, err := p.output(ctx, protocol, "flooded")
		if err != nil {
			return 0, err
		}
		var now int64
		if _, err := fmt.Sscan(text, &now); err != nil {
			return 0, err
		}
		if now != last || now == 0 {
			last, same = now, 0
		} else if same++; same == 5 {
			if now >= floodSize {
				return now, errors.New("the flood was taken whole, though nobody reads")
			}
			return now, nil
		}
	}
	return last, errors.New("the flood does not stand")
}

// idles: streams on which nothing happens live on for so long; without a span, while connections without a stream are
// closed for being idle, one after the other.
func idles(ctx context.Context, p *pod, span time.Duration) error {
	var open []*session
	for _, protocol := range protocols {
		made, err := p.echo(ctx, protocol, "before after")
		if err != nil {
			return err
		}
		if _, err := made.feed.Write([]byte("before ")); err != nil {
			return err
		}
		open = append(open, made)
	}
	if span > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(span):
		}
	} else {
		for range 2 {
			if err := closedWhenIdle(p.config); err != nil {
				return err
			}
		}
	}
	for i, each := range open {
		if _, err := each.feed.Write([]byte("after")); err != nil {
			return fmt.Errorf("%s: %w", protocols[i], err)
		}
		if err := each.out.wait(); err != nil {
			return fmt.Errorf("%s: %w", protocols[i], err)
		}
		_ = each.feed.Close()
		if err := <-each.end; err != nil {
			return fmt.Errorf("%s: %w", protocols[i], err)
		}
	}
	return nil
}

// closedWhenIdle asks one thing on a connection and then waits until the server ends it.
func closedWhenIdle(config *rest.Config) error {
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	secure.NextProtos = []string{"http/1.1"}
	request, err := http.NewRequest("GET", config.Host+"/version", nil)
	if err != nil {
		return err
	}
	connection, err := tls.Dial("tcp", request.URL.Host, secure)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := request.Write(connection); err != nil {
		return err
	}
	_ = connection.SetReadDeadline(time.Now().Add(patience))
	_, err = io.Copy(io.Discard, connection)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return errors.New("a connection without a stream was not closed for being idle")
	}
	return nil
}
