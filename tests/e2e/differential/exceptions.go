// SPDX-License-Identifier: Apache-2.0

package main

import (
	"mime"
	"regexp"
	"slices"
	"strings"
)

// pair is one step and what both sides answered.
type pair struct {
	request        request
	direct, tenant answer
	refusal        string // the message of the tenant's Status, if it is one
}

// exception is a difference that is meant to be, matched as narrowly as it can be told.
type exception struct {
	reason string
	match  func(p pair, path string, a, b any) bool
	used   int
}

func (a answer) refusal() string {
	documents, err := a.decode(false)
	if a.status < 400 || err != nil || len(documents) == 0 {
		return ""
	}
	status, _ := documents[0].(object)
	message, _ := status["message"].(string)
	return message
}

func (p pair) bothRefuse() bool {
	return p.direct.status >= 400 && p.direct.status < 500 && p.tenant.status >= 400 && p.tenant.status < 500
}

// read of more than one object.
func (p pair) listing() bool {
	return p.request.method == "GET" && p.request.about == "" && !p.request.named
}

func (p pair) media(a answer) string {
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	return kind
}

// What zood says of a request that it does not send on: it reads before the upstream does, so that where a request is
// wrong in two ways it may be the other one that is told.
var before = regexp.MustCompile(`^(only the following media types are accepted|` +
	`the body of the request was in an unknown format|the path of the URL is not canonical|continue key is not valid|` +
	`the (JSON|YAML|document) |the patch is not |duplicate field|unknown JSON patch operation|JSON patch |a JSON patch |strconv\.|Invalid value: "x": strconv|` +
	`ListOptions\.meta\.k8s\.io "" is invalid|dryRun: |fieldValidation: |the server could not find the requested resource|` +
	`the server does not allow this method)`)

// Where an object is stored and does not act as it says, zood adds a Warning of its own (gateway/notes.hpp) to upstream's.
func noted(a, b any) bool {
	upstreams, _ := a.([]string)
	tenants, _ := b.([]string)
	var rest []string
	for _, each := range tenants {
		if !strings.Contains(each, "(rule inert-classes)") && !strings.Contains(each, "(rule default-classes)") {
			rest = append(rest, each)
		}
	}
	return len(rest) < len(tenants) && slices.Equal(rest, upstreams)
}

