// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/cel.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace zoo::translate;

namespace {

const Mapping mapping("foofoo", std::make_shared<const SharedNames>());

std::string in(std::string_view text) { return cel_in(mapping, text); }
std::string out(std::string_view text) { return cel_out(mapping, text); }

} // namespace

TEST_CASE("CEL that reads the name of a namespace reads the tenant's") {
  CHECK(in("object.metadata.namespace == 'a'") ==
        "dyn(object.metadata.namespace.replace('foofoo-', '', 1)) == 'a'");
  CHECK(in("namespaceObject.metadata.name=='a'") ==
        "namespaceObject.metadata.name.replace('foofoo-', '', 1)=='a'");
  CHECK(in("request . namespace in ['a']") ==
        "request . namespace.replace('foofoo-', '', 1) in ['a']");
  CHECK(in("oldObject.metadata.namespace + params.metadata.namespace") ==
        "dyn(oldObject.metadata.namespace.replace('foofoo-', '', 1)) + "
        "dyn(params.metadata.namespace.replace('foofoo-', '', 1))");
  CHECK(in("object.metadata.namespace.startsWith('a')") ==
        "dyn(object.metadata.namespace.replace('foofoo-', '', 1)).startsWith('a')");
}

TEST_CASE("CEL that only looks like it is left alone") {
  for (const auto* text :
       {"object.spec.replicas > 1", "has(object.metadata.namespace)",
        "has( object.metadata.namespace ) && true", "'object.metadata.namespace'",
        "\"request.namespace\" == r'\\' + 'x'", "'''it's request.namespace'''",
        "true // object.metadata.namespace", "object.metadata.namespaces", "myobject.metadata.name",
        "variables.object.metadata.namespace", "variables . request.namespace",
        "object.metadata.namespace(1)", "object.metadata.name", "request.namespace_", "'open",
        "b'request.namespace'", "object.metadata", "'a\\'request.namespace'", ""}) {
    CAPTURE(text);
    CHECK(in(text) == text);
  }
}

TEST_CASE("CEL that reads a group reads the tenant's") {
  const std::string cut = ".replace('foofoo-', '', 1)";
  const std::string any = ")].map(zoo, type(zoo) == string && zoo.startsWith('foofoo-') ? "
                          "dyn(zoo.substring(7)) : zoo)[0]";
  const std::string list = ")].map(zoo, type(zoo) == list ? dyn(zoo.map(each, type(each) == string "
                           "&& each.startsWith('foofoo-') ? dyn(each.substring(7)) : each)) : "
                           "zoo)[0]";
  const std::string optional = ".optMap(all, [dyn(all" + any + ")";
  CHECK(in("request.kind.group == 'sql.widgets.test'") ==
        "request.kind.group" + cut + " == 'sql.widgets.test'");
  CHECK(in("request.resource.group+request.requestKind . group+request.requestResource.group") ==
        "request.resource.group" + cut + "+request.requestKind . group" + cut +
            "+request.requestResource.group" + cut);
  CHECK(in("object.apiVersion in ['a'] && oldObject.apiVersion == params.apiVersion") ==
        "dyn(object.apiVersion" + cut + ") in ['a'] && dyn(oldObject.apiVersion" + cut +
            ") == dyn(params.apiVersion" + cut + ")");
  CHECK(in("o.exists(x, x.apiVersion == 'a')") ==
        "o.exists(x, [dyn(x.apiVersion" + any + " == 'a')");
  CHECK(in("object.metadata.ownerReferences[0].apiVersion") ==
        "[dyn(object.metadata.ownerReferences[0].apiVersion" + any);
  CHECK(in("'a' in (f(object).b{c: 1}[0]).apiVersion") ==
        "'a' in [dyn((f(object).b{c: 1}[0]).apiVersion" + any);
  CHECK(in("variables.o['apiVersion']") == "[dyn(variables.o['apiVersion']" + any);
  CHECK(in("object.spec.ref.apiGroup == ''") == "[dyn(object.spec.ref.apiGroup" + any + " == ''");
  CHECK(in("'a' in r.apiGroups") == "'a' in [dyn(r.apiGroups" + list);
  CHECK(in("request.kind.?group.orValue('')") == "request.kind.?group" + optional + ".orValue('')");
  CHECK(in("request.?kind.group.orValue('')") == "request.?kind.group" + optional + ".orValue('')");
  CHECK(in("object.?metadata.ref[?0].apiVersion.hasValue()") ==
        "object.?metadata.ref[?0].apiVersion" + optional + ".hasValue()");
  CHECK(in("object.?spec.orValue(x).apiVersion") ==
        "[dyn(object.?spec.orValue(x).apiVersion" + any);
  CHECK(in("a.apiVersion.apiVersion") == "[dyn([dyn(a.apiVersion" + any + ".apiVersion" + any);
  for (const auto* text :
       {"has(object.apiVersion)", "request.kind.kind", "request.kind.version", "x.kind.group",
        "object.spec.group", "'object.apiVersion'", "r'a'.apiVersion()", "apiVersion",
        "{'apiVersion': 1}", "Object{apiVersion: 'apps/v1'}", "object.apiVersions",
        "request.kind.groups", "// object.apiVersion"}) {
    CAPTURE(text);
    CHECK(in(text) == text);
  }
}

