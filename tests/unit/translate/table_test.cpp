// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/table.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <ostream>

using namespace zoo;
using namespace zoo::translate;
using nlohmann::json;
using test::tenant;

namespace {

/// One row of a kind, by column names and cells; the object carries name and namespace.
json row(std::string_view group, std::string_view resource, bool namespaced, const json& columns,
         const json& cells, const std::string& name, const std::string& name_space,
         IncludeObject include = IncludeObject::metadata) {
  const auto mapping = tenant();
  const auto* root = find_root("", resource == "namespaces" ? "Namespace" : "Pod");
  TableRewriter table(mapping, *root,
                      {std::string(group), std::string(resource), namespaced, include});
  json head = json::array();
  for (const auto& column : columns)
    head.push_back({{"name", column}});
  auto text = R"({"kind":"Table","columnDefinitions":)" + head.dump() + R"(,"rows":[)";
  REQUIRE(table.set_head(text));
  json metadata = {{"name", name}};
  if (!name_space.empty()) metadata["namespace"] = name_space;
  std::string out;
  const auto shown =
      table.row(json{{"cells", cells}, {"object", {{"metadata", metadata}}}}.dump(), out);
  REQUIRE(shown);
  return json::parse(out);
}

} // namespace

TEST_CASE("a custom resource's cells show its group and that of its owners without the prefix") {
  const auto mapping = tenant();
  TableRewriter table(mapping, custom_root(),
                      {"example.com", "things", false, IncludeObject::metadata});
  REQUIRE(table.set_head(
      R"({"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"A"},{"name":"B"},{"name":"C"}],"rows":[)"));
  std::string out;
  REQUIRE(table.row(
      R"({"cells":["t","abc123-example.com/v1","abc123-owner.org/v2","abc123-other.org/v2"],"object":)"
      R"({"metadata":{"name":"t","ownerReferences":[{"apiVersion":"abc123-owner.org/v2"}]}}})",
      out));
  // The last one is neither: it is what the tenant has written.
  CHECK(json::parse(out)["cells"] ==
        json{"t", "example.com/v1", "owner.org/v2", "abc123-other.org/v2"});
}

TEST_CASE("cells are rewritten by column and kind") {
  CHECK(row("", "namespaces", false, {"Name", "Status"}, {"abc123-a", "Active"}, "abc123-a",
            "")["cells"] == json{"a", "Active"});
  CHECK(row("storage.k8s.io", "storageclasses", false, {"Name", "Provisioner"},
            {"abc123-gold (default)", "abc123-x"}, "abc123-gold",
            "")["cells"] == json{"gold (default)", "abc123-x"});
  CHECK(row("storage.k8s.io", "storageclasses", false, {"Name", "Provisioner"},
            {"abc123-own", "zoo-inert-example.com/x"}, "abc123-own",
            "")["cells"] == json{"own", "example.com/x"});
  CHECK(row("storage.k8s.io", "storageclasses", false, {"Name"}, {"standard"}, "standard",
            "")["cells"] == json{"standard"});
  CHECK(row("", "persistentvolumeclaims", true,
            {"Name", "Volume", "StorageClass", "VolumeAttributesClass"},
            {"c", "pvc-7f0dbd40-5f0c-4ec5-b0a2-d5d9c6b1b6b5", "abc123-gold", "<unset>"}, "c",
            "abc123-a")["cells"] ==
        json{"c", "pvc-7f0dbd40-5f0c-4ec5-b0a2-d5d9c6b1b6b5", "gold", "<unset>"});
  CHECK(row("", "persistentvolumes", false, {"Name", "Claim"}, {"abc123-v", "abc123-a/c"},
            "abc123-v", "")["cells"] == json{"v", "a/c"});
  CHECK(row("", "persistentvolumes", false, {"Name", "Claim"}, {"abc123-v", "zzz999-a/c"},
            "abc123-v", "")["cells"] == json{"v", ""});
  const json bindings = {"Name", "Role", "Age", "Users", "Groups", "ServiceAccounts"};
  CHECK(row("rbac.authorization.k8s.io", "clusterrolebindings", false, bindings,
            {"zoo:crb:b", "ClusterRole/abc123-r", "1s",
             "zoo:inert:abc123:jane, zoo:inert:abc123:joe", "", "zoo:inert:abc123:default/sa"},
            "zoo:crb:b", "abc123-kube-system")["cells"] ==
        json{"b", "ClusterRole/r", "1s", "jane, joe", "", "default/sa"});
  CHECK(row("", "events", true, {"Last Seen", "Object", "Message"},
            {"1s", "namespace/abc123-a", "in abc123-a"}, "e",
            "abc123-default")["cells"] == json{"1s", "namespace/a", "in a"});
  CHECK(row("", "events", true, {"Last Seen", "Object", "Message", "Name"},
            {"1s", "deployment/abc123-web", "abc123-web-1 abc123-team abc123-a abc123-e",
             "abc123-e.17af"},
            "abc123-e.17af", "abc123-team")["cells"][2] == "abc123-web-1 team abc123-a abc123-e");
  // A pod of that name is the tenant's own word.
  CHECK(row("", "events", true, {"Last Seen", "Object"}, {"1s", "pod/abc123-a"}, "e",
            "abc123-default")["cells"][1] == "pod/abc123-a");
  CHECK(row("", "pods", true, {"Name", "Ready", "Restarts"}, {"abc123-p", "1/1", 3}, "abc123-p",
            "abc123-a")["cells"] == json{"abc123-p", "1/1", 3});
  CHECK(row("example.com", "foos", true, {"Name", "NS", "Spec"}, {"x", "abc123-a", "abc123-b"}, "x",
            "abc123-a")["cells"] == json{"x", "a", "abc123-b"});
}

