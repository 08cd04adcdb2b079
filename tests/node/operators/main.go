// SPDX-License-Identifier: Apache-2.0

// The four programs of cert-manager as one, chosen by the first argument, for container images of tests: controller, webhook,
// cainjector and startupapicheck. cert-manager keeps its mains in modules of their own, which are not published. So these are
// put together here from its packages, and take the arguments that its chart gives them. The issuers are selfSigned and CA:
// those that need services outside of a cluster (ACME, Vault, Venafi) are left out.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	webhookserver "github.com/cert-manager/cert-manager/internal/webhook"
	"github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/scheme"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
	"github.com/cert-manager/cert-manager/pkg/util/cmapichecker"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
	"github.com/spf13/pflag"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	kube "k8s.io/client-go/kubernetes/scheme"
	registration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	core "k8s.io/api/core/v1"
)

func main() {
	logf.InitLogs()
	ctrl.SetLogger(logf.Log)
	ctx := logf.NewContext(ctrl.SetupSignalHandler(), logf.Log)
	programs := map[string]func(context.Context, *pflag.FlagSet, []string) error{
		"controller": runController, "webhook": runWebhook, "cainjector": runInjector, "startupapicheck": checkAPI}
	var run func(context.Context, *pflag.FlagSet, []string) error
	if len(os.Args) > 1 {
		run = programs[os.Args[1]]
	}
	if run == nil {
		fmt.Fprintln(os.Stderr, "usage: cert-manager controller|webhook|cainjector|startupapicheck FLAGS")
		os.Exit(64)
	}
	flags := pflag.NewFlagSet(os.Args[1], pflag.ContinueOnError)
	if err := run(ctx, flags, os.Args[2:]); err != nil {
		logf.Log.Error(err, os.Args[1]+" ended")
		os.Exit(1)
	}
}

func runWebhook(ctx context.Context, flags *pflag.FlagSet, arguments []string) error {
	configuration, err := options.NewWebhookConfiguration()
	if err != nil {
		return err
	}
	options.AddConfigFlags(flags, configuration)
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if err := logf.ValidateAndApply(&configuration.Logging); err != nil {
		return err
	}
	server, err := webhookserver.NewCertManagerWebhookServer(logf.FromContext(ctx, "webhook"), *configuration)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

func runInjector(ctx context.Context, flags *pflag.FlagSet, arguments []string) error {
	space := flags.String("leader-election-namespace", "kube-system", "of the Lease")
	flags.Int("v", 2, "how much it logs")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kube.AddToScheme, scheme.AddToScheme, extensions.AddToScheme, registration.AddToScheme} {
		if err := add(types); err != nil {
			return err
		}
	}
	// The injectors apply as the manager that the user agent begins with.
	manager, err := ctrl.NewManager(util.RestConfigWithUserAgent(ctrl.GetConfigOrDie(), "cainjector"), ctrl.Options{
		Scheme:                        types,
		Cache:                         cache.Options{ReaderFailOnMissingInformer: true},
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&core.Secret{}}}},
		LeaderElection:                true,
		LeaderElectionNamespace:       *space,
		LeaderElectionID:              "cert-manager-cainjector-leader-election",
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metrics.Options{BindAddress: "0.0.0.0:9402"},
	})
	if err != nil {
		return err
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName: true, cainjector.ValidatingWebhookConfigurationName: true,
			cainjector.APIServiceName: true, cainjector.CustomResourceDefinitionName: true},
	})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// checkAPI is `startupapicheck check api --wait=1m`: a Certificate can be created in a dry run, for which definitions and
// webhooks have to work.
func checkAPI(ctx context.Context, flags *pflag.FlagSet, arguments []string) error {
	patience := flags.Duration("wait", 0, "how long to ask again")
	flags.IntP("v", "v", 2, "how much it logs")
	flags.Lookup("v").NoOptDefVal = "2" // the chart gives -v alone
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	checker, err := cmapichecker.New(ctrl.GetConfigOrDie(), os.Getenv("POD_NAMESPACE"))
	if err != nil {
		return err
	}
	var last error
	if err := wait.PollUntilContextTimeout(ctx, time.Second, max(*patience, time.Second), true, func(ctx context.Context) (bool, error) {
		if last = checker.Check(ctx); last != nil {
			logf.Log.Info("not ready", "why", last.Error())
		}
		return last == nil, nil
	}); err != nil {
		return last
	}
	fmt.Println("The cert-manager API is ready")
	return nil
}
