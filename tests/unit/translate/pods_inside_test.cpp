// SPDX-License-Identifier: Apache-2.0
// Pods as upstream's policy zoo-pods-inside has made them, shown in their tenant's words.
#include "common/kube/protobuf_wire.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/dns_name.hpp"
#include "daemon/translate/json_protobuf.hpp"
#include "daemon/translate/pod_fields.hpp"
#include "daemon/translate/protobuf_json.hpp"
#include "daemon/translate/protobuf_table.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/text.hpp"
#include "daemon/translate/wire_rewrite.hpp"
#include "tests/fuzz/wire_pieces.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace zoo::translate {
namespace {

using nlohmann::json;
using test::tenant;

constexpr const char* k_annotation = "metadata.annotations['zoo.kubezoo.io/namespace']";

Result<std::string> pod_way(Direction direction, const std::string& text,
                            std::string_view kind = "Pod") {
  const auto names = tenant();
  RewriteContext context{names, direction, "shop"};
  std::string out;
  ZOO_TRY_VOID(rewrite(root_of(kind == "Pod" ? "" : "apps", kind), context, text, out));
  return out;
}

std::string shown_pod(const json& stored) {
  const auto out = pod_way(Direction::outward, stored.dump());
  REQUIRE(out);
  return *out;
}

json field(const char* path) { return {{"fieldRef", {{"apiVersion", "v1"}, {"fieldPath", path}}}}; }
json file(const char* name, const char* path) {
  auto out = field(path);
  out["path"] = name;
  return out;
}

/// What the policy makes of a pod with a token, and the same for the tenant.
json pod_volume(bool upstream) {
  const json token = {{"serviceAccountToken",
                       {{"expirationSeconds", 3607}, {"path", "token"}, {"audience", "zood"}}}};
  const json authorities = {{"configMap",
                             {{"name", upstream ? "zoo-root-ca.crt" : "kube-root-ca.crt"},
                              {"items", {{{"key", "ca.crt"}, {"path", "ca.crt"}}}}}}};
  const json space =
      upstream ? json{{"configMap",
                       {{"name", "zoo-root-ca.crt"},
                        {"items", {{{"key", "namespace"}, {"path", "namespace"}}}}}}}
               : json{{"downwardAPI", {{"items", {file("namespace", "metadata.namespace")}}}}};
  return {
      {"name", "kube-api-access-x"},
      {"projected", {{"sources", json::array({token, authorities, space})}, {"defaultMode", 420}}}};
}

json pod_of(bool upstream) {
  const auto* path = upstream ? k_annotation : "metadata.namespace";
  const auto* map = upstream ? "zoo-root-ca.crt" : "kube-root-ca.crt";
  json annotations = {{"a", "b"}};
  if (upstream) annotations["zoo.kubezoo.io/namespace"] = "shop";
  const json env = {
      {{"name", "POD_NAMESPACE"}, {"valueFrom", field(path)}},
      {{"name", "CA"}, {"valueFrom", {{"configMapKeyRef", {{"name", map}, {"key", "ca.crt"}}}}}},
      {{"name", "NODE"}, {"valueFrom", field("spec.nodeName")}}};
  const json containers = {
      {{"name", "c"}, {"env", env}, {"envFrom", {{{"configMapRef", {{"name", map}}}}}}}};
  json volumes = json::array({pod_volume(upstream)});
  volumes.push_back(
      {{"name", "info"},
       {"downwardAPI", {{"items", {file("ns", path), file("name", "metadata.name")}}}}});
  volumes.push_back({{"name", "ca"}, {"configMap", {{"name", map}}}});
  volumes.push_back(
      {{"name", "both"},
       {"projected",
        {{"sources",
          {{{"downwardAPI", {{"items", {file("ns", path), file("uid", "metadata.uid")}}}}}}}}}});
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", "p"},
            {"namespace", upstream ? "abc123-shop" : "shop"},
            {"annotations", annotations}}},
          {"spec",
           {{"containers", containers},
            {"initContainers", containers},
            {"ephemeralContainers", containers},
            {"volumes", volumes}}}};
}