TEST_CASE("objects of rows are dropped where nobody asked, and what is no row is refused") {
  const auto mapping = tenant();
  TableRewriter table(mapping, *find_root("", "Pod"), {"", "pods", true, IncludeObject::none});
  REQUIRE(table.set_head(R"([{"name":"Name"}])"));
  std::string out;
  CHECK(table.row(R"({"cells":["p"],"object":{"metadata":{"name":"p","namespace":"abc123-a"}}})",
                  out));
  CHECK(json::parse(out) == json{{"cells", {"p"}}, {"object", nullptr}});
  for (const std::string_view bad : {"", "{}", R"({"cells":[]})", R"({"cells":[],"object":null})"})
    CHECK_FALSE(table.row(bad, out));
  CHECK_FALSE(table.set_head("{"));
  CHECK_FALSE(table.set_head("{}"));
}

TEST_CASE("a bookmark among Tables is a Table") {
  const auto mapping = tenant();
  const auto mark = [&](IncludeObject include, bool columns, bool last) {
    TableRewriter table(mapping, *find_root("", "Pod"), {"", "pods", true, include});
    if (columns) {
      REQUIRE(
          table.take_columns(R"([{"name":"Name","type":"string"},{"name":"N","type":"integer"},)"
                             R"({"name":"Is","type":"boolean"}])"));
    }
    const auto first = json::parse(table.bookmark("v1", "Pod", "7", last));
    CHECK(first["type"] == "BOOKMARK");
    if (columns) CHECK(first["object"]["columnDefinitions"].size() == 3);
    const auto second = json::parse(table.bookmark("v1", "Pod", "7", last));
    CHECK(second["object"]["columnDefinitions"] == nullptr);
    return second["object"];
  };
  const json metadata = {{"resourceVersion", "7"}};
  const auto end =
      json{{"resourceVersion", "7"}, {"annotations", {{"k8s.io/initial-events-end", "true"}}}};
  auto table = mark(IncludeObject::metadata, true, true);
  CHECK(table["kind"] == "Table");
  CHECK(table["apiVersion"] == "meta.k8s.io/v1");
  CHECK(table["metadata"] == metadata);
  CHECK(table["rows"][0]["cells"] == json{"", 0, false});
  CHECK(table["rows"][0]["object"] == json{{"kind", "PartialObjectMetadata"},
                                           {"apiVersion", "meta.k8s.io/v1"},
                                           {"metadata", end}});
  table = mark(IncludeObject::object, false, false);
  CHECK(table["rows"][0]["cells"] == json::array());
  CHECK(table["rows"][0]["object"] ==
        json{{"kind", "Pod"}, {"apiVersion", "v1"}, {"metadata", metadata}});
}

