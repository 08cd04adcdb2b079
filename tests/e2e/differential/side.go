// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// request is one step as it goes to one side.
type request struct {
	method, path        string
	contentType, accept string
	body                []byte
	about               string // what it may leave changed: an object, or a collection with its selector
	named               bool   // it reads one object
	prefixed            bool   // its object has no namespace: upstream the name has a prefix
	twice               bool   // a key stands twice in the body
	watch               bool   // ends by itself: its events are the answer
}

type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// seen is what a side last answered about one object.
type seen struct{ version, uid string }

// side is one of the two that are compared: the upstream itself, or a tenant.
type side struct {
	name    string
	word    string // in place of the mark
	base    string
	client  *http.Client
	objects map[string]seen // by path
	next    string          // continue of the last list
	listed  string          // path and query of it
	version string          // resourceVersion of the last list, to watch from
}

func newSide(name, kubeconfig string, seed int64) (*side, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = 30 * time.Second
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	// What a walk before this one has left is none of this one's.
	word := fmt.Sprintf("%.1s%d-%s", name, seed, mark)[:len(mark)]
	return &side{name: name, word: word, base: strings.TrimSuffix(config.Host, "/"), client: client, objects: map[string]seen{}}, nil
}

func (s *side) do(r request) answer {
	path := strings.ReplaceAll(r.path, mark, s.word)
	req, err := http.NewRequest(r.method, s.base+path, bytes.NewReader(bytes.ReplaceAll(r.body, []byte(mark), []byte(s.word))))
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("User-Agent", "walker/1.0")
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	response, err := s.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, bytes.ReplaceAll(body, []byte(s.word), []byte(mark)), err}
}

// must is for what the walk stands on.
func (s *side) must(method, path string, body object, fine ...int) error {
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body)
	}
	got := s.do(request{method: method, path: path, contentType: "application/json", body: text})
	if got.err != nil {
		return fmt.Errorf("%s: %s %s: %w", s.name, method, path, got.err)
	}
	for _, each := range append(fine, 200, 201) {
		if got.status == each {
			return nil
		}
	}
	return fmt.Errorf("%s: %s %s: %d %s", s.name, method, path, got.status, got.body)
}

// decode gives the documents of an answer: one, or the events of a watch.
func (a answer) decode(watch bool) ([]any, error) {
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	switch kind {
	case "application/json":
		var out []any
		decoder := json.NewDecoder(bytes.NewReader(a.body))
		decoder.UseNumber()
		for {
			var document any
			err := decoder.Decode(&document)
			if err == io.EOF {
				return out, nil
			}
			if err != nil {
				return out, fmt.Errorf("not JSON: %w", err)
			}
			out = append(out, document)
		}
	case "application/yaml":
		text, err := yaml.YAMLToJSON(a.body)
		if err != nil {
			return nil, fmt.Errorf("not YAML: %w", err)
		}
		return answer{header: http.Header{"Content-Type": {"application/json"}}, body: text}.decode(false)
	case "application/vnd.kubernetes.protobuf":
		decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(a.body, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("not protobuf: %w", err)
		}
		return jsonOf(decoded)
	case "":
		if len(a.body) == 0 {
			return nil, nil
		}
	}
	return []any{string(a.body)}, nil
}

func jsonOf(decoded runtime.Object) ([]any, error) {
	text, err := json.Marshal(decoded)
	if err != nil {
		return nil, err
	}
	return answer{header: http.Header{"Content-Type": {"application/json"}}, body: text}.decode(false)
}

// encode writes an object as a typed client does; false: the kind has no protobuf here.
func encode(o object) ([]byte, bool) {
	text, _ := json.Marshal(o)
	decoded, kind, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return nil, false
	}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		return nil, false
	}
	var out bytes.Buffer
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, kind.GroupVersion())
	if err := encoder.Encode(decoded, &out); err != nil {
		return nil, false
	}
	return out.Bytes(), true
}

// remember keeps what later steps of this side speak of.
func (s *side) remember(r request, documents []any) {
	if len(documents) == 0 {
		return
	}
	document, ok := documents[0].(object)
	if !ok || document["kind"] == "Status" {
		return
	}
	metadata, _ := document["metadata"].(object)
	version, _ := metadata["resourceVersion"].(string)
	uid, _ := metadata["uid"].(string)
	if uid != "" {
		name, _ := metadata["name"].(string)
		path, _, _ := strings.Cut(r.path, "?")
		if r.method == "POST" {
			path += "/" + name
		}
		s.objects[path] = seen{version, uid}
	} else if r.method == "GET" && version != "" {
		s.version = version
		s.next, _ = metadata["continue"].(string)
		s.listed = r.path
	}
}
