// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	pods, nodes, spaces = "/api/v1/pods", "/api/v1/nodes", "/api/v1/namespaces"
	accounts, rootMaps  = "/api/v1/serviceaccounts", "/api/v1/configmaps"
	bookmarkPause       = time.Minute
	tokenLife           = 24 * time.Hour
)

// api answers as kube-apiserver does to anybody who may do everything: every kind there could be exists, and is
// namespaced or not as the path has it. It knows no discovery, no validation, no defaults, and no pages of lists.
type api struct {
	*store
	authority string // PEM; what pods would trust
}

func newAPI(s *store, authority string) *api {
	out := &api{s, authority}
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		if _, err := out.create(target{list: spaces}, tree{"apiVersion": "v1", "kind": "Namespace", "metadata": tree{"name": name}}); err != nil {
			panic(err)
		}
	}
	return out
}

// target is what a path names.
type target struct {
	list             string // the path of the list of all namespaces
	space, name, sub string
}

func (t target) key() string { return t.space + "/" + t.name }

// targetOf: false: this is no path of objects.
func targetOf(path string) (out target, is bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := map[string]int{"api": 2, "apis": 3}[parts[0]]
	if group == 0 || len(parts) <= group {
		return out, false
	}
	rest := parts[group:]
	if rest[0] == "namespaces" && len(rest) >= 3 && rest[2] != "status" && rest[2] != "finalize" {
		out.space, rest = rest[1], rest[2:]
	}
	out.list = "/" + strings.Join(parts[:group], "/") + "/" + rest[0]
	for i, to := range []*string{&out.name, &out.sub} {
		if len(rest) > i+1 {
			*to = rest[i+1]
		}
	}
	return out, len(rest) <= 3
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, is := targetOf(r.URL.Path)
	if !is {
		switch r.URL.Path {
		case "/healthz", "/livez", "/readyz":
			healthy(w, r)
		default:
			refuse(w, notFound(r.URL.Path))
		}
		return
	}
	if r.Method == http.MethodGet && at.name == "" {
		if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
			a.watch(w, r, at)
			return
		}
		items, version := a.list(at.list, selectionOf(at.space, r.URL.Query()))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[`, version)
		for i, each := range items {
			if i > 0 {
				io.WriteString(w, ",")
			}
			w.Write(each.text)
		}
		io.WriteString(w, "]}\n")
		return
	}
	var body tree
	if text, err := io.ReadAll(r.Body); err != nil || (len(text) > 0 && json.Unmarshal(text, &body) != nil) {
		refuse(w, &failure{400, "BadRequest", "the body is no JSON"})
		return
	}
	status := http.StatusOK
	answer, err := func() ([]byte, error) {
		switch r.Method {
		case http.MethodGet:
			return text(a.read(at))
		case http.MethodPost:
			status = http.StatusCreated
			switch at.sub {
			case "":
				return text(a.create(at, body))
			case "token":
				return a.token(at, body)
			case "eviction":
				return text(a.remove(at, tree{}))
			}
		case http.MethodPut:
			return text(a.update(at, body))
		case http.MethodPatch:
			return text(a.patch(at, body, r.Header.Get("Content-Type")))
		case http.MethodDelete:
			if at.name != "" {
				return text(a.remove(at, body))
			}
		}
		return nil, &failure{405, "MethodNotAllowed", "a scripted plane does not know " + r.Method + " " + r.URL.Path}
	}()
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(answer)
}

func text(of *object, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return of.text, nil
}

func notFound(what string) error { return &failure{404, "NotFound", what + " not found"} }

func conflict(what string) error { return &failure{409, "Conflict", what + " is another one by now"} }

func refuse(w http.ResponseWriter, err error) {
	of := &failure{500, "InternalError", err.Error()}
	errors.As(err, &of)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(of.code)
	json.NewEncoder(w).Encode(tree{"kind": "Status", "apiVersion": "v1", "metadata": tree{}, "status": "Failure", "message": of.text, "reason": of.reason, "code": of.code})
}

func (a *api) read(at target) (*object, error) {
	if found := a.get(at.list, at.key()); found != nil {
		return found, nil
	}
	return nil, notFound(at.list + " " + at.key())
}

func (a *api) create(at target, body tree) (*object, error) {
	meta := child(body, "metadata")
	if at.name = word(meta, "name"); at.name == "" {
		at.name = word(meta, "generateName") + newUID()[:8]
	}
	meta["name"] = at.name
	if at.space != "" {
		if a.get(spaces, "/"+at.space) == nil {
			return nil, notFound("namespace " + at.space)
		}
		meta["namespace"] = at.space
	}
	a.admit(at, body)
	made, err := a.write(at.list, at.key(), func(old tree) (tree, error) {
		if old != nil {
			return nil, &failure{409, "AlreadyExists", at.key() + " already exists"}
		}
		return body, nil
	})
	if err == nil && at.list == spaces {
		for list, object := range map[string]tree{
			accounts: {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": tree{"name": "default"}},
			rootMaps: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": "kube-root-ca.crt"}, "data": tree{"ca.crt": a.authority}},
		} {
			if _, err := a.create(target{list: list, space: at.name}, object); err != nil {
				return nil, err
			}
		}
	}
	return made, err
}

// admit gives a new object what controllers, admission and the scheduler of a control plane would: a pod is bound to the
// first node that there is, and has the volume with a token of its account unless it says otherwise.
func (a *api) admit(at target, body tree) {
	switch at.list {
	case spaces:
		child(child(body, "metadata"), "labels")["kubernetes.io/metadata.name"] = at.name
		body["status"] = tree{"phase": "Active"}
	case pods:
		body["status"] = tree{"phase": "Pending"}
		spec := child(body, "spec")
		if spec["serviceAccountName"] == nil {
			spec["serviceAccountName"] = "default"
		}
		if spec["nodeName"] == nil {
			if all, _ := a.list(nodes, selection{}); len(all) > 0 {
				spec["nodeName"] = all[0].fields["metadata.name"]
				child(body, "status")["conditions"] = []any{tree{"type": "PodScheduled", "status": "True", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}}
			}
		}
		if spec["automountServiceAccountToken"] != false {
			mountToken(spec)
		}
	}
}

// mountToken does what kube-apiserver's plugin ServiceAccount does.
func mountToken(spec tree) {
	const volume = "kube-api-access"
	volumes, _ := spec["volumes"].([]any)
	spec["volumes"] = append(volumes, tree{"name": volume, "projected": tree{"defaultMode": 420, "sources": []any{
		tree{"serviceAccountToken": tree{"expirationSeconds": 3607, "path": "token"}},
		tree{"configMap": tree{"name": "kube-root-ca.crt", "items": []any{tree{"key": "ca.crt", "path": "ca.crt"}}}},
		tree{"downwardAPI": tree{"items": []any{tree{"path": "namespace", "fieldRef": tree{"apiVersion": "v1", "fieldPath": "metadata.namespace"}}}}}}}})
	containers, _ := spec["containers"].([]any)
	for _, each := range containers {
		if container, is := each.(tree); is {
			mounts, _ := container["volumeMounts"].([]any)
			container["volumeMounts"] = append(mounts, tree{"name": volume, "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"})
		}
	}
}

func (a *api) update(at target, body tree) (*object, error) {
	return a.write(at.list, at.key(), func(old tree) (tree, error) {
		if old == nil {
			return nil, notFound(at.list + " " + at.key())
		}
		was, wanted := child(old, "metadata"), child(body, "metadata")
		for _, name := range []string{"resourceVersion", "uid"} {
			if wanted[name] != nil && wanted[name] != "" && wanted[name] != was[name] {
				return nil, conflict(at.key())
			}
		}
		// What is written by a request of its own stays as it was.
		if at.sub == "status" {
			old["status"] = body["status"]
			return old, nil
		}
		if old["status"] != nil {
			body["status"] = old["status"]
		}
		return body, nil
	})
}

func (a *api) patch(at target, body tree, media string) (*object, error) {
	if media == "application/apply-patch+yaml" && a.get(at.list, at.key()) == nil {
		return a.create(target{list: at.list, space: at.space}, body)
	}
	return a.write(at.list, at.key(), func(old tree) (tree, error) {
		if old == nil {
			return nil, notFound(at.list + " " + at.key())
		}
		if uid := child(body, "metadata")["uid"]; uid != nil && uid != child(old, "metadata")["uid"] {
			return nil, &failure{422, "Invalid", "metadata.uid: field is immutable"}
		}
		merge(old, body, strings.HasPrefix(media, "application/strategic-merge-patch"))
		return old, nil
	})
}

// remove: what it names is gone at once, whatever its grace is: there are no kubelets, and no finalizers.
func (a *api) remove(at target, options tree) (*object, error) {
	return a.write(at.list, at.key(), func(old tree) (tree, error) {
		if old == nil {
			return nil, notFound(at.list + " " + at.key())
		}
		wanted := tree{}
		if options != nil {
			wanted = child(options, "preconditions")
		}
		for _, name := range []string{"resourceVersion", "uid"} {
			if wanted[name] != nil && wanted[name] != child(old, "metadata")[name] {
				return nil, conflict(at.key())
			}
		}
		return nil, nil
	})
}

// token gives one that is well formed and that nobody has signed.
func (a *api) token(at target, request tree) ([]byte, error) {
	if _, err := a.read(target{list: at.list, space: at.space, name: at.name}); err != nil {
		return nil, err
	}
	ends := time.Now().Add(tokenLife).UTC()
	claims, err := json.Marshal(tree{"sub": "system:serviceaccount:" + at.space + ":" + at.name, "exp": ends.Unix()})
	if err != nil {
		return nil, err
	}
	part := base64.RawURLEncoding.EncodeToString
	request["status"] = tree{"token": part([]byte(`{"alg":"RS256"}`)) + "." + part(claims) + "." + part(make([]byte, 256)), "expirationTimestamp": ends.Format(time.RFC3339)}
	return json.Marshal(request)
}

// watch tells what has become of a kind since a version, until its time is over or the client has gone.
func (a *api) watch(w http.ResponseWriter, r *http.Request, at target) {
	query := r.URL.Query()
	chosen := selectionOf(at.space, query)
	version, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	if err != nil {
		refuse(w, &failure{400, "BadRequest", "a watch of a scripted plane needs a resourceVersion"})
		return
	}
	var over <-chan time.Time
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil {
		over = time.After(time.Duration(seconds) * time.Second)
	}
	var marks <-chan time.Time
	if query.Get("allowWatchBookmarks") == "true" {
		ticker := time.NewTicker(bookmarkPause)
		defer ticker.Stop()
		marks = ticker.C
	}
	w.Header().Set("Content-Type", "application/json")
	flusher := http.NewResponseController(w)
	for begun := false; ; begun = true {
		changes, now, changed, known := a.since(at.list, version)
		if !known && !begun {
			refuse(w, &failure{410, "Expired", "the resourceVersion is too old"})
			return
		}
		if !known {
			return // the client asks again, and is told
		}
		for _, each := range changes {
			was, is := chosen.has(each.key, each.before), chosen.has(each.key, each.now)
			kind := map[[2]bool]string{{false, true}: "ADDED", {true, true}: "MODIFIED", {true, false}: "DELETED"}[[2]bool{was, is}]
			if kind != "" {
				fmt.Fprintf(w, `{"type":"%s","object":%s}`+"\n", kind, each.text)
			}
		}
		version = now
		if flusher.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-marks:
			fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d"}}}`+"\n", version)
		case <-over:
			return
		case <-r.Context().Done():
			return
		}
	}
}
