// SPDX-License-Identifier: Apache-2.0

// Kubernetes' metrics-server as its project builds it, for tests on real nodes: it asks kubelets what pods use, and serves that as
// API group metrics.k8s.io. Its arguments are metrics-server's own.
package main

import (
	"os"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	"sigs.k8s.io/metrics-server/cmd/metrics-server/app"
)

func main() {
	os.Exit(cli.Run(app.NewMetricsServerCommand(genericapiserver.SetupSignalHandler())))
}
