// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/moving.hpp"

#include "common/crypto/digest.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace zoo::store {
namespace {

using nlohmann::json;

constexpr std::string_view k_store_kind = "store";
constexpr std::string_view k_arriving = "arriving";
constexpr std::string_view k_moved = "moved";
/// Between the revisions of before and those behind: more than are written while nobody looks.
constexpr std::int64_t k_leap = 1'000'000;

/// Each length before its bytes, so that no two lists of records have one text.
void add(std::string& text, std::string_view part) {
  text += fmt::format("{} ", part.size());
  text += part;
}

Moved measure(const Snapshot& all) {
  Moved out;
  std::string digests;
  for (const auto& record : all.records) {
    if (record.kind == k_store_kind) continue;
    ++out.records;
    out.bytes += record.value.size();
    std::string text;
    add(text, record.kind);
    add(text, record.key);
    add(text, record.value);
    digests += crypto::view(crypto::sha256(text));
  }
  out.revision = all.revision;
  out.digest = crypto::hex_encode(crypto::view(crypto::sha256(digests)));
  return out;
}

Result<std::optional<json>> read(Store& store, std::string_view key) {
  const auto record = store.get(k_store_kind, key);
  if (!record && record.error().code() == Code::not_found) return std::nullopt;
  if (!record) return fail(record.error());
  auto out = json::parse(record->value, nullptr, false);
  return out.is_object() ? std::optional(std::move(out)) : std::optional(json::object());
}

Result<void> check_sizes(const Snapshot& all, const Limits& limits) {
  for (const auto& record : all.records) {
    if (record.value.size() > limits.value)
      return fail(Code::too_large, "{} '{}' has {} bytes, and the new store takes {} at most",
                  record.kind, record.key, record.value.size(), limits.value);
  }
  return {};
}

} // namespace

Result<Moved> weigh_store(Store& from, const Limits& to) {
  ZOO_TRY(const auto all, from.snapshot());
  ZOO_TRY_VOID(check_sizes(all, to));
  return measure(all);
}

Result<Moved> copy_store(Store& from, Store& to) {
  ZOO_TRY(auto all, from.snapshot());
  ZOO_TRY_VOID(check_sizes(all, to.limits()));
  std::erase_if(all.records, [](const Record& each) { return each.kind == k_store_kind; });
  const auto was = measure(all);
  all.revision += k_leap;
  // In its place: records are by kind and key.
  const Record mark{std::string(k_store_kind), std::string(k_arriving),
                    json{{"whole", false}}.dump(), all.revision, all.revision};
  all.records.insert(std::upper_bound(all.records.begin(), all.records.end(), mark,
                                      [](const Record& a, const Record& b) {
                                        return std::tie(a.kind, a.key) < std::tie(b.kind, b.key);
                                      }),
                     mark);
  ZOO_TRY_VOID(to.load(all));
  ZOO_TRY(const auto back, to.snapshot());
  const auto is = measure(back);
  if (is.records != was.records || is.digest != was.digest) {
    return fail(
        Code::internal,
        "the new store holds {} records with the digest {}, the old one {} with {}: nothing "
        "was changed in the old one",
        is.records, is.digest, was.records, was.digest);
  }
  ZOO_TRY(const auto done, to.put(k_store_kind, k_arriving, json{{"whole", true}}.dump()));
  auto out = was;
  out.revision = done.revision;
  return out;
}

Result<void> mark_moved(Store& from, std::string_view to) {
  ZOO_TRY_VOID(from.put(k_store_kind, k_moved, json{{"to", to}}.dump()));
  return {};
}

Result<void> take_into_use(Store& store) {
  ZOO_TRY(const auto moved, read(store, k_moved));
  if (moved) {
    return fail(Code::usage,
                "this zood's records were moved to {}: name that store in its configuration "
                "(store.driver and what belongs to it, zood.yaml(5))",
                moved->value("to", "another store"));
  }
  ZOO_TRY(const auto arriving, read(store, k_arriving));
  if (!arriving) return {};
  if (!arriving->value("whole", false)) {
    return fail(Code::conflict,
                "the store holds what a migration left unfinished: start zood as it "
                "was before, and say `zooctl store migrate --clear-target`");
  }
  auto done = store.remove(k_store_kind, k_arriving);
  if (!done && done.error().code() != Code::not_found) return fail(std::move(done).error());
  return {};
}

Result<bool> may_clear(Store& store) {
  ZOO_TRY(const auto moved, read(store, k_moved));
  if (moved) return true;
  ZOO_TRY(const auto arriving, read(store, k_arriving));
  return arriving.has_value();
}

} // namespace zoo::store
