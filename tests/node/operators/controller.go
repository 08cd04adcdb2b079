// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/healthz"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	// Each enters itself into the list of controllers, or of issuers.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

func runController(ctx context.Context, flags *pflag.FlagSet, arguments []string) error {
	resources := flags.String("cluster-resource-namespace", "kube-system", "of the Secrets of ClusterIssuers")
	space := flags.String("leader-election-namespace", "kube-system", "of the Lease")
	flags.Int("v", 2, "how much it logs")
	flags.String("acme-http01-solver-image", "", "not used: the ACME issuer is left out")
	flags.Int("max-concurrent-challenges", 60, "not used: the ACME issuer is left out")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		KubernetesAPIQPS: 20, KubernetesAPIBurst: 50,
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: *resources},
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/"},
			CertificateRequestMinimumBackoffDuration: time.Hour, CertificateRequestMaximumBackoffDuration: 32 * time.Hour},
	})
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	health := healthz.NewServer(20 * time.Second)
	probed, err := net.Listen("tcp", "0.0.0.0:9403")
	if err != nil {
		return err
	}
	group.Go(func() error { return health.Start(ctx, probed) })
	listener, err := net.Listen("tcp", "0.0.0.0:9402")
	if err != nil {
		return err
	}
	shared.Metrics.SetupCertificateCollector(shared.SharedInformerFactory.Certmanager().V1().Certificates().Lister())
	metrics := shared.Metrics.NewServer(listener)
	group.Go(func() error {
		<-ctx.Done()
		return metrics.Close()
	})
	group.Go(func() error {
		if err := metrics.Serve(listener); err != http.ErrServerClosed {
			return err
		}
		return nil
	})

	host, err := os.Hostname()
	if err != nil {
		return err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, *space, "cert-manager-controller", shared.Client.CoreV1(),
		shared.Client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: host + "-external-cert-manager-controller", EventRecorder: shared.Recorder})
	if err != nil {
		return err
	}
	elected := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 60 * time.Second, RenewDeadline: 40 * time.Second, RetryPeriod: 15 * time.Second,
		ReleaseOnCancel: true, WatchDog: health.LeaderHealthzAdaptor,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(elected) }, OnStoppedLeading: func() {}}})
	if err != nil {
		return err
	}
	group.Go(func() error {
		elector.Run(ctx)
		return ctx.Err()
	})
	select {
	case <-ctx.Done():
		return group.Wait()
	case <-elected:
	}
	for name, construct := range controller.Known() {
		one, err := construct(factory)
		if err != nil {
			return err
		}
		logf.Log.Info("starting controller", "controller", name)
		group.Go(func() error { return one.Run(5, ctx) })
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	return group.Wait()
}
