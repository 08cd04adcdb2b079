// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

//go:embed testdata/definitions.yaml
var definitions string

// define makes the operator's kinds and waits until they are served.
func (p *party) define(t *testing.T, ctx context.Context) {
	t.Helper()
	for _, text := range strings.Split(definitions, "\n---\n") {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		must(t, yaml.Unmarshal([]byte(text), definition), "read a definition")
		must(t, p.client.Create(ctx, definition), "define %s", definition.Name)
	}
	eventually(t, "the kinds are served", func() error {
		if err := p.client.List(ctx, &PageList{}); err != nil {
			return err
		}
		return p.client.List(ctx, &WebsiteList{})
	})
}

// serviceAccount makes the operator an account with the rights it needs, and returns how it comes in: by a token.
func (p *party) serviceAccount(t *testing.T, ctx context.Context) *rest.Config {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "websites", Namespace: home}
	changes := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	account := rbacv1.Subject{Kind: "ServiceAccount", Namespace: home, Name: meta.Name}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: meta.Name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{webVersion.Group}, Resources: []string{"websites", "pages"}, Verbs: changes},
			{APIGroups: []string{webVersion.Group}, Resources: []string{"websites/status", "websites/finalizers"}, Verbs: []string{"update", "patch"}},
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: changes},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: changes},
			{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: meta.Name}, Subjects: []rbacv1.Subject{account},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update", "patch"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: []rbacv1.Subject{account},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}},
	} {
		must(t, p.client.Create(ctx, object), "create %T", object)
	}
	typed, err := kubernetes.NewForConfig(p.config)
	must(t, err, "typed client")
	made, err := typed.CoreV1().ServiceAccounts(home).CreateToken(ctx, meta.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, err, "create a token")

	config := rest.AnonymousClientConfig(p.config)
	config.BearerToken = made.Status.Token
	config.QPS, config.Burst, config.WarningHandler = p.config.QPS, p.config.Burst, p.config.WarningHandler
	own := newClient(t, config)
	eventually(t, "the account's rights are in force", func() error { return own.List(ctx, &WebsiteList{}) })
	if err := own.List(ctx, &corev1.SecretList{}); !errors.IsForbidden(err) {
		t.Fatalf("the account lists secrets, which it has no right to: %v", err)
	}
	if err := own.List(ctx, &corev1.NamespaceList{}); !errors.IsForbidden(err) || !strings.Contains(fmt.Sprint(err), "system:serviceaccount:"+home+":"+meta.Name) {
		t.Fatalf("the account lists namespaces, which it has no right to: %v", err)
	}
	return config
}
