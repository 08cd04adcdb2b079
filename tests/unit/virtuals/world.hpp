// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/sqlite.hpp"
#include "daemon/virtuals/engine.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <memory>
#include <string>

namespace zoo::test {

inline const virtuals::Kind& flows() {
  return *virtuals::find_kind("flowcontrol.apiserver.k8s.io", "flowschemas");
}
inline const virtuals::Kind& levels() {
  return *virtuals::find_kind("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations");
}
inline const virtuals::Kind& nodes() { return *virtuals::find_kind("", "nodes"); }
inline const virtuals::Kind& services() {
  return *virtuals::find_kind("apiregistration.k8s.io", "apiservices");
}

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().text());
  return *std::move(result);
}

/// A store, a board and an engine whose upstream accepts what has a spec, and gives FlowSchemas a
/// default.
struct World {
  TemporaryDirectory directory;
  std::atomic<bool> lives{true};
  std::unique_ptr<store::Store> store =
      must(store::open_sqlite({directory.path() / "zood", {}, 5'000}));
  std::unique_ptr<virtuals::Board> board =
      must(virtuals::Board::start(*store, [this](const virtuals::Owner&) { return lives.load(); }));
  virtuals::Validate validate = [](const virtuals::Kind&, const nlohmann::json& object,
                                   const translate::Mapping&, std::string_view) {
    virtuals::Verdict verdict;
    verdict.accepted = object.contains("spec");
    verdict.spec = object.value("spec", nlohmann::json::object());
    if (object["kind"] == "FlowSchema" && !verdict.spec.contains("matchingPrecedence"))
      verdict.spec["matchingPrecedence"] = 1000;
    verdict.status = 422;
    verdict.body = R"({"kind":"Status","code":422})";
    return Result<virtuals::Verdict>(verdict);
  };
  std::atomic<std::int64_t> upstream_revision{7'000}; ///< of which every write gets its own
  std::unique_ptr<virtuals::Engine> engine = std::make_unique<virtuals::Engine>(
      virtuals::EngineParts{*store, *board, [this] { return validate; },
                            [this](const virtuals::Owner&) { return lives.load(); },
                            [this] { return Result<std::int64_t>(upstream_revision += 10); }});
  virtuals::Owner owner{"foofoo", "uid-1"};

  virtuals::Request request(const virtuals::Kind& kind, std::string verb, std::string name,
                            const nlohmann::json& body = nullptr) const {
    return {owner,
            &kind,
            std::move(verb),
            std::move(name),
            false,
            translate::BodyFormat::json,
            body.is_null() ? "" : body.dump(),
            false,
            false,
            "test",
            "",
            {},
            {},
            translate::Mapping(owner.id, std::make_shared<translate::SharedNames>())};
  }
  Result<virtuals::Answer> perform(const virtuals::Request& request) {
    return engine->perform(validate, request);
  }
  nlohmann::json ok(const virtuals::Request& request) {
    auto answer = must(perform(request));
    REQUIRE(answer.object);
    return nlohmann::json::parse(answer.object->json);
  }
};

inline nlohmann::json object_of(const virtuals::Kind& kind, const std::string& name,
                                nlohmann::json spec = nlohmann::json::object()) {
  return {{"apiVersion", kind.api_version()},
          {"kind", kind.kind},
          {"metadata", {{"name", name}}},
          {"spec", std::move(spec)}};
}

inline nlohmann::json flow(const std::string& name, const std::string& level = "exempt") {
  return object_of(flows(), name, {{"priorityLevelConfiguration", {{"name", level}}}});
}

} // namespace zoo::test
