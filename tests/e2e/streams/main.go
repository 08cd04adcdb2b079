// SPDX-License-Identifier: Apache-2.0

// Streams through zood: a stand-in for a kubelet, and clients of it by client-go.
//
//	streams kubelet --kubeconfig ADMIN --node NAME
//	streams CASE --kubeconfig TENANT --pod P [--namespace N] [--pid ZOOD] [--count N] [--for SPAN]
//
// CASE: terminal, half-close, ports, stalled, idle, many.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("streams", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "")
	node := flags.String("node", "", "of the kubelet")
	podIP := flags.String("pod-ip", "127.0.0.1", "that its pods say they have; EndpointSlices take no loopback address")
	namespace := flags.String("namespace", "default", "of the pod")
	name := flags.String("pod", "", "to execute in")
	count := flags.Int("count", 1000, "streams at once")
	span := flags.Duration("for", 0, "how long streams are idle")
	pid := flags.Int("pid", 0, "of zood, whose memory is looked at")
	if len(os.Args) < 2 {
		flags.Usage()
		os.Exit(64)
	}
	_ = flags.Parse(os.Args[2:])
	if os.Args[1] == "kubelet" {
		return serveKubelet(ctx, *kubeconfig, *node, *podIP)
	}
	p, err := connect(*kubeconfig, *namespace, *name)
	if err != nil {
		return err
	}
	switch os.Args[1] {
	case "terminal":
		return terminal(ctx, p)
	case "half-close":
		return halfClose(ctx, p)
	case "ports":
		return ports(ctx, p)
	case "stalled":
		return stalled(ctx, p, *pid)
	case "idle":
		return idles(ctx, p, *span)
	case "many":
		return many(ctx, p, *count, *pid)
	}
	return fmt.Errorf("no case %q", os.Args[1])
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
