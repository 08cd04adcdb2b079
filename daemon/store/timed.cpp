// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/timed.hpp"

#include "common/base/error_table.hpp"

#include <chrono>

namespace zoo::store {
namespace {

constexpr std::array<std::string_view, 5> k_calls = {"get", "put", "remove", "write", "list"};

bool is_answer(Code code) {
  return code == Code::not_found || code == Code::conflict || code == Code::already_exists;
}

} // namespace

template <class Ask>
auto TimedStore::timed(Call call, const Ask& ask) -> decltype(ask()) {
  const auto begun = std::chrono::steady_clock::now();
  auto answer = ask();
  took_[static_cast<std::size_t>(call)].add(std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begun));
  if (!answer && !is_answer(answer.error().code())) {
    const std::lock_guard lock(mutex_);
    ++errors_[answer.error().code()];
  }
  return answer;
}

void TimedStore::seen(std::int64_t revision) {
  auto known = revision_.load();
  while (known < revision && !revision_.compare_exchange_weak(known, revision)) {
  }
}

Result<Record> TimedStore::get(std::string_view kind, std::string_view key) {
  return timed(Call::get, [&] { return inner_.get(kind, key); });
}

Result<Record> TimedStore::put(std::string_view kind, std::string_view key, std::string_view value,
                               std::optional<std::int64_t> expected) {
  auto out = timed(Call::put, [&] { return inner_.put(kind, key, value, expected); });
  if (out) seen(out->revision);
  return out;
}

Result<std::int64_t> TimedStore::remove(std::string_view kind, std::string_view key,
                                        std::optional<std::int64_t> expected) {
  auto out = timed(Call::remove, [&] { return inner_.remove(kind, key, expected); });
  if (out) seen(*out);
  return out;
}

Result<std::int64_t> TimedStore::write(std::span<const Op> ops, std::span<const Guard> guards,
                                       const std::optional<Fence>& fence) {
  auto out = timed(Call::write, [&] { return inner_.write(ops, guards, fence); });
  if (out) seen(*out);
  return out;
}

Result<Page> TimedStore::list(std::string_view kind, std::string_view prefix,
                              std::string_view after_key, std::size_t limit) {
  auto out = timed(Call::list, [&] { return inner_.list(kind, prefix, after_key, limit); });
  if (out) seen(out->revision);
  return out;
}

void TimedStore::measure(MetricText& out) const {
  using Type = MetricText::Type;
  out.family("zood_store_seconds", Type::histogram, "Calls of the store");
  for (std::size_t i = 0; i < k_calls.size(); ++i)
    took_[i].write(out, {{"op", k_calls[i]}});
  out.family("zood_store_errors_total", Type::counter,
             "Calls of the store that failed, but for records that are not there or were another");
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [code, count] : errors_)
      out.sample(static_cast<double>(count), {{"code", error_row(code).name}});
  }
  out.family("zood_store_revision", Type::gauge, "The highest revision that a call has shown");
  out.sample(static_cast<double>(revision_.load()));
}

} // namespace zoo::store
