// SPDX-License-Identifier: Apache-2.0

// Helm 4, by which zood renders the charts of templates, and which the tests have as a client. It has the versions of
// Kubernetes' modules that the other clients of the tests have: what is built for them is not built again.
package main

import (
	"os"

	"helm.sh/helm/v4/pkg/cmd"
	"helm.sh/helm/v4/pkg/kube"
)

func main() {
	kube.ManagedFieldsManager = "helm" // else the name of this program
	root, err := cmd.NewRootCmd(os.Stdout, os.Args[1:], cmd.SetupLogging)
	if err == nil {
		err = root.Execute()
	}
	if err != nil {
		os.Exit(1)
	}
}