TEST_CASE("a pod is shown with what its tenant has written") {
  CHECK(json::parse(shown_pod(pod_of(true))) == pod_of(false));
  // What the tenant sends back is not touched: upstream's policy says it again.
  auto own = pod_of(false);
  const auto up = pod_way(Direction::inward, own.dump());
  REQUIRE(up);
  own["metadata"]["namespace"] = "abc123-shop";
  CHECK(json::parse(*up) == own);
  // What a dry run of upstream's shows is the tenant's.
  CHECK(pod_way(Direction::prove, pod_of(true).dump()));
}

/// The pods of a list in protobuf.
std::vector<json> items_of(std::string_view list) {
  std::vector<json> out;
  zoo::protobuf::WireReader envelope(list.substr(protobuf::k_magic.size()));
  for (zoo::protobuf::WireField field; !envelope.done() && envelope.next(field);) {
    if (field.number != 2) continue;
    zoo::protobuf::WireReader items(field.bytes);
    for (zoo::protobuf::WireField item; !items.done() && items.next(item);) {
      if (item.number != 2) continue;
      std::string type, pod(protobuf::k_magic);
      zoo::protobuf::put_bytes(type, 1, "v1");
      zoo::protobuf::put_bytes(type, 2, "Pod");
      zoo::protobuf::put_bytes(pod, 1, type);
      zoo::protobuf::put_bytes(pod, 2, item.bytes);
      const auto text = protobuf_to_json(pod);
      out.push_back(text ? json::parse(*text) : json());
    }
  }
  return out;
}

TEST_CASE("a pod comes out of protobuf as it does of JSON, alone and in a list") {
  const auto names = tenant();
  const auto& root = root_of("", "Pod");
  const auto stored = json_to_protobuf(pod_of(true).dump());
  REQUIRE_MESSAGE(stored, stored.error().text());
  const auto out = wire_outward({names, root, "shop", {}}, *stored);
  REQUIRE_MESSAGE(out, out.error().text());
  const auto wanted = protobuf_to_json(json_to_protobuf(pod_of(false).dump()).value());
  const auto got = protobuf_to_json(*out);
  REQUIRE(got);
  CHECK(json::parse(*got) == json::parse(*wanted));

  const auto list_of = [](const json& pod, int count) {
    json items = json::array();
    for (int i = 0; i < count; ++i)
      items.push_back(pod);
    const json list = {
        {"apiVersion", "v1"}, {"kind", "PodList"}, {"metadata", json::object()}, {"items", items}};
    return json_to_protobuf(list.dump()).value();
  };
  const auto listed = list_in_pieces({names, root, "shop", {}}, list_of(pod_of(true), 3), 50);
  REQUIRE_MESSAGE(listed, listed.error().text());
  const auto items = items_of(without_filler(*listed));
  CHECK(items.size() == 3);
  for (const auto& each : items)
    CHECK(each == json::parse(*wanted));

  // A pod that would get longer keeps the name of the ConfigMap there, and the list goes on.
  json many = {{"apiVersion", "v1"},
               {"kind", "Pod"},
               {"metadata", {{"name", "p"}, {"namespace", "abc123-shop"}}},
               {"spec", {{"volumes", json::array()}}}};
  for (int i = 0; i < 40; ++i)
    many["spec"]["volumes"].push_back(
        {{"name", "v" + std::to_string(i)}, {"configMap", {{"name", "zoo-root-ca.crt"}}}});
  const auto longer = list_in_pieces({names, root, "shop", {}}, list_of(many, 2), 50);
  REQUIRE_MESSAGE(longer, longer.error().text());
  CHECK(longer->find("abc123") == std::string::npos);
  const auto alone = wire_outward({names, root, "shop", {}}, json_to_protobuf(many.dump()).value());
  REQUIRE(alone);
  CHECK(alone->find("zoo-root-ca") == std::string::npos);
}