var exceptions = []exception{
	{reason: "what is stored without effect is told by a Warning (docs/decisions/124)",
		match: func(_ pair, path string, a, b any) bool { return path == "Warning" && noted(a, b) }},
	{reason: "details that say nothing are left out",
		match: func(_ pair, path string, a, b any) bool {
			empty, ok := a.(object)
			return strings.HasSuffix(path, ".details") && ok && len(empty) == 0 && b == nil
		}},
	{reason: "no items are an empty list, not null",
		match: func(_ pair, path string, a, b any) bool {
			empty, ok := b.(list)
			return (path == "[0].items" || path == "[0].rows") && a == nil && ok && len(empty) == 0
		}},
	{reason: "answers are JSON where the client takes it beside protobuf (docs/decisions/042)",
		match: func(p pair, path string, _, b any) bool {
			return path == "Content-Type" && strings.Contains(p.request.accept, "protobuf") &&
				strings.Contains(p.request.accept, "json") && b == "application/json"
		}},
	{reason: "errors are JSON for who takes protobuf alone (docs/decisions/042)",
		match: func(p pair, path string, a, b any) bool {
			return path == "Content-Type" && p.tenant.status >= 400 && p.request.accept == "application/vnd.kubernetes.protobuf" &&
				a == "application/vnd.kubernetes.protobuf" && b == "application/json"
		}},
	{reason: "errors are YAML for who takes a Table in YAML alone",
		match: func(p pair, path string, a, b any) bool {
			return path == "Content-Type" && p.tenant.status >= 400 && strings.HasPrefix(p.request.accept, "application/yaml;as=") &&
				a == "application/json" && b == "application/yaml"
		}},
	{reason: "what zood refuses itself, it refuses in its own words, before the upstream is asked",
		match: func(p pair, path string, a, _ any) bool {
			return p.bothRefuse() && before.MatchString(p.refusal) && (path == "status" || path == "Warning" || path == "[0]" || a == "text/plain" ||
				strings.HasPrefix(path, "[0].message") || strings.HasPrefix(path, "[0].reason") ||
				strings.HasPrefix(path, "[0].code") || strings.HasPrefix(path, "[0].details"))
		}},
	{reason: "a key that stands twice is refused where a rule is near (DESIGN 5)",
		match: func(p pair, _ string, _, _ any) bool {
			return p.direct.status < 300 && p.tenant.status == 400 && p.request.twice && strings.HasPrefix(p.refusal, "duplicate field")
		}},
	{reason: "a list that zood puts together does not count what is left: the cluster's number is not the tenant's",
		match: func(_ pair, path string, _, b any) bool {
			return strings.HasSuffix(path, ".metadata.remainingItemCount") && b == nil
		}},
	{reason: "the upstream says that there is more when what follows is another's",
		match: func(p pair, path string, a, b any) bool {
			return path == "[0].metadata.continue" && (p.listing() || p.request.method == "DELETE") && a != nil && b == nil
		}},
	{reason: "the upstream says that there is more when what follows is zood's own RoleBinding",
		match: func(p pair, path string, a, b any) bool {
			return path == "[0].metadata.continue" && p.listing() && strings.Contains(p.request.path, "/rolebindings?") && a == nil && b != nil
		}},
	{reason: "a copy between places that may have rules of their own is refused (docs/decisions/084)",
		match: func(p pair, _ string, _, _ any) bool {
			return p.request.method == "PATCH" && p.tenant.status == 422 && strings.HasPrefix(p.refusal, "JSON patch ") &&
				strings.Contains(p.refusal, "cannot be translated: the two places may have different rules")
		}},
	{reason: "which ones of several mistakes in an applied object the upstream tells is chance",
		match: func(p pair, path string, a, b any) bool {
			const typed = "failed to create typed patch object ("
			direct, _, _ := strings.Cut(text(a), "): ")
			tenant, _, _ := strings.Cut(text(b), "): ")
			return path == "[0].message" && strings.HasPrefix(direct, "\""+typed) && direct == tenant &&
				(strings.Contains(text(a), "errors:") || strings.Contains(text(b), "errors:"))
		}},
	{reason: "the upstream shows the first bytes of what it was sent, where the tenant's group has its prefix",
		match: func(p pair, path string, a, b any) bool {
			direct, _, _ := strings.Cut(text(a), "' (")
			tenant, _, _ := strings.Cut(text(b), "' (")
			return path == "[0].message" && p.bothRefuse() && direct == tenant && strings.Contains(direct, " is missing in '")
		}},
	{reason: "whether a revision that is still to come is worth another try depends on whether a cache was asked for it",
		match: func(p pair, path string, _, _ any) bool {
			return p.direct.status == 504 && p.tenant.status == 504 && strings.Contains(p.request.path, "resourceVersionMatch=Exact") &&
				(path == "Retry-After" || path == "[0].details.retryAfterSeconds")
		}},
	{reason: "of a binding to no kind of role the upstream itself says 500 to who is not system:masters (registry/rbac/rolebinding/policybased)",
		match: func(p pair, _ string, _, _ any) bool {
			return p.direct.status == 422 && p.tenant.status == 500 && strings.HasPrefix(p.refusal, "unsupported role reference kind: ")
		}},
	{reason: "that a kind has no such form is told before a revision that is still to come",
		match: func(p pair, _ string, _, _ any) bool {
			return p.direct.status == 504 && p.tenant.status == 406 && strings.HasPrefix(p.refusal, "you requested PartialObjectMetadata")
		}},
	{reason: "an error that shows the whole object that is stored shows it as it is stored",
		match: func(p pair, path string, _, _ any) bool {
			return p.bothRefuse() && strings.HasSuffix(path, "message") && strings.HasPrefix(p.refusal, " \"\" is invalid: patch: Invalid value: \"{")
		}},
	{reason: "HEAD is refused whatever it is of (docs/decisions/084)",
		match: func(p pair, _ string, _, _ any) bool {
			return p.request.method == "HEAD" && p.tenant.status == 405
		}},
	{reason: "how far back a watch reaches is what the cache of that kind holds, and two custom kinds have two",
		match: func(p pair, _ string, _, _ any) bool {
			const old = "too old resource version"
			one := strings.Contains(string(p.direct.body), old) != strings.Contains(string(p.tenant.body), old)
			return p.request.watch && p.direct.status == 200 && p.tenant.status == 200 &&
				(strings.HasSuffix(p.request.path, "resourceVersion=1") || one && strings.Contains(p.request.path, "&resourceVersion="))
		}},
}