TEST_CASE("CEL of a definition reads its objects' apiVersion without the prefix") {
  const std::string cut = ".replace('foofoo-', '', 1)";
  const auto object = [&](std::string_view text, bool optional_old = false) {
    const auto place = optional_old ? CelPlace::object_optional_old : CelPlace::object;
    const auto stored = cel_in(mapping, text, place);
    CHECK(cel_out(mapping, stored, place) == text);
    return stored;
  };
  CHECK(object("self.apiVersion == 'a/v1' || oldSelf . apiVersion == ''") ==
        "self.apiVersion" + cut + " == 'a/v1' || oldSelf . apiVersion" + cut + " == ''");
  for (const auto* text : {"self.spec.ref.apiVersion == 'a/v1'", "self.refs[0].apiVersion == 'x'",
                           "has(self.apiVersion)", "self.kind == 'Widget'", "apiVersion.self",
                           "self.refs.all(r, r.apiVersion == 'apps/v1')"})
    CHECK(object(text) == text);
  CHECK(object("[self].all(o, o.apiVersion == 'a/v1')")
            .starts_with("[self].all(o, [dyn(o.apiVersion)].map("));
  CHECK(object("oldSelf.apiVersion.orValue('')", true)
            .starts_with("oldSelf.apiVersion.optMap(all, "));
  CHECK(object("oldSelf.value().apiVersion == 'a'", true)
            .starts_with("[dyn(oldSelf.value().apiVersion)].map("));
  const auto version = [&](std::string_view text, bool optional_old = false) {
    const auto place = optional_old ? CelPlace::api_version_optional_old : CelPlace::api_version;
    const auto stored = cel_in(mapping, text, place);
    CHECK(cel_out(mapping, stored, place) == text);
    return stored;
  };
  CHECK(version("self == oldSelf && 'self' != self") ==
        "self" + cut + " == oldSelf" + cut + " && 'self' != self" + cut);
  CHECK(version("oldSelf.hasValue()", true).starts_with("oldSelf.optMap(all, "));
  CHECK(version("x.self") == "x.self");
}

TEST_CASE("what no cut makes right is refused with the way out") {
  const auto refused = [](std::string_view text, bool mutates = false) {
    return cel_refusal(text, mutates).find("(rule expression-groups)") != std::string_view::npos;
  };
  for (const auto* text :
       {"request.kind == x", "[request.resource].exists(k, k.group == 'a')", "[request]",
        "(request).kind.group", "request.?requestKind.orValue(x)", "request['kind']"})
    CHECK_MESSAGE(refused(text), text);
  for (const auto* text :
       {"request.kind.group == 'a'", "has(request.kind)", "request.?kind.?group.orValue('')",
        "object.request", "request.operation == 'CREATE'", "Object.spec{request: 1}", "'request'",
        "object != null && object != oldObject", "request.userInfo.username == 'a'"})
    CHECK_MESSAGE(cel_refusal(text, false).empty(), text);
  std::string chain = "a";
  for (int i = 0; i < 200; ++i)
    chain += ".apiVersion";
  CHECK(refused(chain));
  const std::string owner = "Object{metadata: Object.metadata{ownerReferences: "
                            "[Object.metadata.ownerReferences{apiVersion: ";
  for (const auto& text :
       {owner + "'sql.widgets.test/v1'}]}}", owner + "object.apiVersion}]}}",
        owner + "'apps/' + 'v1'}]}}", std::string("Object{apiVersion: 'sql.widgets.test/v2'}"),
        std::string("[JSONPatch{op: 'add', path: '/metadata/ownerReferences/-', value: "
                    "{'apiVersion': 'sql.widgets.test/v1'}}]")}) {
    CHECK_MESSAGE(refused(text, true), text);
    CHECK_MESSAGE(!refused(text, false), text);
  }
  for (const auto& text :
       {owner + "'apps/v1', kind: 'Deployment'}]}}", owner + "'v1'}]}}",
        std::string("Object{spec: Object.spec{ref: Object.spec.ref{apiVersion: 'a.b/v1'}}}"),
        std::string("[JSONPatch{op: 'add', path: '/spec/ref', value: {'apiVersion': 'a.b/v1'}}]")})
    CHECK_MESSAGE(!refused(text, true), text);
}

TEST_CASE("who asks upstream's authorizer") {
  for (const auto* asks :
       {"authorizer.path('/x').check('get').allowed()", " .authorizer.group('')", "[authorizer]",
        "object.spec.a in authorizer", "x ?authorizer : y", "r'a' + authorizer",
        "'' // authorizer?\n + authorizer", "{'a': authorizer.requestResource}"})
    CHECK_MESSAGE(cel_refusal(asks, false).starts_with("asks 'authorizer'"), asks);
  for (const auto* does_not :
       {"object.spec.authorizer", "'authorizer'", "\"\\\"authorizer\"", "object.a . authorizer",
        "object.spec.?authorizer.orValue('')", "x // authorizer", "authorizers", "f(x).authorizer",
        "r'\\' + 'authorizer'"})
    CHECK_MESSAGE(cel_refusal(does_not, false).empty(), does_not);
}

