// SPDX-License-Identifier: Apache-2.0

// Command upstream is a whole Kubernetes control plane in one file, for tests: etcd, the API server, the
// controller manager, the scheduler and kubectl. Which of them a process becomes is decided by the name it is
// started under (a symlink "kubectl" is kubectl) or, under any other name, by its first argument.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	// kubectl signs in with cloud and OIDC plugins, as the released one does.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

// Each entry takes over the process; os.Args already begins with the component's own name.
var components = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) },
	"kube-scheduler":          func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) },
	"kubectl":                 kubectl,
}

func kubectl() {
	// RunNoErrOutput leaves the printing of errors to kubectl's own rules (exit status, Status messages).
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}

func main() {
	if run, ok := components[filepath.Base(os.Args[0])]; ok {
		run()
		return
	}
	if len(os.Args) > 1 {
		if run, ok := components[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			run()
			return
		}
	}
	names := make([]string, 0, len(components))
	for name := range components {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintf(os.Stderr, "usage: upstream %s [flags]\n", strings.Join(names, "|"))
	os.Exit(2)
}
