// SPDX-License-Identifier: Apache-2.0
#include "common/templates/objects.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::templates;
using nlohmann::json;

namespace {

json object(const std::string& kind, const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", kind}, {"metadata", {{"name", name}}}};
}

std::string refused(std::vector<json> objects) {
  const auto done = prepare_objects(std::move(objects), "web");
  REQUIRE_FALSE(done);
  return done.error().message();
}

} // namespace

TEST_CASE("T6 objects are taken out of a stream and out of lists") {
  const auto read = objects_of_yaml("# a chart\n---\nkind: A\n---\n# nothing\n---\n---\nkind: "
                                    "B\ndata:\n  x: |\n    ---\n    y\n");
  REQUIRE(read);
  REQUIRE(read->size() == 2);
  CHECK((*read)[1]["data"]["x"] == "---\ny\n");
  CHECK(objects_of_yaml("")->empty());
  CHECK_FALSE(objects_of_yaml("- a\n"));
  CHECK_FALSE(objects_of_yaml("a: b: c\n"));
  CHECK_FALSE(objects_of_yaml(std::string(k_most_bytes + 1, ' ')));

  json list = {{"apiVersion", "v1"},
               {"kind", "List"},
               {"items", {object("ConfigMap", "a"), object("ConfigMap", "b")}}};
  const auto done = prepare_objects({std::move(list), object("Secret", "s")}, "web");
  REQUIRE(done);
  REQUIRE(done->size() == 3);
  CHECK((*done)[0]["kind"] == "Secret"); // as Helm orders them
  CHECK((*done)[1]["metadata"] == json{{"name", "a"}, {"namespace", "web"}});
}

TEST_CASE("an object is refused that is not the namespace's, or not the template's to make") {
  auto elsewhere = object("ConfigMap", "a");
  elsewhere["metadata"]["namespace"] = "kube-system";
  CHECK(
      refused({elsewhere}) ==
      "ConfigMap \"a\" names namespace \"kube-system\": a template makes objects in the namespace "
      "of its instance alone, which is \"web\"");
  elsewhere["metadata"]["namespace"] = "web";
  CHECK(prepare_objects({elsewhere}, "web"));
  auto nameless = object("ConfigMap", "");
  nameless["metadata"]["generateName"] = "a-";
  CHECK(refused({nameless}).find("has no metadata.name") != std::string::npos);
  CHECK(refused({object("", "a")}).find("has no kind") != std::string::npos);
  CHECK(refused({json(1)}).find("is no object") != std::string::npos);
  CHECK(refused({object("ConfigMap", "a"), object("ConfigMap", "a")}) ==
        "ConfigMap \"a\" stands there twice");
  auto account = object("Account", "a");
  account["apiVersion"] = "config.kiosk.sh/v1alpha1";
  CHECK(refused({account}).find("is of group config.kiosk.sh") != std::string::npos);
  CHECK(refused({object("RoleBinding", "zoo:account")}).find("this name is zood's own") !=
        std::string::npos);
  CHECK(refused({object("ResourceQuota", "zoo-quota")}).find("this name is zood's own") !=
        std::string::npos);
  CHECK(prepare_objects({object("ConfigMap", "zoo-keeper")}, "web"));
  for (const std::string key :
       {"zoo.kubezoo.io/managed", "kiosk.sh/account", "tenant.kubezoo.io/id"}) {
    auto posing = object("ConfigMap", "a");
    posing["metadata"]["labels"][key] = "x";
    CHECK(refused({posing}) == fmt::format("ConfigMap \"a\": the label \"{}\" is zood's own", key));
  }
  auto number = object("ConfigMap", "a");
  number["metadata"]["labels"]["n"] = 1;
  CHECK(refused({number}).find("has a value that is no text") != std::string::npos);
  number["metadata"] = "x";
  CHECK(refused({number}).find("metadata that is no object") != std::string::npos);
}

TEST_CASE("what only a server sets is left out, and there are limits") {
  auto read = object("ConfigMap", "a");
  read["metadata"]["uid"] = "u";
  read["metadata"]["resourceVersion"] = "7";
  read["metadata"]["managedFields"] = json::array();
  read["status"] = {{"x", 1}};
  CHECK((*prepare_objects({read}, "web"))[0] ==
        json{{"apiVersion", "v1"},
             {"kind", "ConfigMap"},
             {"metadata", {{"name", "a"}, {"namespace", "web"}}}});
  std::vector<json> many;
  for (std::size_t i = 0; i <= k_most_objects; ++i)
    many.push_back(object("ConfigMap", std::to_string(i)));
  CHECK(refused(many).find("more than 500 objects") != std::string::npos);
  auto large = object("ConfigMap", "a");
  large["data"]["x"] = std::string(k_most_bytes, 'x');
  CHECK(refused({large}).find("longer than 4 MiB") != std::string::npos);
}

TEST_CASE("the mark of an instance is a value of a label") {
  CHECK(mark_of("web") == "web");
  const std::string name(100, 'a');
  CHECK(mark_of(name).size() == 63);
  CHECK(mark_of(name) != mark_of(name + "a"));
  // No instance can be called so: '_' is in no name.
  CHECK(mark_of(name).find('_') == 30);
}
