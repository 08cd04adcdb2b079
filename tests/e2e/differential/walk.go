// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"net/url"
	"strings"

	"sigs.k8s.io/yaml"
)

// walk chooses the steps. Everything random is decided before a step is made for a side, so that both get the same one;
// what a side fills in is what it was told itself: resourceVersions, UIDs, continue tokens.
type walk struct {
	r          *rand.Rand
	seed       int64
	namespaces []string
	kinds      []kind
}

type step func(s *side) request

func (w *walk) chance(percent int) bool { return w.r.Intn(100) < percent }

func (w *walk) pick(all ...string) string { return all[w.r.Intn(len(all))] }

// mark is the value of a label that all objects of the walk carry, and that cluster-wide lists choose by. Each side puts
// another word of the same length in its place (side.go), since the upstream sees the tenant's objects too.
const mark = "mark-of-the-side"

func (w *walk) label() string { return "walk=" + mark }

func (w *walk) name(k kind) string {
	name := fmt.Sprintf("n%d", w.r.Intn(4))
	if !k.namespaced {
		name = fmt.Sprintf("walk%d-%s", w.seed, name)
	}
	if w.chance(3) {
		name = w.pick("UPPER", "under_score", "a..b", strings.Repeat("long", 80), "-dash", "sp ace", "ünï", ".", "a%2fb")
	}
	return name
}

func (w *walk) metadata(name string) object {
	out := object{"name": name, "labels": object{"walk": mark, "color": w.pick("red", "green")}}
	if w.chance(40) {
		out["annotations"] = object{"note": word(w.r), "example.com/n": fmt.Sprint(w.r.Intn(5))}
	}
	if w.chance(5) {
		out["labels"].(object)["bad label"] = "x"
	}
	return out
}

func (w *walk) object(k kind, name string) object {
	out := k.body(w.r)
	out["apiVersion"], out["kind"], out["metadata"] = k.apiVersion(), k.kind, w.metadata(name)
	if w.chance(4) {
		out["unknown"] = object{"field": 1}
	}
	if w.chance(2) {
		out["kind"] = w.pick("Nonsense", "Pod", "")
	}
	if w.chance(2) {
		out["apiVersion"] = w.pick("v7", "", "example.com/v1")
	}
	if w.chance(2) {
		out["metadata"].(object)["namespace"] = w.pick("elsewhere", "default")
	}
	return out
}

func (w *walk) accept(watch bool) string {
	if w.chance(55) {
		return "application/json"
	}
	all := []string{"", "*/*", "application/yaml", "application/vnd.kubernetes.protobuf",
		"application/vnd.kubernetes.protobuf,application/json", "text/html", "application/json;q=0.5,application/yaml",
		"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
		"application/json;as=Table;v=v9;g=meta.k8s.io", "application/yaml;as=Table;v=v1;g=meta.k8s.io"}
	if watch {
		return w.pick("", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml",
			"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/json;stream=watch")
	}
	return w.pick(all...)
}