TEST_CASE("a source is the namespace's field only if the policy has made it so") {
  const auto source = [](const json& made) {
    const json pod = {{"spec", {{"volumes", {{{"projected", {{"sources", {made}}}}}}}}}};
    return json::parse(shown_pod(pod))["spec"]["volumes"][0]["projected"]["sources"][0];
  };
  const auto map = [](const char* name, const json& items) {
    return json{{"configMap", {{"name", name}, {"items", items}}}};
  };
  const json item = {{"key", "namespace"}, {"path", "p"}};
  auto with_mode = item;
  with_mode["mode"] = 256;
  CHECK(source(map("zoo-root-ca.crt", json::array({item}))) ==
        json{{"downwardAPI", {{"items", {file("p", "metadata.namespace")}}}}});
  auto shown = file("p", "metadata.namespace");
  shown["mode"] = 256;
  CHECK(source(map("zoo-root-ca.crt", json::array({with_mode}))) ==
        json{{"downwardAPI", {{"items", {shown}}}}});
  for (const auto& other : {json::array({item, item}),
                            json::array({{{"key", "ca.crt"}, {"path", "p"}}}), json::array()})
    CHECK(source(map("zoo-root-ca.crt", other)) == map("kube-root-ca.crt", other));
  CHECK(source(map("x", json::array({item}))) == map("x", json::array({item})));
  auto optional = map("zoo-root-ca.crt", json::array({item}));
  optional["configMap"]["optional"] = true;
  CHECK(source(optional)["configMap"]["name"] == json(std::string("kube-root-ca.crt")));
}

TEST_CASE("what a pod is given cannot be asked for by its name") {
  const auto why = [](const json& spec) {
    const auto out = pod_way(Direction::inward, json{{"spec", spec}}.dump());
    return out ? std::string("taken") : out.error().message();
  };
  const auto env = [](const json& from) {
    return json{{"containers", {{{"name", "c"}, {"env", {{{"name", "E"}, {"valueFrom", from}}}}}}}};
  };
  CHECK(why(env(field(k_annotation))).find("(rule reserved-names)") != std::string::npos);
  CHECK(why(env(field("metadata.annotations['zoo.kubezoo.io/x']"))).find("reserved") !=
        std::string::npos);
  CHECK(why(env(field("metadata.labels['kept.zoo.kubezoo.io/x']"))).find("reserved") !=
        std::string::npos);
  for (const auto* path :
       {"metadata.annotations['a']", "metadata.annotations", "metadata.annotations['kubezoo.io/x']",
        "metadata.namespace", "metadata.annotations['", "metadata.annotations['']"})
    CHECK(why(env(field(path))) == "taken");
  CHECK(why(env({{"configMapKeyRef", {{"name", "zoo-root-ca.crt"}, {"key", "k"}}}}))
            .find("name kube-root-ca.crt") != std::string::npos);
  CHECK(why({{"volumes", {{{"name", "v"}, {"configMap", {{"name", "zoo-root-ca.crt"}}}}}}})
            .find("reserved") != std::string::npos);
  CHECK(why({{"volumes", {{{"name", "v"}, {"configMap", {{"name", "zoo-root-ca.crt2"}}}}}}}) ==
        "taken");
}

TEST_CASE("a template stays as its tenant wrote it") {
  const json pod = pod_of(true)["spec"];
  const json set = {{"metadata", {{"name", "w"}, {"namespace", "abc123-shop"}}},
                    {"spec", {{"template", {{"spec", pod}}}}}};
  const auto out = pod_way(Direction::outward, set.dump(), "Deployment");
  REQUIRE(out);
  CHECK(json::parse(*out)["spec"] == set["spec"]);
}

TEST_CASE("which pods read their namespace by the annotation") {
  const auto reads = [](const json& spec) {
    const auto text = json{{"spec", spec}}.dump();
    const auto tree = JsonTree::parse(std::string_view(text));
    REQUIRE(tree);
    return reads_namespace(tree->root());
  };
  CHECK(reads(pod_of(false)["spec"]));
  CHECK_FALSE(reads({{"volumes", {pod_volume(false)}}}));
  CHECK_FALSE(reads(json::object()));
  CHECK_FALSE(
      reads({{"containers", {{{"env", {{{"name", "E"}, {"value", "metadata.namespace"}}}}}}}}));
  for (const auto* group : {"containers", "initContainers", "ephemeralContainers"})
    CHECK(reads({{group, {{{"env", {{{"valueFrom", field("metadata.namespace")}}}}}}}}));
  CHECK(reads({{"volumes", {{{"downwardAPI", {{"items", {file("n", "metadata.namespace")}}}}}}}}));
}

