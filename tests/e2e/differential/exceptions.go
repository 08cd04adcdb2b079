// SPDX-License-Identifier: Apache-2.0

package main

import (
	"mime"
	"reflect"
	"regexp"
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
	`the (JSON|YAML|document) |duplicate field|unknown JSON patch operation|JSON patch |a JSON patch |strconv\.|Invalid value: "x": strconv|` +
	`ListOptions\.meta\.k8s\.io "" is invalid|dryRun: |fieldValidation: |the server could not find the requested resource|` +
	`the server does not allow this method)`)

var exceptions = []exception{
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
			return path == "[0].metadata.continue" && p.listing() && a != nil && b == nil
		}},
	{reason: "lists and watches are zood's own reads, which carry no Warning about a version of an API",
		match: func(p pair, path string, a, b any) bool {
			warnings, _ := a.([]string)
			return path == "Warning" && p.listing() && len(warnings) == 1 &&
				strings.Contains(warnings[0], "is deprecated in") && reflect.ValueOf(b).Len() == 0
		}},
	{reason: "a collection of a kind that bears the tenant's prefix is deleted one by one, and told by a Status",
		match: func(p pair, _ string, _, _ any) bool {
			return p.request.method == "DELETE" && strings.Contains(p.request.about, "?") && p.direct.status == 200 &&
				p.tenant.status == 200 && strings.Contains(string(p.tenant.body), "Success")
		}},
	{reason: "the name of an object without a namespace is judged with its prefix, which makes a good name of -dash, and other words of .",
		match: func(p pair, _ string, _, _ any) bool {
			return p.request.prefixed && p.direct.status == 422 && (p.tenant.status < 300 || p.tenant.status == 422) &&
				strings.Contains(string(p.direct.body), "metadata.name")
		}},
	{reason: "a patch that is tried first is answered from the trial, as an object",
		match: func(p pair, _ string, _, _ any) bool {
			return p.request.method == "PATCH" && strings.Contains(p.request.path, "dryRun=All") &&
				strings.Contains(p.request.accept, "as=") && p.direct.status < 300 && p.tenant.status < 300
		}},
	{reason: "a patch that is tried first is tried with dryRun=All, whatever else the client has written there",
		match: func(p pair, _ string, _, _ any) bool {
			return p.request.method == "PATCH" && strings.Contains(p.request.path, "dryRun=Nonsense") && p.bothRefuse()
		}},
	{reason: "a list that is read at the newest revision does not wait for one that is yet to come",
		match: func(p pair, _ string, _, _ any) bool {
			return p.listing() && strings.Contains(p.request.path, "resourceVersion=99999999999") && p.direct.status == 504 &&
				p.tenant.status == 200
		}},
	{reason: "a Table of a watch has its revision in its rows only, and may say its columns twice",
		match: func(p pair, path string, a, b any) bool {
			return p.request.watch && strings.Contains(p.request.accept, "as=Table") &&
				(strings.HasSuffix(path, ".object.metadata.resourceVersion") && b == nil ||
					strings.HasSuffix(path, ".object.columnDefinitions") && a == nil)
		}},
	{reason: "a list in place of an object is called by the kind that lies upstream",
		match: func(p pair, path string, a, b any) bool {
			direct, _ := a.(string)
			tenant, _ := b.(string)
			return path == "[0].message" && p.bothRefuse() &&
				strings.ReplaceAll(direct, "ClusterRoleBinding", "RoleBinding") == tenant
		}},
	{reason: "the upstream lets a namespace that is not there be watched; zood asks for its namespaces first",
		match: func(p pair, _ string, _, _ any) bool {
			return p.request.watch && strings.Contains(p.request.path, "/not-there/") && p.direct.status == 200 && p.tenant.status == 403
		}},
	{reason: "how far back a watch reaches is what the cache of that kind holds, and two custom kinds have two",
		match: func(p pair, _ string, _, _ any) bool {
			return p.request.watch && strings.HasSuffix(p.request.path, "resourceVersion=1") && p.direct.status == 200 && p.tenant.status == 200
		}},
	{reason: "a refusal comes without the upstream's Warnings",
		match: func(p pair, path string, _, b any) bool {
			return path == "Warning" && p.tenant.status >= 400 && reflect.ValueOf(b).Len() == 0
		}},
	{reason: "the columns of ClusterRoleBindings are described in the words of RoleBindings",
		match: func(p pair, path string, _, _ any) bool {
			return strings.Contains(p.request.path, "/clusterrolebindings") && strings.Contains(path, ".columnDefinitions[") &&
				strings.HasSuffix(path, ".description")
		}},
	{reason: "what can be no name keeps the prefix where it is not found",
		match: func(p pair, path string, a, b any) bool {
			direct, _ := a.(string)
			tenant, _ := b.(string)
			return path == "[0].message" && p.request.prefixed && p.bothRefuse() && strings.HasSuffix(direct, " not found") &&
				strings.HasSuffix(tenant, " not found")
		}},
	{reason: "a list that is refused by the upstream comes without Retry-After",
		match: func(p pair, path string, a, b any) bool {
			return path == "Retry-After" && p.listing() && a == "1" && b == "" && p.tenant.status == 504
		}},
	{reason: "a ClusterRoleBinding without a name is refused as a RoleBinding",
		match: func(p pair, path string, a, b any) bool {
			return strings.HasPrefix(path, "[0].") && p.bothRefuse() && strings.Contains(p.request.path, "/clusterrolebindings") &&
				strings.ReplaceAll(text(a), "ClusterRoleBinding", "RoleBinding") == text(b)
		}},
	{reason: "HEAD is answered like GET, without its body",
		match: func(p pair, _ string, _, _ any) bool { return p.request.method == "HEAD" }},
}
