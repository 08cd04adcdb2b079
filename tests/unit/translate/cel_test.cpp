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

TEST_CASE("who asks upstream's authorizer") {
  for (const auto* asks :
       {"authorizer.path('/x').check('get').allowed()", " .authorizer.group('')", "[authorizer]",
        "object.spec.a in authorizer", "x ?authorizer : y", "r'a' + authorizer",
        "'' // authorizer?\n + authorizer", "{'a': authorizer.requestResource}"})
    CHECK_MESSAGE(cel_asks_authorizer(asks), asks);
  for (const auto* does_not :
       {"object.spec.authorizer", "'authorizer'", "\"\\\"authorizer\"", "object.a . authorizer",
        "object.spec.?authorizer.orValue('')", "x // authorizer", "authorizers", "f(x).authorizer",
        "r'\\' + 'authorizer'"})
    CHECK_FALSE_MESSAGE(cel_asks_authorizer(does_not), does_not);
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
        "has(object.metadata.namespace) && object.metadata.namespace.replace('x', 'y')"}) {
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
                           "[object.metadata.namespace, oldObject.metadata.namespace]"}) {
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
