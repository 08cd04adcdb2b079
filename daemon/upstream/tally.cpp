// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/tally.hpp"

namespace zoo::upstream {
namespace {

constexpr std::array<std::string_view, 4> k_asks = {"read", "write", "watch", "token_review"};
constexpr std::string_view k_token_reviews = "/apis/authentication.k8s.io/v1/tokenreviews";

double tally_value(const std::atomic<std::uint64_t>& count) {
  return static_cast<double>(count.load(std::memory_order_relaxed));
}

} // namespace

Tally::Asks Tally::kind_of(std::string_view method, std::string_view target, bool long_running) {
  if (long_running) return Asks::watch;
  if (method == "GET" || method == "HEAD" || method == "OPTIONS") return Asks::read;
  return target.starts_with(k_token_reviews) ? Asks::token_review : Asks::write;
}

void Tally::answered(Asks asks, int status, std::chrono::microseconds took) {
  took_[static_cast<std::size_t>(asks)].add(took);
  if (status == 429) throttled_.fetch_add(1, std::memory_order_relaxed);
  if (status >= 500) server_error_.fetch_add(1, std::memory_order_relaxed);
}

void Tally::failed(Code code) {
  auto& count = code == Code::timeout             ? timeout_
                : code == Code::too_many_requests ? refused_
                                                  : unavailable_;
  count.fetch_add(1, std::memory_order_relaxed);
}

void Tally::reviewed(const Result<void>& said) {
  const std::size_t place = said ? 0 : said.error().code() == Code::unauthorized ? 1 : 2;
  reviews_[place].fetch_add(1, std::memory_order_relaxed);
}

void Tally::write(MetricText& out, const ControlTally& control) const {
  using Type = MetricText::Type;
  out.family("zood_upstream_request_duration_seconds", Type::histogram,
             "From a request to the upstream to the head of its answer");
  for (std::size_t i = 0; i < k_asks.size(); ++i)
    took_[i].write(out, {{"class", k_asks[i]}});
  control.took_.write(out, {{"class", "control"}});
  out.family("zood_upstream_errors_total", Type::counter,
             "Requests to the upstream without an answer, or with one that says that it is unwell");
  const auto both = [&out](std::string_view reason, const Count& one, const Count& other) {
    out.sample(tally_value(one) + tally_value(other), {{"reason", reason}});
  };
  both("unavailable", unavailable_, control.unavailable_);
  both("timeout", timeout_, control.timeout_);
  out.sample(tally_value(refused_), {{"reason", "share"}});
  both("throttled", throttled_, control.throttled_);
  both("server_error", server_error_, control.server_error_);
  out.family("zood_watch_events_total", Type::counter, "Events of the shared watches upstream");
  out.sample(tally_value(events_));
  out.family("zood_bridges_total", Type::counter,
             "Times that upstream had forgotten the place of a shared watch");
  out.sample(tally_value(gaps_[1]), {{"result", "bridged"}});
  out.sample(tally_value(gaps_[0]), {{"result", "expired"}});
  out.family("zood_token_reviews_total", Type::counter,
             "Bearer tokens that upstream was asked about");
  constexpr std::array<std::string_view, 3> k_said = {"authenticated", "refused", "unavailable"};
  for (std::size_t i = 0; i < k_said.size(); ++i)
    out.sample(tally_value(reviews_[i]), {{"result", k_said[i]}});
}

} // namespace zoo::upstream
