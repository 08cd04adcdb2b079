// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// longestLog is how many changes of a kind are kept for watches; who asks for what came before lists anew (410).
const longestLog = 4096

// tree is an object, as JSON has it.
type tree = map[string]any

// object is one version of an object. It is never changed.
type object struct {
	text           []byte
	labels, fields map[string]string // fields: what field selectors may name
}

type change struct {
	key         string
	before, now *object // nil: there was none, it is gone
	text        []byte  // what a watch is told
	version     uint64
}

// collection is all that the store has of one kind, in all namespaces.
type collection struct {
	objects map[string]*object // by "namespace/name"; of a kind without namespaces "/name"
	log     []change
	lost    uint64        // the version of the last change that is not in the log any more
	changed chan struct{} // closed at the next change
}

type store struct {
	mu      sync.Mutex
	version uint64
	kinds   map[string]*collection // by the path of the list of all namespaces
}

func newStore() *store { return &store{version: 1, kinds: map[string]*collection{}} }

// kind is called with the lock held.
func (s *store) kind(path string) *collection {
	if s.kinds[path] == nil {
		s.kinds[path] = &collection{objects: map[string]*object{}, changed: make(chan struct{})}
	}
	return s.kinds[path]
}

// failure is an answer of Kubernetes that is none of success.
type failure struct {
	code   int
	reason string
	text   string
}

func (f *failure) Error() string { return f.text }

// write changes the object under that key into what next makes of it, or removes it where next gives nil; `old` is nil
// where there is none, and may be changed in place. Nobody changes the store meanwhile. One that is written as it was
// keeps its version.
func (s *store) write(path, key string, next func(old tree) (tree, error)) (*object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := s.kind(path)
	before := kind.objects[key]
	var old tree
	servers := tree{} // what of metadata nobody changes
	if before != nil {
		if err := json.Unmarshal(before.text, &old); err != nil {
			return nil, err
		}
		maps.Copy(servers, child(old, "metadata"))
	}
	wanted, err := next(old)
	if err != nil {
		return nil, err
	}
	gone := wanted == nil
	if gone {
		wanted = old
	}
	meta := child(wanted, "metadata")
	if before == nil {
		meta["uid"] = newUID()
		meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	} else {
		for _, name := range []string{"uid", "creationTimestamp", "resourceVersion", "name", "namespace"} {
			if meta[name] = servers[name]; servers[name] == nil {
				delete(meta, name)
			}
		}
		if text, err := json.Marshal(wanted); err != nil || (!gone && bytes.Equal(text, before.text)) {
			return before, err
		}
	}
	meta["resourceVersion"] = strconv.FormatUint(s.version+1, 10)
	now, err := seal(wanted)
	if err != nil {
		return nil, err
	}
	if gone {
		delete(kind.objects, key)
		s.tell(kind, change{key: key, before: before, text: now.text})
	} else {
		kind.objects[key] = now
		s.tell(kind, change{key: key, before: before, now: now, text: now.text})
	}
	return now, nil
}

// tell gives a change its version and wakes the watches of its kind.
func (s *store) tell(kind *collection, what change) {
	s.version++
	what.version = s.version
	if len(kind.log) == longestLog {
		half := longestLog / 2
		kind.lost = kind.log[half-1].version
		kind.log = append([]change(nil), kind.log[half:]...)
	}
	kind.log = append(kind.log, what)
	close(kind.changed)
	kind.changed = make(chan struct{})
}

func (s *store) get(path, key string) *object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kind(path).objects[key]
}

// list gives what is chosen of a kind, in the order of keys, and the version that this is of.
func (s *store) list(path string, chosen selection) ([]*object, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := s.kind(path)
	var keys []string
	for key, each := range kind.objects {
		if chosen.has(key, each) {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	out := make([]*object, 0, len(keys))
	for _, key := range keys {
		out = append(out, kind.objects[key])
	}
	return out, s.version
}

// since gives the changes of a kind after that version, the version that they lead to, and what is closed at the next
// one. False: not all of them are known any more.
func (s *store) since(path string, version uint64) ([]change, uint64, <-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := s.kind(path)
	if version < kind.lost {
		return nil, 0, nil, false
	}
	first := sort.Search(len(kind.log), func(i int) bool { return kind.log[i].version > version })
	return append([]change(nil), kind.log[first:]...), s.version, kind.changed, true
}

func seal(whole tree) (*object, error) {
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	meta := child(whole, "metadata")
	out := &object{text: text, labels: map[string]string{}, fields: map[string]string{
		"metadata.name": word(meta, "name"), "metadata.namespace": word(meta, "namespace"),
		"spec.nodeName": word(child(whole, "spec"), "nodeName"), "status.phase": word(child(whole, "status"), "phase")}}
	for name := range child(meta, "labels") {
		out.labels[name] = word(child(meta, "labels"), name)
	}
	return out, nil
}

// child is the member of that name, which is made where there is none.
func child(of tree, name string) tree {
	if inner, ok := of[name].(tree); ok {
		return inner
	}
	inner := tree{}
	of[name] = inner
	return inner
}

func word(of tree, name string) string {
	text, _ := of[name].(string)
	return text
}

func newUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// selection is what a list or a watch asks for.
type selection struct {
	space          string // "": all
	labels, fields []requirement
}

// requirement is one of NAME=VALUE, NAME==VALUE, NAME!=VALUE and NAME.
type requirement struct {
	name, value   string
	exists, equal bool // exists: whatever the value is
}

func selectionOf(space string, query url.Values) selection {
	return selection{space, requirements(query.Get("labelSelector")), requirements(query.Get("fieldSelector"))}
}

func requirements(text string) (out []requirement) {
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' }) {
		if name, value, is := strings.Cut(part, "!="); is {
			out = append(out, requirement{name: name, value: value})
		} else if name, value, is := strings.Cut(part, "="); is {
			out = append(out, requirement{name: name, value: strings.TrimPrefix(value, "="), equal: true})
		} else {
			out = append(out, requirement{name: part, exists: true})
		}
	}
	return out
}

func (r requirement) holds(of map[string]string) bool {
	value, there := of[r.name]
	switch {
	case r.exists:
		return there
	case r.equal:
		return there && value == r.value
	}
	return !there || value != r.value
}

func (s selection) has(key string, each *object) bool {
	if each == nil || (s.space != "" && !strings.HasPrefix(key, s.space+"/")) {
		return false
	}
	for _, one := range s.labels {
		if !one.holds(each.labels) {
			return false
		}
	}
	for _, one := range s.fields {
		if !one.holds(each.fields) {
			return false
		}
	}
	return true
}
