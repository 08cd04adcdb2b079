// SPDX-License-Identifier: Apache-2.0
#include "cli/manifest.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <sstream>

using namespace zoo;
using namespace zoo::cli;

namespace {

std::string yaml(const std::string& name, const std::string& rest = "") {
  return "apiVersion: tenant.kubezoo.io/v1alpha1\nkind: Tenant\nmetadata:\n  name: " + name + "\n" +
         rest;
}

std::string json_text(const std::string& name) {
  return R"({"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant","metadata":{"name":")" +
         name + "\"}}";
}

std::vector<std::string> ids(std::string_view text) {
  const auto tenants = parse_manifests(text, "m.yaml");
  CAPTURE((tenants ? std::string() : tenants.error().text()));
  REQUIRE(tenants.has_value());
  std::vector<std::string> out;
  for (const auto& tenant : *tenants)
    out.push_back(tenant_id(tenant));
  return out;
}

Error refused(std::string_view text) {
  const auto tenants = parse_manifests(text, "m.yaml");
  REQUIRE_FALSE(tenants.has_value());
  return tenants.error();
}

using Ids = std::vector<std::string>;

} // namespace

TEST_CASE("YAML with several documents, empty ones and comments among them") {
  CHECK(ids(yaml("aaaaaa")) == Ids{"aaaaaa"});
  CHECK(ids("# first\n---\n" + yaml("aaaaaa") + "---\n# nothing\n---\n" + yaml("bbbbbb") +
            "...\n") == Ids{"aaaaaa", "bbbbbb"});
  CHECK(ids("--- {apiVersion: tenant.kubezoo.io/v1alpha1, kind: Tenant, metadata: {name: aaaaaa}}\n"
            "--- # second\n" +
            yaml("bbbbbb")) == Ids{"aaaaaa", "bbbbbb"});
  CHECK(ids(yaml("aaaaaa", "spec:\n  displayName: |\n    ---\n    x\n")) == Ids{"aaaaaa"});
  CHECK(ids("\r\n---\r\n" + yaml("aaaaaa")) == Ids{"aaaaaa"});
}

TEST_CASE("JSON values one after another, and lists") {
  CHECK(ids(json_text("aaaaaa")) == Ids{"aaaaaa"});
  CHECK(ids("\n" + json_text("aaaaaa") + json_text("bbbbbb") + "\n") == Ids{"aaaaaa", "bbbbbb"});
  CHECK(ids(R"({"kind":"List","apiVersion":"v1","items":[)" + json_text("aaaaaa") + "," +
            json_text("bbbbbb") + "]}") == Ids{"aaaaaa", "bbbbbb"});
}

TEST_CASE("IDs that look like numbers must be quoted, and then stay text") {
  for (const std::string id : {"123456", "1e1000", "0x1f2e", "000777", "1_0000"}) {
    CHECK(ids(yaml("\"" + id + "\"")) == Ids{id});
    CHECK(ids(json_text(id)) == Ids{id});
  }
  CHECK(refused(yaml("123456")).text().find("quote") != std::string::npos);
}

TEST_CASE("KubeZoo's manifests are taken, fields are passed on as written") {
  const auto tenants =
      parse_manifests(yaml("aaaaaa", "spec:\n  id: 0\n  later: [1]\nstatus: {}\n"), "m.yaml");
  REQUIRE(tenants.has_value());
  CHECK((*tenants)[0]["spec"]["id"] == 0);
  CHECK((*tenants)[0]["spec"]["later"][0] == 1);
}

TEST_CASE("what is wrong is said with the file and the document") {
  CHECK(refused("").code() == Code::usage);
  CHECK(refused("# only\n---\n").code() == Code::usage);
  CHECK(refused("a: [").text().find("m.yaml") != std::string::npos);
  CHECK(refused("- a\n").text().find("a manifest is an object with apiVersion and kind, not an "
                                     "array") != std::string::npos);
  CHECK(refused("{\"a\":1,}").code() == Code::bad_request);
  CHECK(refused("{\"a\":1").code() == Code::bad_request);
  CHECK(refused("{\"kind\":\"Tenant\",\"kind\":\"Tenant\"}").text().find("twice") !=
        std::string::npos);
  CHECK(refused(std::string(9000, '{')).code() == Code::bad_request);
  std::string deep;
  for (int i = 0; i < 10000; ++i)
    deep += "{\"a\":";
  CHECK(refused(deep).text().find("deep") != std::string::npos);
  CHECK(refused("apiVersion: apps/v1\nkind: Deployment\n").text().find("Deployment") !=
        std::string::npos);
  CHECK(refused("apiVersion: tenant.kubezoo.io/v1alpha1\nkind: Tenant\nmetadata: {}\n").code() ==
        Code::invalid);
  const auto second = refused(yaml("aaaaaa") + "---\n" + yaml("bbbbbb", "spec: [\n"));
  CHECK(second.text().find("document 2 of m.yaml") != std::string::npos);
  const auto kind = refused(yaml("aaaaaa", "spec: {suspended: maybe}\n"));
  CHECK(kind.text().find("spec.suspended") != std::string::npos);
}

TEST_CASE("standard input, and files that are not there") {
  std::istringstream input(yaml("aaaaaa"));
  CHECK(read_manifests("-", input)->size() == 1);
  CHECK(read_manifests("/nowhere/x.yaml", input).error().code() == Code::not_found);
}
