// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// What differs between any two clusters: identities, moments, revisions.
var (
	uids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ips      = regexp.MustCompile(`\b10(\.\d+){3}\b`)
	versions = regexp.MustCompile(`\b\d{3,}\b`)
	keys     = regexp.MustCompile(`Key: /registry/[^ ,]+`)
	ages     = regexp.MustCompile(`^(\d+[smhd])+$`)
)

// normal takes out what may differ. `key` is the member that the value stands under.
func normal(key string, value any) any {
	switch v := value.(type) {
	case object:
		out := object{}
		for name, each := range v {
			out[name] = normal(name, each)
		}
		return out
	case list:
		out := make(list, 0, len(v))
		for _, each := range v {
			out = append(out, normal(key, each))
		}
		// Entries of one second stand in the order of their managers, conflicts of an apply in none.
		conflicts := key == "causes" && strings.Contains(text(out), "FieldManagerConflict")
		if key == "managedFields" || conflicts {
			sort.SliceStable(out, func(i, j int) bool { return text(out[i]) < text(out[j]) })
		}
		return out
	case string:
		switch key {
		case "resourceVersion", "continue":
			if v == "" {
				return ""
			}
			return "<" + key + ">"
		case "message":
			v = uids.ReplaceAllString(v, "<uid>")
			v = keys.ReplaceAllString(v, "Key: <key>")
			v = ips.ReplaceAllString(v, "<ip>")
			v = versions.ReplaceAllString(v, "<number>")
		case "cells":
			if ages.MatchString(v) {
				return "<age>"
			}
		}
		return times.ReplaceAllString(uids.ReplaceAllString(v, "<uid>"), "<time>")
	}
	return value
}

// bookmarks leaves of a watch's bookmarks what the API promises: that the initial events are over. How many there are, and
// what an empty object of the kind looks like in them, is the server's choice.
func bookmarks(documents []any) list {
	out := list{}
	for _, each := range documents {
		event, _ := each.(object)
		if event["type"] != "BOOKMARK" {
			out = append(out, each)
		} else if text, _ := json.Marshal(event); bytes.Contains(text, []byte("initial-events-end")) {
			out = append(out, object{"type": "BOOKMARK", "initial-events-end": true})
		}
	}
	return out
}

func text(value any) string {
	out, _ := json.Marshal(value)
	return string(out)
}

type difference struct {
	path string // of what differs: "status", a header's name, or the place in a document
	a, b any
}

// compareAnswers gives what differs, and how many differences an exception explains.
func compareAnswers(r request, a, b answer) (out []difference, excused int) {
	p := pair{request: r, direct: a, tenant: b, refusal: b.refusal()}
	add := func(path string, x, y any) {
		for i := range exceptions {
			if exceptions[i].match(p, path, x, y) {
				exceptions[i].used++
				excused++
				return
			}
		}
		out = append(out, difference{path, x, y})
	}
	if a.err != nil || b.err != nil {
		if (a.err == nil) != (b.err == nil) {
			add("error", fmt.Sprint(a.err), fmt.Sprint(b.err))
		}
		return out, excused
	}
	if a.status != b.status {
		add("status", a.status, b.status)
	}
	kindA, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	kindB, _, _ := mime.ParseMediaType(b.header.Get("Content-Type"))
	if kindA != kindB {
		add("Content-Type", kindA, kindB)
	}
	if x, y := a.header.Values("Warning"), b.header.Values("Warning"); !reflect.DeepEqual(x, y) {
		add("Warning", x, y)
	}
	for _, name := range []string{"Retry-After", "Location", "Cache-Control"} {
		if x, y := a.header.Get(name), b.header.Get(name); x != y {
			add(name, x, y)
		}
	}
	x, errA := a.decode(r.watch)
	y, errB := b.decode(r.watch)
	if (errA == nil) != (errB == nil) {
		add("encoding", fmt.Sprint(errA), fmt.Sprint(errB))
		return out, excused
	}
	walkBoth("", normal("", bookmarks(x)), normal("", bookmarks(y)), add)
	return out, excused
}

func walkBoth(path string, a, b any, add func(string, any, any)) {
	if reflect.DeepEqual(a, b) {
		return
	}
	x, isX := a.(object)
	y, isY := b.(object)
	if isX && isY {
		names := map[string]bool{}
		for name := range x {
			names[name] = true
		}
		for name := range y {
			names[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			walkBoth(path+"."+name, x[name], y[name], add)
		}
		return
	}
	p, isP := a.(list)
	q, isQ := b.(list)
	if isP && isQ && len(p) == len(q) {
		for i := range p {
			walkBoth(fmt.Sprintf("%s[%d]", path, i), p[i], q[i], add)
		}
		return
	}
	add(path, a, b)
}
