// SPDX-License-Identifier: Apache-2.0

package clients

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of testdata/definitions.yaml.
var webVersion = schema.GroupVersion{Group: "web.example.org", Version: "v1"}

type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebsiteSpec   `json:"spec,omitempty"`
	Status            WebsiteStatus `json:"status,omitempty"`
}

type WebsiteSpec struct {
	Replicas *int32   `json:"replicas,omitempty"`
	Greeting string   `json:"greeting,omitempty"`
	Pages    []string `json:"pages,omitempty"`
}

type WebsiteStatus struct {
	Ready              int32 `json:"ready,omitempty"`
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Website `json:"items"`
}

type Page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              PageSpec `json:"spec,omitempty"`
}

type PageSpec struct {
	Text string `json:"text,omitempty"`
}

type PageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Page `json:"items"`
}

func addWeb(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(webVersion, &Website{}, &WebsiteList{}, &Page{}, &PageList{})
	metav1.AddToGroupVersion(scheme, webVersion)
	return nil
}

func (w *Website) DeepCopyObject() runtime.Object {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if w.Spec.Replicas != nil {
		replicas := *w.Spec.Replicas
		out.Spec.Replicas = &replicas
	}
	out.Spec.Pages = append([]string(nil), w.Spec.Pages...)
	return &out
}

func (l *WebsiteList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Website, 0, len(l.Items))
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Website))
	}
	return &out
}

func (p *Page) DeepCopyObject() runtime.Object {
	out := *p
	p.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (l *PageList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Page, 0, len(l.Items))
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Page))
	}
	return &out
}