TEST_CASE("CEL comes back as it was written") {
  for (const auto* text :
       {"object.metadata.namespace == 'a' && request.namespace != \"b\"",
        "ahas(object.metadata.namespace)",
        "object.metadata.namespace.replace('foofoo-', '', 1) == 'a'",
        "dyn(object.metadata.namespace) == 'a'", "dyn(request.namespace) == 'a'",
        "dyn(namespaceObject.metadata.name)",
        "dyn(object.metadata.namespace.replace('foofoo-', '', 1)) == 'a'",
        "namespaceObject\n .metadata . name\n  == 'x' // request.namespace\n || true",
        "has(object.metadata.namespace) && object.metadata.namespace.replace('x', 'y')",
        "object.apiVersion == 'sql.widgets.test/v1'",
        "dyn(object.apiVersion.replace('foofoo-', '', 1)) == 'a'",
        "[dyn(o.apiVersion)].map(zoo, o.apiVersion)[0]", "a.?b.apiVersion.c.apiVersion",
        "a.apiVersion[?0].apiGroups.or(b).apiGroup", "(a.apiVersion].apiVersion",
        "[a.apiVersion {b['apiGroup'] 'open", "request.kind.group+request.?resource.?group",
        "request.kind.group.replace('foofoo-', '', 1)"}) {
    CAPTURE(text);
    CHECK(in(text) != text);
    CHECK(out(in(text)) == text);
  }
  const Mapping none("", std::make_shared<const SharedNames>());
  CHECK(cel_in(none, "request.namespace") == "request.namespace");
}

TEST_CASE("text that repeats an expression shows the tenant's own") {
  const auto shown = [](std::string_view text) { return cel_text_out(mapping, text); };
  for (const auto* text : {"object.metadata.namespace == 'a'", "a && request.namespace != \"b\"",
                           "namespaceObject\n .metadata . name\n  == 'x'",
                           "[object.metadata.namespace, oldObject.metadata.namespace]",
                           "object.apiVersion == 'x' && request.kind.group == ''",
                           "object.a.all(o, (o.b[0]).apiVersion == f(o.apiGroups))",
                           "object.?spec.apiVersion.orValue('') == [a, b].apiGroups[0]"}) {
    CAPTURE(text);
    CHECK(in(text) != text);
    CHECK(shown("failed expression: " + in(text)) == "failed expression: " + std::string(text));
  }
  // A column is that of the line as it was written; a place within what was added is its end.
  const auto error = [](std::string_view line, int column, std::string_view where) {
    return "spec: Invalid value: \"" + std::string(line) +
           "\": failed: ERROR: <input>:1:" + std::to_string(column) + ": Syntax error: '= '\n | " +
           std::string(line) + "\n | " + std::string(where) + "^\nERROR: <input>:2:1: x";
  };
  const std::string own = "object.metadata.namespace = 'x'";
  CHECK(shown(error(in(own), 58, std::string(57, '.'))) == error(own, 27, std::string(26, '.')));
  CHECK(shown(error(in(own), 40, std::string(39, '.'))) == error(own, 26, std::string(25, '.')));
  CHECK(shown(error(in(own), 1, "")) == error(own, 1, ""));
  const std::string wide = "'\u00fc' + request.namespace + 1";
  CHECK(shown(error(in(wide), 51, std::string(50, '.'))) == error(wide, 25, std::string(24, '.')));
  for (const auto* text : {"<input>:1:2: x\n | y", "<input>:", "<input>:1:\n | ", "", "\n\n",
                           "replace('foofoo-', '', 1)", "<input>:1:99: x\n | a\n | ."})
    CHECK(shown(text) == text);
  // A megabyte of them, as a status may have it, is read once.
  std::string many;
  for (int i = 0; i < 50'000; ++i)
    many += ".replace('foofoo-', '', 1)";
  CHECK(shown(many).empty());
  // Whatever stands around one, nothing more is taken away.
  CHECK(shown("<input>:1:x\n | a.replace('foofoo-', '', 1)") == "<input>:1:x\n | a");
  CHECK(shown("<input>:1:99: x\n | a.replace('foofoo-', '', 1)") == "<input>:1:73: x\n | a");
}

TEST_CASE("an expression that upstream is going to refuse for its length is left alone") {
  std::string chain = "object.metadata.namespace == 'a' && a";
  while (chain.size() < 100'000)
    chain += ".b";
  CHECK(in(chain) == chain);
  // Code points are counted, not bytes.
  std::string wide = "object.metadata.namespace == '";
  while (wide.size() < 150'000)
    wide += "\xc3\xa4";
  CHECK(in(wide + "'") != wide + "'");
}
