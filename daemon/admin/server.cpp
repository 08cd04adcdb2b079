// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/server.hpp"

#include "common/api/doctor_checks.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/admin/wish.hpp"
#include "daemon/resources/body.hpp"

#include <nlohmann/json.hpp>

namespace zoo::admin {
namespace {

using nlohmann::json;

std::string_view level_name(tenants::Finding::Level level) {
  switch (level) {
  case tenants::Finding::Level::ok:
    return "ok";
  case tenants::Finding::Level::warning:
    return "warning";
  case tenants::Finding::Level::problem:
    return "problem";
  }
  return "problem";
}

} // namespace

Answer status_answer(StatusSource& source, tenants::TenantService& tenants, StoreSource* store) {
  const auto status = source.status();
  const auto census = tenants.census();
  if (!census) return failure(census.error());
  std::size_t total = 0;
  json counts = json::object();
  for (const auto& [phase, count] : census->phases) {
    counts[std::string(api::phase_name(phase))] = count;
    total += count;
  }
  counts["total"] = total;
  json account_door = json::object();
  if (const auto& door = status.account_door; !door.server.empty())
    account_door = {{"server", door.server},
                    {"certificateAuthorityData", crypto::base64_encode(door.ca_pem)}};
  const auto missing = source.not_ready();
  json answer{{"version", status.version},
              {"ready", missing.empty()},
              {"listen", status.listen},
              {"advertise", status.advertise},
              {"adminListen", status.admin_listen},
              {"adminSocket", status.admin_socket},
              {"accountDoor", account_door},
              {"upstream",
               {{"server", status.upstream.server},
                {"reachable", status.upstream.reachable},
                {"version", status.upstream.version},
                {"message", status.upstream.message}}},
              {"tenants", counts},
              {"uptimeSeconds", status.uptime.count()},
              {"workers", status.workers},
              {"connections", status.connections},
              {"audit",
               {{"output", status.audit.output},
                {"lines", status.audit.written},
                {"lost", status.audit.lost},
                {"refused", status.audit.refused},
                {"trouble", status.audit.trouble}}}};
  if (!missing.empty()) answer["notReady"] = missing;
  const auto state = store != nullptr ? store->state() : Result<json>(json::object());
  if (!state) {
    answer["replicasUnknown"] = state.error().text();
  } else if (state->value("driver", "sqlite") != "sqlite") {
    answer["replicas"] = (*state)["replicas"];
  }
  return json_answer(200, answer);
}

Answer doctor_answer(tenants::TenantService& tenants) {
  json findings = json::array();
  std::map<tenants::Finding::Level, std::size_t> counts;
  for (const auto& finding : tenants.doctor()) {
    ++counts[finding.level];
    findings.push_back({{"id", api::doctor_check_of(finding.subject).id},
                        {"level", level_name(finding.level)},
                        {"subject", finding.subject},
                        {"message", finding.message},
                        {"remedy", finding.remedy}});
  }
  return json_answer(200, {{"findings", std::move(findings)},
                           {"ok", counts[tenants::Finding::Level::ok]},
                           {"warnings", counts[tenants::Finding::Level::warning]},
                           {"problems", counts[tenants::Finding::Level::problem]}});
}

Answer health_answer(StatusSource& source, bool ready) {
  Answer answer;
  answer.content_type = "text/plain; charset=utf-8";
  answer.body = "ok";
  if (!ready) return answer;
  const auto missing = source.not_ready();
  if (missing.empty()) return answer;
  answer.status = 503;
  answer.headers.add("Retry-After", "1");
  answer.body = "not ready: " + missing + "\n";
  return answer;
}

Answer backup_answer(const Request& request, BackupSource* source) {
  if (source == nullptr) return failure(Error(Code::unavailable, "this zood makes no backups"));
  if (request.method == "POST") {
    std::vector<std::string> duplicates;
    const auto body =
        resources::parse_body(request.body, request.headers.get("content-type"), duplicates);
    if (!body) return failure(body.error());
    if (!body->is_object() || body->value("acknowledged", json()) != json(true))
      return failure(Error(Code::bad_request, R"(the body must be {"acknowledged": true})"));
    if (auto done = source->acknowledge(); !done) return failure(done.error());
    return json_answer(200, {{"acknowledged", true}});
  }
  if (request.method != "GET") return wrong_method(request, "GET, POST");
  const auto text = source->make();
  if (!text) return failure(text.error());
  Answer answer;
  answer.content_type = "application/x-ndjson";
  answer.body = text->view();
  return answer;
}

Answer store_answer(const Request& request, StoreSource* source) {
  if (source == nullptr) return failure(Error(Code::unavailable, "this zood tells of no store"));
  if (request.method == "POST") {
    constexpr std::array<std::string_view, 3> k_known{"to", "dryRun", "clearTarget"};
    const auto wish = read_wish(request, k_known);
    if (!wish) return failure(wish.error());
    if (!wish->contains("to"))
      return failure(Error(Code::bad_request, R"(the body must be {"to": {"driver": ...}})"));
    const auto done = source->migrate(*wish);
    return done ? json_answer(200, *done) : failure(done.error());
  }
  if (!resources::reads(request)) return wrong_method(request, "GET, POST");
  const auto state = source->state();
  return state ? json_answer(200, *state) : failure(state.error());
}

Answer invitation_answer(const Request& request, StoreSource* source) {
  if (source == nullptr) return failure(Error(Code::unavailable, "this zood tells of no store"));
  if (request.method != "GET") return wrong_method(request, "GET");
  const auto text = source->invite();
  if (!text) return failure(text.error());
  Answer answer;
  answer.content_type = "application/json";
  answer.body = text->view();
  return answer;
}

Answer aggregated_answer(const Request& request, AggregatedSwitch* door) {
  if (door == nullptr)
    return failure(Error(Code::not_found,
                         "this zood has no aggregated door: set accounts.enabled and "
                         "accounts.aggregated.listen in its configuration"));
  if (request.method == "PUT") {
    std::vector<std::string> duplicates;
    const auto body =
        resources::parse_body(request.body, request.headers.get("content-type"), duplicates);
    if (!body) return failure(body.error());
    const auto enabled = body->is_object() ? body->find("enabled") : body->end();
    if (enabled == body->end() || !enabled->is_boolean())
      return failure(Error(Code::bad_request, R"(the body must be {"enabled": true} or false)"));
    if (auto done = door->switch_to(enabled->get<bool>()); !done) return failure(done.error());
  } else if (!resources::reads(request)) {
    return wrong_method(request, "GET, PUT");
  }
  const auto state = door->state();
  return state ? json_answer(200, *state) : failure(state.error());
}

} // namespace zoo::admin
