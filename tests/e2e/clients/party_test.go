// SPDX-License-Identifier: Apache-2.0

// Package clients is what others build upon client-go, run as a tenant: a controller-runtime operator, informers, and many
// streams at once. The scripts operator.sh and informers.sh give the environment:
//
//	ZOO_TENANT_A, ZOO_TENANT_B          kubeconfigs of two tenants' administrators
//	ZOO_TENANT_A_ID, ZOO_TENANT_B_ID    their IDs
//	ZOO_ADMIN                           the kubeconfig of upstream's administrator
//	ZOO_IN_CLUSTERS                     not empty: each tenant is a virtual cluster, whose API server is its own
package clients

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const patience = 120 * time.Second // for what controllers do in their own time: the garbage collector sees new kinds late

// party is one who asks: a tenant's administrator, or upstream's (without an ID).
type party struct {
	id     string
	config *rest.Config
	client client.Client // reads go to the server, not to a cache
}

func scheme() *runtime.Scheme {
	out := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, addWeb} {
		if err := add(out); err != nil {
			panic(err)
		}
	}
	return out
}

func newParty(t *testing.T, name string) *party {
	t.Helper()
	path := os.Getenv(name)
	if path == "" {
		t.Fatalf("%s is not set: the path of a kubeconfig", name)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	config.QPS, config.Burst = 1000, 2000
	config.WarningHandler = rest.NoWarnings{}
	return &party{id: os.Getenv(name + "_ID"), config: config, client: newClient(t, config)}
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	made, err := client.New(config, client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// must ends the test at an error; `what` says at which step.
func must(t *testing.T, err error, what string, arguments ...any) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", fmt.Sprintf(what, arguments...), err)
	}
}

// eventually waits until check returns nothing; what it said last is the failure.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if last = check(); last == nil {
			return
		}
	}
	t.Fatalf("%s: not within %v: %v", what, patience, last)
}

// gone is nothing once reading the object answers NotFound.
func (p *party) gone(ctx context.Context, object client.Object) error {
	err := p.client.Get(ctx, client.ObjectKeyFromObject(object), object)
	if errors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%T %s/%s is still there", object, object.GetNamespace(), object.GetName())
	}
	return err
}

func (p *party) makeNamespaces(t *testing.T, ctx context.Context, names ...string) {
	t.Helper()
	for _, name := range names {
		must(t, p.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}), "create namespace %s", name)
	}
}
