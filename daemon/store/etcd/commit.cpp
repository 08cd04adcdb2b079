// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/etcd/commit.hpp"

#include "common/kube/age.hpp"
#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <chrono>
#include <utility>

namespace zoo::store::etcd {
namespace {

using nlohmann::json;

constexpr std::size_t k_most_marks = 16;
constexpr int k_rounds = 4;
constexpr std::int64_t k_old_seconds = 24 * 3600;

/// The answers of a transaction, each without its name.
std::vector<json> answers_of(json& answer) {
  std::vector<json> out;
  const auto found = answer.find("responses");
  if (found == answer.end()) return out;
  for (auto& each : *found)
    out.push_back(each.is_object() && !each.empty() ? std::move(each.begin().value()) : json());
  return out;
}

} // namespace

/// A mark in use, given back at the end.
class Committer::Taken {
public:
  explicit Taken(Committer& owner) : owner_(owner) {
    std::unique_lock lock(owner_.mutex_);
    owner_.free_.wait(lock, [&] { return !owner_.marks_.empty() || owner_.made_ < k_most_marks; });
    if (owner_.marks_.empty()) {
      mark.key = owner_.prefix_ + std::to_string(owner_.made_++);
    } else {
      mark = std::move(owner_.marks_.back());
      owner_.marks_.pop_back();
    }
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.marks_.push_back(std::move(mark));
    owner_.free_.notify_one();
  }
  Mark mark;

private:
  Committer& owner_;
};

Committer::Committer(Gateway& gateway, const Layout& layout, std::string name)
    : gateway_(gateway), prefix_(layout.writer(name) + "/") {}

Result<Committed> Committer::commit(const Transaction& transaction) {
  Taken taken(*this);
  auto out = commit_with(taken.mark, transaction);
  if (!out && out.error().code() == Code::unavailable)
    return fail(Code::unavailable, "{}; what was to be written may have been",
                out.error().message());
  return out;
}

json Committer::body(const Mark& mark, std::string_view value,
                     const Transaction& transaction) const {
  json out{{"compare", transaction.compare},
           {"success", transaction.success},
           {"failure", transaction.failure}};
  out["compare"].push_back(modified_is(mark.key, mark.modified));
  out["success"].push_back(request_put(mark.key, value));
  out["failure"].push_back(request_range(range(mark.key)));
  return out;
}

Result<Committed> Committer::commit_with(Mark& mark, const Transaction& transaction) {
  // The time is for remove_old_marks.
  const auto wanted = fmt::format("{} {}", ++mark.uses, kube::unix_now());
  for (int round = 0; round < k_rounds; ++round) {
    bool repeated = false;
    ZOO_TRY(auto answer,
            gateway_.ask("/v3/kv/txn", body(mark, wanted, transaction), {}, {}, &repeated));
    Committed out;
    out.revision = header_revision(answer);
    out.answers = answers_of(answer);
    const auto requests =
        flag(answer, "succeeded") ? transaction.success.size() : transaction.failure.size();
    if (out.answers.size() != requests + 1)
      return fail(Code::internal, "etcd answered {} of {} requests of a transaction",
                  out.answers.size(), requests + 1);
    if (flag(answer, "succeeded")) {
      mark.modified = out.revision;
      out.done = true;
      return out;
    }
    ZOO_TRY(const auto found, first_of(out.answers.back()));
    if (found.modified == mark.modified) { // it is another comparison that does not hold
      if (repeated) {
        ZOO_TRY(const bool never, rule_out(mark, wanted));
        if (!never) return Committed{true, mark.modified, false, {}};
      }
      return out;
    }
    mark.modified = found.modified;
    if (found.value == wanted) return Committed{true, found.modified, false, {}};
    // A late copy of the transaction before was done meanwhile: this one is still to be done.
  }
  return fail(Code::internal, "etcd's mark {} is written by somebody else", mark.key);
}

Result<bool> Committer::rule_out(Mark& mark, std::string_view wanted) {
  json compare = json::array(), success = json::array(), failure = json::array();
  const auto value = fmt::format("{} {}", ++mark.uses, kube::unix_now());
  ZOO_TRY(auto answer, gateway_.ask("/v3/kv/txn", body(mark, value, {compare, success, failure})));
  if (flag(answer, "succeeded")) {
    mark.modified = header_revision(answer);
    return true;
  }
  const auto answers = answers_of(answer);
  ZOO_TRY(const auto found, first_of(answers.empty() ? json::object() : answers.back()));
  mark.modified = found.modified;
  return found.value != wanted;
}

void Committer::finish() {
  const auto end = end_of_prefix(prefix_);
  (void)gateway_.ask("/v3/kv/deleterange", range(prefix_, end),
                     {std::chrono::milliseconds(1'000), std::chrono::milliseconds(1'000)});
}

Result<void> remove_old_marks(Gateway& gateway, const Layout& layout) {
  const auto begin = layout.writer("");
  auto look = range(begin, end_of_prefix(begin));
  look["limit"] = "10000";
  ZOO_TRY(const auto answer, gateway.ask("/v3/kv/range", look));
  const auto now = kube::unix_now();
  for (const auto& each : kube::list_at(answer, "/kvs")) {
    ZOO_TRY(const auto mark, read_key_value(each));
    const auto space = mark.value.find(' ');
    std::int64_t time = 0;
    if (space != std::string::npos)
      std::from_chars(mark.value.data() + space + 1, mark.value.data() + mark.value.size(), time);
    if (time + k_old_seconds < now)
      ZOO_TRY_VOID(gateway.ask("/v3/kv/deleterange", range(mark.key)));
  }
  return {};
}

} // namespace zoo::store::etcd