func (w *walk) query(writes bool) string {
	values := url.Values{}
	if writes {
		if w.chance(20) {
			values.Set("fieldValidation", w.pick("Strict", "Warn", "Ignore", "Nonsense"))
		}
		if w.chance(12) {
			values.Set("dryRun", w.pick("All", "All", "All", "Nonsense"))
		}
		if w.chance(15) {
			values.Set("fieldManager", w.pick("a", "b", strings.Repeat("m", 129)))
		}
	}
	if w.chance(4) {
		values.Set(w.pick("unknown", "pretty"), w.pick("", "1", "true"))
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

func join(query, more string) string {
	if query == "" {
		return "?" + more
	}
	return query + "&" + more
}

// encoded is a body, and its type: as it should be, and sometimes as it should not.
func (w *walk) encoded(k kind, o object) ([]byte, string) {
	text, _ := json.Marshal(o)
	switch {
	case w.chance(15):
		if out, err := yaml.JSONToYAML(text); err == nil {
			return out, "application/yaml"
		}
	case !k.custom && w.chance(20):
		if out, ok := encode(o); ok {
			return out, "application/vnd.kubernetes.protobuf"
		}
	case w.chance(3):
		return text, w.pick("text/plain", "application/xml", "", "application/cbor", "application/json; charset=utf-8")
	case w.chance(3):
		return text[:w.r.Intn(len(text))], "application/json"
	case w.chance(2):
		return []byte(w.pick("null", "[]", "{}", `"text"`, "7")), "application/json"
	}
	return text, "application/json"
}

func (w *walk) next() step {
	k := w.kinds[w.r.Intn(len(w.kinds))]
	namespace := w.namespaces[w.r.Intn(len(w.namespaces))]
	if w.chance(1) {
		namespace = "not-there"
	}
	collection := k.path(namespace)
	name := w.name(k)
	one := collection + "/" + url.PathEscape(name)
	switch roll := w.r.Intn(100); {
	case roll < 22:
		return w.create(k, collection, name)
	case roll < 32:
		query, accept := w.query(false), w.accept(false)
		return func(*side) request {
			return request{method: "GET", path: one + query, accept: accept, named: true, prefixed: !k.namespaced}
		}
	case roll < 50:
		return w.list(k, collection)
	case roll < 53:
		return w.watch(k, collection)
	case roll < 64:
		return w.update(k, one, name)
	case roll < 82:
		return w.patch(k, one, name)
	case roll < 90:
		return w.remove(k, one)
	case roll < 92:
		return w.collection(collection)
	case roll < 95:
		// With a selector always: a path that ends with a slash is the collection, and DELETE would empty it for everybody.
		query := "?labelSelector=" + w.label() + w.pick("", "&watch=maybe", "&limit=x")
		method, path := w.pick("PUT", "PATCH", "POST", "GET", "DELETE", "HEAD"), w.pick(
			one+"/nothing", one+"/status", collection+"/", strings.Replace(collection, k.resource, "nothings", 1),
			strings.Replace(collection, "/"+k.version+"/", "/v9/", 1), strings.Replace(one, namespace, "NOT_A_NAME", 1))
		return func(*side) request {
			return request{method: method, path: path + query, body: []byte("{}"), contentType: "application/json", about: one}
		}
	default:
		method, path := "PUT", collection
		if w.chance(50) {
			method, path = "POST", one
		}
		return func(*side) request {
			return request{method: method, path: path, body: []byte("{}"), contentType: "application/json", about: one}
		}
	}
}

func (w *walk) create(k kind, collection, name string) step {
	o := w.object(k, name)
	if w.chance(3) {
		delete(o["metadata"].(object), "name")
	}
	if w.chance(2) {
		o["metadata"].(object)["resourceVersion"] = "1"
	}
	body, kind := w.encoded(k, o)
	twice := w.chance(3) && kind == "application/json"
	if twice {
		body = []byte(strings.Replace(string(body), "{", `{"kind":"`+k.kind+`",`, 1)) // twice
	}
	query, accept := w.query(true), w.accept(false)
	return func(*side) request {
		return request{method: "POST", path: collection + query, contentType: kind, accept: accept, body: body,
			about: collection + "/" + url.PathEscape(name), prefixed: !k.namespaced, twice: twice}
	}
}

func (w *walk) list(k kind, collection string) step {
	if w.chance(12) {
		return func(s *side) request {
			path, _, _ := strings.Cut(s.listed, "?")
			if s.next == "" || path == "" {
				return request{method: "GET", path: collection + "?limit=1&continue=nonsense&labelSelector=" + w.label()}
			}
			query, _ := url.ParseQuery(strings.TrimPrefix(s.listed, path+"?"))
			query.Del("resourceVersion")
			query.Del("resourceVersionMatch")
			query.Set("continue", s.next)
			return request{method: "GET", path: path + "?" + query.Encode()}
		}
	}
	if k.namespaced && w.chance(25) {
		collection = k.path("") // of all namespaces
	}
	values := url.Values{}
	selector := w.label()
	if w.chance(30) {
		selector += w.pick(",color=red", ",color!=red", ",color in (red,green)", ",!color", ",color notin (red)", ",color in (", ",a b")
	}
	values.Set("labelSelector", selector)
	if w.chance(15) {
		values.Set("fieldSelector", w.pick("metadata.name=n1", "metadata.name!=n1", "metadata.namespace="+w.namespaces[0],
			"spec.note=red", "spec.nothing=1", "type=Opaque", "metadata.name=n1,metadata.namespace=x", "broken"))
	}
	if w.chance(35) {
		values.Set("limit", w.pick("1", "2", "3", "500", "0", "-1", "x"))
	}
	if w.chance(15) {
		values.Set("resourceVersion", w.pick("0", "1", "x", "99999999999"))
		if w.chance(50) {
			values.Set("resourceVersionMatch", w.pick("NotOlderThan", "Exact", "Nonsense"))
		}
	}
	if w.chance(3) {
		values.Set("sendInitialEvents", "true")
	}
	accept := w.accept(false)
	return func(*side) request {
		return request{method: "GET", path: collection + "?" + values.Encode(), accept: accept}
	}
}

func (w *walk) watch(k kind, collection string) step {
	initial, old, accept := w.chance(50), w.chance(10), w.accept(true)
	return func(s *side) request {
		query := "?watch=1&timeoutSeconds=2&labelSelector=" + w.label()
		switch {
		case old:
			query += "&resourceVersion=1"
		case initial:
			query += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
		case s.version != "":
			query += "&resourceVersion=" + s.version
		}
		return request{method: "GET", path: collection + query, accept: accept, watch: true}
	}
}

func (w *walk) update(k kind, one, name string) step {
	o := w.object(k, name)
	how, subresource := w.r.Intn(10), ""
	if w.chance(10) {
		subresource = "/status"
		o["status"] = object{"said": word(w.r)}
	}
	if w.chance(4) {
		o["metadata"].(object)["name"] = "another"
	}
	query, accept := w.query(true), w.accept(false)
	asYAML := w.chance(15)
	return func(s *side) request {
		metadata := o["metadata"].(object)
		delete(metadata, "resourceVersion")
		delete(metadata, "uid")
		known := s.objects[one]
		if how < 6 && known.version != "" {
			metadata["resourceVersion"] = known.version
		}
		if how == 6 {
			metadata["resourceVersion"] = "1"
		}
		if how == 7 {
			metadata["uid"] = "00000000-0000-4000-8000-000000000000"
		}
		if how == 8 && known.uid != "" {
			metadata["uid"] = known.uid
		}
		body, _ := json.Marshal(o)
		kind := "application/json"
		if asYAML {
			if out, err := yaml.JSONToYAML(body); err == nil {
				body, kind = out, "application/yaml"
			}
		}
		return request{method: "PUT", path: one + subresource + query, contentType: kind, accept: accept, body: body, about: one,
			prefixed: !k.namespaced}
	}
}

func (w *walk) patch(k kind, one, name string) step {
	query, accept := w.query(true), w.accept(false)
	var patch any
	kind := ""
	switch w.r.Intn(4) {
	case 0:
		kind = "application/json-patch+json"
		operations := []object{
			{"op": "add", "path": "/metadata/labels/added", "value": w.pick("a", "b")},
			{"op": "replace", "path": "/metadata/labels/color", "value": w.pick("red", "green")},
			{"op": "test", "path": "/metadata/name", "value": w.pick(name, name, "another")},
			{"op": "remove", "path": w.pick("/metadata/labels/added", "/metadata/annotations", "/nothing")},
			{"op": "add", "path": "/metadata/annotations", "value": object{"note": word(w.r)}},
			{"op": "copy", "from": "/metadata/labels/color", "path": "/metadata/labels/copied"},
			{"op": "move", "from": "/metadata/labels/copied", "path": "/metadata/labels/moved"},
			{"op": "nonsense", "path": "/metadata"},
			{"op": "replace", "path": "/metadata/name", "value": "another"},
			{"op": "test", "path": "/metadata/namespace", "value": w.namespaces[0]},
		}
		var chosen list
		for range 1 + w.r.Intn(3) {
			chosen = append(chosen, operations[w.r.Intn(len(operations))])
		}
		patch = chosen
	case 1, 2:
		kind = w.pick("application/merge-patch+json", "application/strategic-merge-patch+json")
		o := object{"metadata": object{"labels": object{"color": w.pick("red", "green")}}}
		if w.chance(50) {
			for key, value := range k.body(w.r) {
				o[key] = value
			}
		}
		if w.chance(20) {
			o["metadata"].(object)["annotations"] = []any{nil, object{"note": nil}, object{"note": "b"}}[w.r.Intn(3)]
		}
		if w.chance(5) {
			o["metadata"].(object)["$patch"] = w.pick("replace", "delete", "nonsense")
		}
		if w.chance(4) {
			o["nobody"] = "knows"
		}
		if w.chance(4) {
			o["metadata"].(object)["resourceVersion"] = "1"
		}
		patch = o
	default:
		kind = "application/apply-patch+yaml"
		o := w.object(k, name)
		if w.chance(90) {
			query = join(query, "fieldManager="+w.pick("a", "b"))
		}
		if w.chance(40) {
			query = join(query, "force=true")
		}
		patch = o
	}
	body, _ := json.Marshal(patch)
	if kind == "application/apply-patch+yaml" && w.chance(50) {
		if out, err := yaml.JSONToYAML(body); err == nil {
			body = out
		}
	}
	if w.chance(3) {
		kind = w.pick("application/json", "text/plain", "", "application/merge-patch+json")
	}
	return func(*side) request {
		return request{method: "PATCH", path: one + query, contentType: kind, accept: accept, body: body, about: one,
			prefixed: !k.namespaced}
	}
}

func (w *walk) remove(k kind, one string) step {
	chosen := object{}
	known := w.chance(15)
	if w.chance(20) {
		chosen["propagationPolicy"] = w.pick("Background", "Nonsense")
	}
	if w.chance(10) {
		chosen["dryRun"] = list{w.pick("All", "Nonsense")}
	}
	if w.chance(8) {
		chosen["preconditions"] = object{"uid": "00000000-0000-4000-8000-000000000000"}
	}
	if w.chance(4) {
		chosen["preconditions"] = object{"resourceVersion": "1"}
	}
	if w.chance(5) {
		chosen["kind"], chosen["apiVersion"] = "DeleteOptions", w.pick("v1", "meta.k8s.io/v1", "v9")
	}
	query, accept := w.query(false), w.accept(false)
	return func(s *side) request {
		r := request{method: "DELETE", path: one + query, accept: accept, about: one, prefixed: !k.namespaced}
		options := maps.Clone(chosen)
		if uid := s.objects[one].uid; known && uid != "" {
			options["preconditions"] = object{"uid": uid}
		}
		if len(options) > 0 {
			r.body, _ = json.Marshal(options)
			r.contentType = "application/json"
		}
		return r
	}
}

func (w *walk) collection(collection string) step {
	selector := w.label() + w.pick(",color=red", ",color=green", ",color=none")
	query := w.pick("", "&dryRun=All", "&limit=1")
	accept := w.pick("application/json", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
	return func(*side) request {
		return request{method: "DELETE", path: collection + "?labelSelector=" + url.QueryEscape(selector) + query, accept: accept,
			about: collection + "?labelSelector=" + w.label()}
	}
}
