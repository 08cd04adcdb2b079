// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/query.hpp"
#include "daemon/translate/selector.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>

#include <ostream>

using namespace zoo;
using namespace zoo::translate;
using test::tenant;

TEST_CASE("a query keeps repeats and order") {
  const auto params = parse_query("command=sh&command=-c&x=a+b%26c&empty=&bare&u=%C3%A9");
  REQUIRE(params);
  CHECK(*params == Params{{"command", "sh"},
                          {"command", "-c"},
                          {"x", "a b&c"},
                          {"empty", ""},
                          {"bare", ""},
                          {"u", "\xc3\xa9"}});
  CHECK(serialize_query(*params) == "command=sh&command=-c&x=a+b%26c&empty=&bare=&u=%C3%A9");
  CHECK(*parse_query(serialize_query(*params)) == *params);
  for (const std::string_view bad : {"a=%", "a=%1", "a=%gg", "a;b=1", "a=%ff", "a=%00"})
    CHECK_FALSE(parse_query(bad));
  std::string many;
  for (int i = 0; i < 1001; ++i)
    many += "a=1&";
  CHECK_FALSE(parse_query(many));
}

TEST_CASE("list options are validated as the API server does") {
  const auto code = [](std::string_view query) {
    const auto options = parse_list_options(*parse_query(query));
    return options ? Code::cancelled : options.error().code();
  };
  CHECK(code("limit=5&resourceVersion=7&resourceVersionMatch=Exact") == Code::cancelled);
  CHECK(code("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan") ==
        Code::cancelled);
  for (const std::string_view bad :
       {"limit=x", "limit=99999999999999999999", "timeoutSeconds=1s", "resourceVersion=abc",
        "resourceVersion=-1", "continue=x&resourceVersion=5"})
    CHECK(code(bad) == Code::bad_request);
  for (const std::string_view bad :
       {"resourceVersionMatch=Exact", "resourceVersion=1&resourceVersionMatch=Newest",
        "resourceVersion=0&resourceVersionMatch=Exact", "sendInitialEvents=true",
        "watch=1&sendInitialEvents=true", "watch=1&resourceVersionMatch=NotOlderThan",
        "resourceVersion=1&resourceVersionMatch=Exact&continue=x"})
    CHECK(code(bad) == Code::invalid);
  const auto huge = *parse_list_options(*parse_query("resourceVersion=18446744073709551615"));
  CHECK(huge.resource_version == "9223372036854775807"); // too large for any list, not for a sign
  const auto options = *parse_list_options(*parse_query("limit=-3&resourceVersion=007"));
  CHECK(options.limit == 0);
  CHECK(options.resource_version == "7");
  const auto match = [](std::string_view query) {
    return (*parse_list_options(*parse_query(query))).match;
  };
  CHECK(match("limit=2&resourceVersion=7") == VersionMatch::exact);
  for (const std::string_view other : {"resourceVersion=7", "limit=2&resourceVersion=0", "limit=2",
                                       "limit=2&continue=x", "watch=1&limit=2&resourceVersion=7"})
    CHECK(match(other) == VersionMatch::none);
}

TEST_CASE("write options allow dryRun=All only") {
  const auto parse = [](std::string_view query, bool patch = false, bool apply = false) {
    return parse_write_options(*parse_query(query), patch, apply);
  };
  CHECK(parse("dryRun=All")->dry_run);
  CHECK_FALSE(parse("dryRun=Some"));
  CHECK_FALSE(parse("dryRun="));
  CHECK_FALSE(parse("fieldValidation=Loud"));
  CHECK_FALSE(parse("fieldManager=" + std::string(129, 'a')));
  CHECK_FALSE(parse("fieldManager=a%0ab"));
  CHECK_FALSE(parse("force=true", true, false));
  CHECK_FALSE(parse("", true, true));
  CHECK(parse("fieldManager=me&force=1", true, true)->force);
}

TEST_CASE("field selectors translate the values that are names") {
  const auto mapping = tenant();
  const auto in = [&](std::string_view group, std::string_view resource, bool namespaced,
                      std::string_view name_space, std::string_view text) {
    const auto out = field_selector_in(mapping, {group, resource, namespaced, name_space}, text);
    return out ? *out : "error: " + out.error().message();
  };
  CHECK(in("", "pods", true, "", "metadata.name=x,metadata.namespace!=kube-system") ==
        "metadata.name=x,metadata.namespace!=abc123-kube-system");
  CHECK(in("", "namespaces", false, "", "metadata.name==a,status.phase=Active") ==
        "metadata.name=abc123-a,status.phase=Active");
  CHECK(in("", "pods", true, "", "spec.nodeName=n\\,1\\=\\\\") == "spec.nodeName=n\\,1\\=\\\\");
  CHECK(in("rbac.authorization.k8s.io", "clusterrolebindings", false, "", "metadata.name=b") ==
        "metadata.name=zoo:crb:b");
  CHECK(in("", "events", true, "default",
           "involvedObject.name=a,involvedObject.kind=Namespace,involvedObject.namespace=") ==
        "involvedObject.name=abc123-a,involvedObject.kind=Namespace,"
        "involvedObject.namespace=abc123-default");
  CHECK(in("", "events", true, "", "involvedObject.namespace=,involvedObject.uid=1") ==
        "involvedObject.uid=1");
  CHECK(in("events.k8s.io", "events", true, "a",
           "regarding.name=p,regarding.kind=Pod,regarding.namespace=a") ==
        "regarding.name=p,regarding.kind=Pod,regarding.namespace=abc123-a");
  CHECK(in("", "events", true, "a", "involvedObject.apiVersion=example.com/v1") ==
        "involvedObject.apiVersion=abc123-example.com/v1");
  // A definition may name it among its selectable fields.
  CHECK(in("example.com", "foos", true, "", "apiVersion=example.com/v1") ==
        "apiVersion=abc123-example.com/v1");
  CHECK(in("shared.example.org", "foos", true, "", "apiVersion=shared.example.org/v1") ==
        "apiVersion=shared.example.org/v1");
  // Outside events the same words are somebody's own fields.
  CHECK(in("example.com", "foos", true, "a", "involvedObject.namespace=a") ==
        "involvedObject.namespace=a");
  for (const std::string_view bad : {"a", "a=b=c", "a=b\\x", "a=\\"})
    CHECK_FALSE(field_selector_in(mapping, {"", "pods", true, ""}, bad));
  for (const std::string_view text :
       {"metadata.namespace=a", "metadata.namespace!=b,spec.nodeName=n",
        "apiVersion=example.com/v1", ""}) {
    const SelectorScope scope{"", "pods", true, ""};
    CHECK(*field_selector_out(mapping, scope, *field_selector_in(mapping, scope, text)) == text);
    const SelectorScope own{"example.com", "foos", true, ""};
    CHECK(*field_selector_out(mapping, own, *field_selector_in(mapping, own, text)) == text);
  }
}

