// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/order_reads.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::clusters;
using nlohmann::json;

namespace {

/// An upstream with some orders, whose answers may have so many bytes.
class Orders final : public upstream::ControlApi {
public:
  Result<http_client::Response> request(std::string_view method, std::string_view path,
                                        std::string_view, std::string,
                                        std::string_view accept) override {
    CHECK(method == "GET");
    CHECK(accept.find("PartialObjectMetadataList") != accept.npos);
    ++asked;
    if (status != 200) return http_client::Response{status, {}, "{}"};
    const auto limit = number(path, "limit=");
    const auto from = number(path, "continue=");
    std::string items;
    std::size_t at = from;
    for (; at < orders.size() && at < from + limit; ++at)
      items += (at == from ? "" : ",") + orders[at];
    if (items.size() > most) return fail(Code::too_large, "the answer is too large");
    const auto next = at < orders.size() ? std::to_string(at) : "";
    return http_client::Response{
        200, {}, R"({"metadata":{"continue":")" + next + R"("},"items":[)" + items + "]}"};
  }
  /// `more`: further members of its metadata.
  void add(const std::string& name, const std::string& more = "") {
    orders.push_back(R"({"metadata":{"namespace":"team","name":")" + name + "\"" + more + "}}");
  }
  std::vector<std::string> orders;
  std::size_t most = 1'000'000, asked = 0;
  int status = 200;

private:
  static std::size_t number(std::string_view path, std::string_view name) {
    const auto at = path.find(name);
    return at == path.npos ? 0 : std::stoul(std::string(path.substr(at + name.size())));
  }
};

/// Their keys, or "error".
std::vector<std::string> keys_of(Orders& api) {
  std::vector<std::string> out;
  const auto read = each_order(api, [&out](const std::string& key) { out.push_back(key); });
  if (!read) out.emplace_back("error");
  return out;
}

std::string levels(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i)
    out += R"({"f:x":)";
  return out + "1" + std::string(count, '}');
}

} // namespace

TEST_CASE("orders are read page by page, however large each is") {
  Orders api;
  for (int i = 0; i < 25; ++i)
    api.add("t" + std::to_string(i), R"(,"labels":{"x":")" + std::string(10'000, 'x') + "\"}");
  SUBCASE("a page at a time") {
    CHECK(keys_of(api).size() == 25);
    CHECK(api.asked == 3);
  }
  SUBCASE("a smaller one, where it is too large") {
    api.most = 25'000;
    const auto keys = keys_of(api);
    REQUIRE(keys.size() == 25);
    CHECK(keys.front() == "team/t0");
    CHECK(keys.back() == "team/t24");
    CHECK(std::find(keys.begin(), keys.end(), "error") == keys.end());
  }
  SUBCASE("until one alone is") {
    api.most = 5'000;
    CHECK(keys_of(api) == std::vector<std::string>{"error"});
    CHECK(api.asked == 4);
  }
}

TEST_CASE("an order of very many levels hides no others") {
  Orders api;
  api.add("a");
  api.add("b", R"(,"managedFields":[{"fieldsV1":)" + levels(5'000) + "}]");
  api.add("c");
  CHECK(keys_of(api) == std::vector<std::string>{"team/a", "team/b", "team/c"});
}

TEST_CASE("a kind that is not served yet is told apart") {
  Orders api;
  api.status = 404;
  const auto read = each_order(api, [](const std::string&) {});
  REQUIRE(!read);
  CHECK(read.error().code() == Code::not_found);
}

TEST_CASE("of an order so much is taken over as is worth keeping") {
  json order = {
      {"metadata", {{"name", "t1"}, {"namespace", "team"}, {"labels", {{"x", "y"}}}, {"uid", "u"}}},
      {"spec", {{"kubeconfig", "x"}, {"weight", 7}}}};
  CHECK(wanted_of(order) ==
        json{{"metadata", {{"name", "t1"}, {"namespace", "team"}, {"labels", {{"x", "y"}}}}},
             {"spec", {{"weight", 7}}}});
  const auto spec = order_spec(wanted_of(order));
  REQUIRE(spec);
  CHECK(spec->weight == 7);
  order["metadata"]["labels"]["large"] = std::string(k_most_order_labels, 'x');
  CHECK(!wanted_of(order)["metadata"].contains("labels"));
  order["spec"]["unknown"] = std::string(k_most_order_spec, 'x');
  const auto large = order_spec(wanted_of(order));
  REQUIRE(!large);
  CHECK(large.error().code() == Code::invalid);
  CHECK(large.error().message().starts_with("spec has 2621"));
  order["spec"] = nullptr;
  CHECK(wanted_of(order)["spec"] == json::object());
  CHECK(order_spec(wanted_of(order)).has_value());
}
