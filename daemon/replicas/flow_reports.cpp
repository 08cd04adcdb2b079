// SPDX-License-Identifier: Apache-2.0
#include "daemon/replicas/flow_reports.hpp"

#include "common/base/log.hpp"
#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace zoo::replicas {
namespace {

using access::FlowOthers;
using nlohmann::json;

/// A zood of another version may write what this one does not expect: that counts as nothing.
std::uint32_t number_at(const json& list, std::size_t index) {
  if (index >= list.size() || !list[index].is_number_unsigned()) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(
      list[index].get<std::uint64_t>(), std::numeric_limits<std::uint32_t>::max()));
}

std::uint32_t sum(std::uint32_t a, std::uint32_t b) {
  return a + std::min(b, std::numeric_limits<std::uint32_t>::max() - a);
}

/// {"TENANT": [requests, mutations, long-running ones], ...}
std::string written(const FlowByTenant& report) {
  json out = json::object();
  for (const auto& [tenant, held] : report)
    out[tenant] = json::array({held.requests, held.mutations, held.long_running});
  return kube::text_of(out);
}

void add(FlowByTenant& to, const std::string& report) {
  const auto read = json::parse(report, nullptr, false);
  if (!read.is_object()) return;
  for (const auto& [tenant, held] : read.items()) {
    if (!held.is_array()) continue;
    auto& all = to[tenant];
    all.requests = sum(all.requests, number_at(held, 0));
    all.mutations = sum(all.mutations, number_at(held, 1));
    all.long_running = sum(all.long_running, number_at(held, 2));
  }
}

} // namespace

FlowReports::FlowReports(Parts parts) : parts_(std::move(parts)) {
  reconcile::Reconciler reports;
  reports.name = "flows";
  reports.look = [this](const std::string&, unsigned) { return look(); };
  reports.failed = [](const std::string&, const Error& error) {
    log::at(error.code() == Code::unavailable ? LogLevel::debug : LogLevel::warning, "replicas",
            "what tenants have in progress is not told: {}", error.text());
  };
  runner_.emplace(std::move(reports), queue_);
  queue_.add("reports", std::chrono::milliseconds(0));
  runner_->start(1);
}

FlowReports::~FlowReports() {
  runner_.reset();
  if (last_ && last_->empty()) return;
  const auto removed = parts_.store.remove(k_flow_kind, parts_.session.name());
  // Whoever leads removes it once this zood's session has ended.
  if (!removed) log::debug("replicas", "the report stays: {}", removed.error().text());
}

Result<reconcile::Next> FlowReports::look() {
  ZOO_TRY(const auto replicas, parts_.session.replicas());
  const auto zoods = static_cast<std::uint32_t>(std::max<std::size_t>(1, replicas.size()));
  ZOO_TRY_VOID(tell(zoods));
  std::set<std::string> living;
  for (const auto& each : replicas)
    living.insert(each.name);
  FlowByTenant others;
  bool stands = false; // the own report
  ZOO_TRY(const auto page, parts_.store.list(k_flow_kind));
  for (const auto& record : page.records) {
    if (record.key == parts_.session.name()) {
      stands = true;
      continue;
    }
    if (living.contains(record.key)) {
      add(others, record.value);
    } else if (parts_.session.leads()) {
      // It counts for nothing any more. Written again meanwhile, it stays: the revision is another.
      const auto removed = parts_.store.remove(k_flow_kind, record.key, record.revision);
      if (!removed) log::debug("replicas", "a report stays: {}", removed.error().text());
    }
  }
  // The leader removes that of a zood whose session has ended, though it may come back.
  if (!stands && last_ && !last_->empty()) last_.reset();
  parts_.told(std::move(others), zoods);
  return reconcile::Next{parts_.every, true};
}

Result<void> FlowReports::tell(std::uint32_t zoods) {
  auto report = zoods > 1 ? parts_.here(zoods, k_most_tenants) : FlowByTenant{};
  if (report == last_) return {};
  if (report.empty()) {
    const auto removed = parts_.store.remove(k_flow_kind, parts_.session.name());
    if (!removed && removed.error().code() != Code::not_found) return fail(removed.error());
  } else {
    ZOO_TRY_VOID(
        parts_.store.put(k_flow_kind, parts_.session.name(), written(report)).map([](const auto&) {
        }));
  }
  last_ = std::move(report);
  return {};
}

} // namespace zoo::replicas