TEST_CASE("label selectors have the whole grammar") {
  const auto same = [](std::string_view text) {
    const auto parsed = parse_label_selector(text);
    return parsed ? serialize_label_selector(*parsed) : "error: " + parsed.error().message();
  };
  CHECK(same("") == "");
  CHECK(same("a") == "a");
  CHECK(same(" ! a , b=c,d==e , f != g") == "!a,b=c,d==e,f!=g");
  CHECK(same("x in (foo,,baz),y,z notin ()") == "x in (,baz,foo),y,z notin ()");
  CHECK(same("in in (in, notin)") == "in in (in,notin)");
  CHECK(same("example.com/k>1,l<2") == "example.com/k>1,l<2");
  CHECK(same("a=") == "a=");
  for (const std::string_view bad :
       {"a b", ",", "a,", "a in", "a in (", "a in (b", "a in (b c)", "=a", "a!", "-a", "a/",
        "A.B/c", "a=-b", "a>x", "a in b", "a===b", "!a=b", "a/b/c", "()"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_label_selector(bad));
  }
  CHECK_FALSE(parse_label_selector(std::string(64, 'a')));
  for (const std::string_view text : {"a", "!a", "a=b", "a in (b,c)", "a notin (b)", "a>1"}) {
    const auto parsed = *parse_label_selector(text);
    CHECK(*parse_label_selector(serialize_label_selector(parsed)) == parsed);
  }
}

TEST_CASE("a label fulfils a requirement, or not") {
  const auto fulfilled = [](std::string_view text, std::optional<std::string_view> value) {
    return fulfils(parse_label_selector(text).value().at(0), value);
  };
  for (const auto* text :
       {"a", "a=1", "a==1", "a in (1,2)", "a!=2", "a notin (2,3)", "a>0", "a<2"}) {
    CAPTURE(text);
    CHECK(fulfilled(text, "1"));
  }
  for (const auto* text :
       {"!a", "a=2", "a==2", "a in (2,3)", "a!=1", "a notin (1,2)", "a>1", "a<1"}) {
    CAPTURE(text);
    CHECK_FALSE(fulfilled(text, "1"));
  }
  for (const auto* text : {"!a", "a!=1", "a notin (1)"}) {
    CAPTURE(text);
    CHECK(fulfilled(text, std::nullopt));
  }
  for (const auto* text : {"a", "a=1", "a in (1)", "a>0", "a<2"}) {
    CAPTURE(text);
    CHECK_FALSE(fulfilled(text, std::nullopt));
  }
  CHECK_FALSE(fulfilled("a>0", "one")); // no number
}

TEST_CASE("namespaces are selected within the tenant") {
  const auto mapping = tenant();
  const SelectorScope namespaces{"", "namespaces", false, ""};
  const auto in = [&](std::string_view text) {
    const auto out = label_selector_in(mapping, namespaces, text);
    return out ? *out : "error";
  };
  CHECK(in("") == "tenant.kubezoo.io/id=abc123");
  CHECK(in("kubernetes.io/metadata.name in (a,b),x=y") ==
        "kubernetes.io/metadata.name in (abc123-a,abc123-b),x=y,tenant.kubezoo.io/id=abc123");
  CHECK(*label_selector_out(mapping, namespaces, in("kubernetes.io/metadata.name!=a")) ==
        "kubernetes.io/metadata.name!=a");
  CHECK(in("tenant.kubezoo.io/id=zzz999") == "error");
  CHECK(in("!tenant.kubezoo.io/id") == "error");
  CHECK(in("kubernetes.io/metadata.name=" + std::string(57, 'a')) == "error");
  const SelectorScope pods{"", "pods", true, "a"};
  CHECK(*label_selector_in(mapping, pods, "app=web") == "app=web");
  CHECK_FALSE(label_selector_in(mapping, pods, "tenant.kubezoo.io/id"));
  CHECK(*label_selector_in(tenant(""), namespaces, "a=b") == "a=b");
}