TEST_CASE("texts say kube-root-ca.crt, and nothing of the policy") {
  const auto names = tenant();
  CHECK(text_out(names, "MountVolume.SetUp failed for volume \"v\" : configmap "
                        "\"zoo-root-ca.crt\" not found") ==
        "MountVolume.SetUp failed for volume \"v\" : configmap \"kube-root-ca.crt\" not found");
  const std::string denial = "policy 'zoo-pods-inside' with binding 'zoo-pods-inside' denied "
                             "request: ";
  const std::string reason =
      "the platform could not prepare this pod for the tenant's own API and DNS (rule "
      "pods-inside): try again later, or tell the platform's administrator";
  for (const auto* cause :
       {"failed to configure binding: no params found for policy binding with `Deny` "
        "parameterNotFoundAction",
        "composited variable \"dns\" fails to evaluate: no such key: dnsServers", ""}) {
    CHECK(denied_by_platform(denial + cause));
    CHECK(text_out(names, "Error creating: " + denial + cause) == "Error creating: " + reason);
    const auto stored = stored_text_out(names, denial + cause);
    CHECK(stored.size() <= denial.size() + std::string_view(cause).size());
    CHECK(stored.find("(rule pods-inside)") != std::string::npos);
    CHECK(stored.find("zoo-pods") == std::string::npos);
  }
  CHECK_FALSE(denied_by_platform("policy 'pods' with binding 'zoo-pods-inside' denied request: x"));
}

TEST_CASE("names of Services in the cluster's DNS") {
  const auto names = tenant();
  const std::vector<std::pair<std::string, std::string>> maps = {
      {"web.shop.svc.cluster.local", "web.abc123-shop.svc.cluster.local"},
      {"web.shop.svc.cluster.local.", "web.abc123-shop.svc.cluster.local."},
      {"web.shop.svc", "web.abc123-shop.svc"},
      {"web.shop.svc.", "web.abc123-shop.svc."},
      {"db-0.db.shop.svc.cluster.local", "db-0.db.abc123-shop.svc.cluster.local"},
      // Another tenant's name and the platform's are names of the tenant's own.
      {"web.zzz999-shop.svc.cluster.local", "web.abc123-zzz999-shop.svc.cluster.local"},
      {"web.abc123-shop.svc.cluster.local", "web.abc123-abc123-shop.svc.cluster.local"},
      {"kubernetes.default.svc.cluster.local", "kubernetes.abc123-default.svc.cluster.local"},
      {"svc.svc.svc", "svc.abc123-svc.svc"},
  };
  for (const auto& [own, upstream] : maps) {
    CAPTURE(own);
    CHECK(service_name_in(names, own) == upstream);
    CHECK(service_name_out(names, upstream) == own);
  }
  for (const auto* other :
       {"", ".", "svc", ".svc", "shop.svc", ".shop.svc", "shop.svc.cluster.local", "web..svc",
        "www.example.com", "web.shop.svc.example.com", "web.shop.pod.cluster.local",
        "web.shop.svc.cluster.local.abc123.zoo.cluster.local", "websvc", "web.shop.xsvc"}) {
    CAPTURE(other);
    CHECK(service_name_in(names, other) == other);
    CHECK(service_name_out(names, other) == std::string(other));
  }
  CHECK_FALSE(service_name_out(names, "web.default.svc.cluster.local"));
  CHECK_FALSE(service_name_out(names, "web.zzz999-shop.svc"));
  const auto shared = std::make_shared<SharedNames>();
  shared->domain = "corp.example";
  const Mapping elsewhere("abc123", shared);
  CHECK(service_name_in(elsewhere, "web.shop.svc.corp.example") ==
        "web.abc123-shop.svc.corp.example");
  CHECK(service_name_in(elsewhere, "web.shop.svc.cluster.local") == "web.shop.svc.cluster.local");
}

TEST_CASE("an ExternalName that was stored before is shown, and written by nobody") {
  const auto names = tenant();
  const std::string stored = R"({"spec":{"externalName":"web.default.svc.cluster.local"}})";
  RewriteContext outward{names, Direction::outward, "shop"}, proof{names, Direction::prove, "shop"};
  std::string out, none;
  REQUIRE(rewrite(root_of("", "Service"), outward, stored, out));
  CHECK(out == stored);
  const auto proven = rewrite(root_of("", "Service"), proof, stored, none);
  REQUIRE_FALSE(proven);
  CHECK(proven.error().message().find("(rule external-names)") != std::string::npos);
}

} // namespace
} // namespace zoo::translate
