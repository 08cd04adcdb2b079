// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/change.hpp"
#include "tests/unit/virtuals/world.hpp"

using nlohmann::json;
using namespace zoo;
using namespace zoo::test;
using namespace zoo::virtuals;

namespace {

const Writer k_writer{"me", "flowcontrol.apiserver.k8s.io/v1", "2026-01-01T00:00:00Z", false,
                      k_lists};

json made() {
  const auto body = flow("a").dump();
  return must(created(flows(), {translate::BodyFormat::json, body}, "", k_writer));
}

} // namespace

TEST_CASE("what the server writes is not the client's to choose") {
  auto body = flow("a");
  body["metadata"]["uid"] = "mine";
  body["metadata"]["generation"] = 99;
  body["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z";
  body["status"] = {{"conditions", {{{"type", "x"}}}}};
  const auto text = body.dump();
  auto object = must(created(flows(), {translate::BodyFormat::json, text}, "", k_writer));
  CHECK(object["metadata"]["uid"] != "mine");
  CHECK(object["metadata"]["generation"] == 1);
  CHECK_FALSE(object["metadata"].contains("deletionTimestamp"));
  CHECK(object["status"].empty());

  auto next = object;
  next["metadata"]["creationTimestamp"] = "1999-01-01T00:00:00Z";
  next["metadata"]["generation"] = 5;
  next["metadata"]["unknown"] = 1;
  next["unknown"] = 1;
  const auto changed_text = next.dump();
  auto now =
      must(changed(flows(), object, {translate::BodyFormat::json, changed_text}, k_writer, false));
  settle(object, now, k_writer, false);
  CHECK(now["metadata"]["creationTimestamp"] == object["metadata"]["creationTimestamp"]);
  CHECK(now["metadata"]["generation"] == 1);
  CHECK_FALSE(now.contains("unknown"));
  CHECK_FALSE(now["metadata"].contains("unknown"));
}

TEST_CASE("a generated name begins as asked and differs") {
  auto body = flow("");
  body["metadata"] = {{"generateName", "x-"}};
  const auto text = body.dump();
  const auto one = must(created(flows(), {translate::BodyFormat::json, text}, "", k_writer));
  const auto two = must(created(flows(), {translate::BodyFormat::json, text}, "", k_writer));
  CHECK(one["metadata"]["name"].get<std::string>().starts_with("x-"));
  CHECK(one["metadata"]["name"] != two["metadata"]["name"]);
}

TEST_CASE("preconditions in a body hold") {
  const auto old = made();
  struct Row {
    json metadata;
    Code code;
  };
  const Row rows[] = {
      {{{"name", "b"}}, Code::bad_request},
      {{{"name", "a"}, {"uid", "other"}}, Code::conflict},
      {{{"name", "a"}, {"resourceVersion", "77"}}, Code::conflict},
      {{{"name", "a"}, {"namespace", "n"}}, Code::bad_request},
  };
  for (const auto& row : rows) {
    auto body = flow("a");
    body["metadata"] = row.metadata;
    const auto text = body.dump();
    const auto out = changed(flows(), old, {translate::BodyFormat::json, text}, k_writer, false);
    REQUIRE_FALSE(out);
    CHECK(out.error().code() == row.code);
  }
}

TEST_CASE("a condition moves its time when its status does, and only then") {
  auto object = made();
  CHECK(set_condition(object, "X", "False", "R", "m", k_writer));
  CHECK_FALSE(set_condition(object, "X", "False", "R", "m", k_writer));
  auto later = k_writer;
  later.time = "2026-02-02T00:00:00Z";
  CHECK(set_condition(object, "X", "False", "R", "other", later));
  CHECK(object["status"]["conditions"][0]["lastTransitionTime"] == k_writer.time);
  CHECK(set_condition(object, "X", "True", "R", "other", later));
  CHECK(object["status"]["conditions"][0]["lastTransitionTime"] == later.time);
}

TEST_CASE("options of a deletion are read from its body") {
  const auto options = must(
      delete_options(R"({"dryRun":["All"],"preconditions":{"uid":"u","resourceVersion":"5"}})"));
  CHECK(options.dry_run);
  CHECK(options.expected.uid == "u");
  CHECK(options.expected.resource_version == "5");
  CHECK_FALSE(must(delete_options("")).dry_run);
  CHECK(delete_options("[]").error().code() == Code::bad_request);
}