TEST_CASE("the first Table event that is sent has the columns, and its cells their rules") {
  const auto mapping = tenant();
  TableRewriter table(mapping, *find_root("rbac.authorization.k8s.io", "RoleBinding"),
                      {"rbac.authorization.k8s.io", "rolebindings", true, IncludeObject::none});
  const auto event = [&](std::string_view columns, std::string_view object,
                         std::string_view type = "ADDED") {
    return "{\"type\":\"" + std::string(type) +
           R"(","object":{"kind":"Table","columnDefinitions":)" + std::string(columns) +
           R"(,"rows":[{"cells":["b","ClusterRole/abc123-r"],"object":)" + std::string(object) +
           "}]}}";
  };
  constexpr std::string_view k_columns = R"([{"name":"Name"},{"name":"Role"}])";
  constexpr std::string_view k_own = R"({"metadata":{"name":"b","namespace":"abc123-a"}})";
  const json columns = json::parse(k_columns);
  REQUIRE(table.take_columns(k_columns)); // of one that is somebody else's
  CHECK_FALSE(table.take_columns("null"));
  const auto sent = [&](std::string_view said) {
    std::string out;
    REQUIRE(table.event(event(said, k_own), {}, out));
    return json::parse(out)["object"];
  };
  const auto first = sent("null");
  CHECK(first["columnDefinitions"] == columns);
  CHECK(first["rows"][0]["cells"] == json{"b", "ClusterRole/r"});
  CHECK(sent("null")["columnDefinitions"] == nullptr);
  CHECK(sent(k_columns)["columnDefinitions"] == nullptr);
  CHECK(table.next_columns() == "null");
  // A bookmark has no name and keeps its object.
  std::string out;
  CHECK(table.event(
      event(
          "null",
          R"({"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}})",
          "BOOKMARK"),
      {}, out));
  CHECK(json::parse(out)["object"]["rows"][0]["object"]["metadata"]["resourceVersion"] == "9");
}

TEST_CASE("the small JSON reader is strict, and its edits keep commas right") {
  for (const std::string_view bad :
       {"", "{", "[1,]", "{\"a\":1,}", "01", "1.", "\"\\x\"", "\"\n\"", "nul", "{a:1}", "1 2",
        "\"\xff\"", "[1 2]", "{\"a\" 1}", "]"}) {
    CAPTURE(bad);
    CHECK_FALSE(JsonTree::parse(bad));
  }
  const auto deep = std::string(10'000, '[') + std::string(10'000, ']');
  CHECK(JsonTree::parse(deep));
  const auto deeper = '[' + deep + ']';
  CHECK_FALSE(JsonTree::parse(deeper));
  const std::string text = R"({"a":1, "b":[1,2,3], "c":{}})";
  for (unsigned mask = 0; mask < 16; ++mask) {
    const auto tree = JsonTree::parse(text);
    REQUIRE(tree);
    JsonEdits edits;
    auto want = json::parse(text);
    const auto root = tree->root();
    for (unsigned i = 0; i < 3; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      if ((mask >> i & 1U) == 0) continue;
      edits.remove(root, root[name]);
      want.erase(name);
    }
    if ((mask & 8U) != 0) {
      edits.append(root, "d", "4");
      edits.append(root, "e", "5");
      want["d"] = 4;
      want["e"] = 5;
    }
    CHECK(json::parse(edits.apply(text)) == want);
  }
  CHECK(json_unquote(R"("\u00e9\ud83d\ude00\ud800\n")") ==
        "\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd\n");
}
