// SPDX-License-Identifier: Apache-2.0

// Command probe is what a Go program inside a pod sees of its cluster: the API by client-go's in-cluster configuration, and names
// by Go's own resolver.
//
//	probe whoami               its user, in the words of the API server
//	probe pods NAMESPACE       names of the pods there
//	probe watch NAMESPACE      the name of the first pod that comes or changes there, after a line "watching"
//	probe first                the times of its start and of the first answer, in milliseconds
//	probe lookup NAME          IPv4 addresses
//	probe srv NAME             "PORT TARGET" of each record
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sort"
	"strings"
	"time"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func main() {
	started := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	output, err := answer(ctx, started, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sort.Strings(output)
	fmt.Println(strings.Join(output, "\n"))
}

func answer(ctx context.Context, started time.Time, arguments []string) ([]string, error) {
	resolver := net.Resolver{PreferGo: true}
	switch {
	case len(arguments) == 2 && arguments[0] == "lookup":
		addresses, err := resolver.LookupIP(ctx, "ip4", arguments[1])
		var texts []string
		for _, address := range addresses {
			texts = append(texts, address.String())
		}
		return texts, err
	case len(arguments) == 2 && arguments[0] == "srv":
		_, records, err := resolver.LookupSRV(ctx, "", "", arguments[1])
		var texts []string
		for _, record := range records {
			texts = append(texts, fmt.Sprintf("%d %s", record.Port, record.Target))
		}
		return texts, err
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, err
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	switch {
	case len(arguments) == 1 && arguments[0] == "whoami":
		review, err := api.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authentication.SelfSubjectReview{}, meta.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return []string{review.Status.UserInfo.Username}, nil
	case len(arguments) == 1 && arguments[0] == "first":
		if _, err := api.Discovery().ServerVersion(); err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("%d %d", started.UnixMilli(), time.Now().UnixMilli())}, nil
	case len(arguments) == 2 && arguments[0] == "pods":
		pods, err := api.CoreV1().Pods(arguments[1]).List(ctx, meta.ListOptions{})
		if err != nil {
			return nil, err
		}
		var names []string
		for _, pod := range pods.Items {
			names = append(names, pod.Name)
		}
		return names, nil
	case len(arguments) == 2 && arguments[0] == "watch":
		pods, err := api.CoreV1().Pods(arguments[1]).List(ctx, meta.ListOptions{})
		if err != nil {
			return nil, err
		}
		changes, err := api.CoreV1().Pods(arguments[1]).Watch(ctx, meta.ListOptions{ResourceVersion: pods.ResourceVersion})
		if err != nil {
			return nil, err
		}
		fmt.Println("watching")
		for change := range changes.ResultChan() {
			if pod, ok := change.Object.(*core.Pod); ok {
				return []string{pod.Name}, nil
			}
		}
		return nil, fmt.Errorf("the watch ended without a change")
	}
	return nil, fmt.Errorf("usage: probe whoami|first|pods NAMESPACE|watch NAMESPACE|lookup NAME|srv NAME")
}
