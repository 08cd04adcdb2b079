// SPDX-License-Identifier: Apache-2.0

// Command policies makes NetworkPolicies hold on one node: it decides about the first packet of each connection, which
// iptables puts into a queue for it.
//
// It is the engine of kube-network-policies with another way in. The engine's own program installs an nftables rule
// with the statement "queue", which a kernel without CONFIG_NFT_QUEUE refuses, and it runs in a pod alone. Here the
// caller installs an iptables rule with the target NFQUEUE, and names a kubeconfig. The engine tries its own rule
// nevertheless, logs that the kernel refused it, and goes on.
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server; needed")
	node := flag.String("node", "", "name of the node that this runs on; needed")
	queue := flag.Int("queue", 100, "number of the queue that iptables fills")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		klog.Exitf("--kubeconfig %s: %v", *kubeconfig, err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	factory := informers.NewSharedInformerFactory(client, 0)
	controller, err := networkpolicy.NewController(client,
		factory.Networking().V1().NetworkPolicies(), factory.Core().V1().Namespaces(), factory.Core().V1().Pods(),
		nil, nil, nil, nil, networkpolicy.Config{NodeName: *node, QueueID: *queue})
	if err != nil {
		klog.Exitf("the policy engine did not start: %v", err)
	}
	factory.Start(ctx.Done())
	if err := controller.Run(ctx); err != nil {
		klog.Exitf("the policy engine ended: %v", err)
	}
}
