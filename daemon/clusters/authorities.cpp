// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/authorities.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/base/secret.hpp"
#include "common/crypto/issue.hpp"
#include "daemon/clusters/files.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace zoo::clusters {
namespace {

using Clock = std::chrono::system_clock;
namespace fs = std::filesystem;

constexpr std::array k_stages = {
    std::pair(AuthorityStage::settled, std::string_view("settled")),
    std::pair(AuthorityStage::announced, std::string_view("announced")),
    std::pair(AuthorityStage::used, std::string_view("used"))};

std::string next_name(std::string_view name) { return fmt::format("{}-next", name); }

/// The certificates of NAME.crt; none if it is not there, or cannot be read.
Result<std::vector<crypto::Certificate>> bundle_of(const fs::path& directory,
                                                   std::string_view name) {
  const auto text = file::read(pki_file(directory, name, "crt"));
  if (!text && text.error().code() == Code::not_found) return std::vector<crypto::Certificate>();
  if (!text) return fail(text.error());
  auto all = crypto::Certificate::bundle_from_pem(*text);
  if (all) return all;
  return std::vector<crypto::Certificate>();
}

/// Takes that of the key out of `all`, or makes one.
Result<crypto::Certificate> certificate_for(const crypto::PrivateKey& key,
                                            std::vector<crypto::Certificate>& all,
                                            const std::string& common_name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&key](const auto& each) { return each.belongs_to(key); });
  if (found == all.end()) return crypto::make_ca(key, common_name, k_authority_life);
  auto out = std::move(*found);
  all.erase(found);
  return out;
}

/// True: it was another text.
Result<bool> write_if_other(const fs::path& path, const std::string& text) {
  if (const auto there = file::read(path); there && *there == text) return false;
  ZOO_TRY_VOID(write_for_programs(path, text));
  return true;
}

} // namespace

std::string_view stage_name(AuthorityStage stage) {
  for (const auto& [each, name] : k_stages)
    if (each == stage) return name;
  return "";
}

std::optional<AuthorityStage> authority_stage(std::string_view name) {
  for (const auto& [stage, each] : k_stages)
    if (each == name) return stage;
  return std::nullopt;
}

bool may_follow(AuthorityStage now, AuthorityStage next) {
  using Stage = AuthorityStage;
  return (now == Stage::settled && next == Stage::announced) ||
         (now == Stage::announced && next != Stage::announced) ||
         (now == Stage::used && next == Stage::settled);
}

fs::path pki_file(const fs::path& directory, std::string_view name, std::string_view ending) {
  return directory / "pki" / fmt::format("{}.{}", name, ending);
}

Result<crypto::PrivateKey> ensure_key(const fs::path& path) {
  if (const auto text = file::read_secret(path)) {
    auto key = crypto::PrivateKey::from_pem(text->view());
    if (key) return key;
    log::warning("clusters", "{} is made anew: {}", path.string(), key.error().message());
  } else if (text.error().code() != Code::not_found) {
    return fail(text.error());
  }
  ZOO_TRY(auto key, crypto::PrivateKey::generate_p256());
  const auto pem = key.to_pem();
  ZOO_TRY_VOID(write_for_programs(path, pem.view()));
  return key;
}

Result<Authority> ensure_authority(const fs::path& directory, const AuthorityWish& wish,
                                   Clock::time_point now, std::vector<std::string>& written) {
  const auto signing_key = pki_file(directory, wish.name, "key");
  const auto next_key = pki_file(directory, next_name(wish.name), "key");
  std::error_code error;
  // One step: whoever was interrupted before it, or after it, comes out at the same.
  if (wish.stage == AuthorityStage::used && fs::exists(next_key, error))
    fs::rename(next_key, signing_key, error);
  if (wish.stage == AuthorityStage::settled) fs::remove(next_key, error);
  if (error) return fail(Code::io, "cannot change {}: {}", signing_key.string(), error.message());

  ZOO_TRY(auto key, ensure_key(signing_key));
  ZOO_TRY(auto known, bundle_of(directory, wish.name));
  std::erase_if(known, [now](const auto& each) { return each.not_after() <= now; });
  const auto own_name = fmt::format("{}-{}", wish.id, wish.name);
  ZOO_TRY(auto own, certificate_for(key, known, own_name));
  const auto own_pem = own.to_pem();
  auto trusted = own_pem;
  if (wish.stage == AuthorityStage::announced) {
    ZOO_TRY(const auto following, ensure_key(next_key));
    ZOO_TRY(const auto next,
            certificate_for(following, known, fmt::format("{}-{}", own_name, wish.turn)));
    trusted += next.to_pem();
  }
  if (wish.stage == AuthorityStage::used)
    for (const auto& former : known)
      trusted += former.to_pem();
  ZOO_TRY(const bool other, write_if_other(pki_file(directory, wish.name, "crt"), trusted));
  if (other) written.push_back(wish.name);
  ZOO_TRY_VOID(
      write_if_other(pki_file(directory, wish.name + "-signing", "crt"), own_pem).map([](bool) {}));
  return Authority{std::move(key), std::move(own)};
}

Result<std::vector<TrustedAuthority>> trusted_authorities(const fs::path& directory,
                                                          std::string_view name) {
  ZOO_TRY(const auto text, file::read(pki_file(directory, name, "crt")));
  ZOO_TRY(auto all, crypto::Certificate::bundle_from_pem(text));
  std::optional<crypto::PrivateKey> next;
  if (const auto pem = file::read_secret(pki_file(directory, next_name(name), "key"))) {
    ZOO_TRY(next, crypto::PrivateKey::from_pem(pem->view()));
  }
  std::vector<TrustedAuthority> out;
  for (auto& each : all) {
    const bool announced = next && each.belongs_to(*next);
    auto shown =
        out.empty() ? std::string(name) : fmt::format("{}-{}", name, announced ? "next" : "former");
    out.push_back({std::move(shown), std::move(each)});
  }
  return out;
}

Result<Authority> signing_authority(const fs::path& directory, std::string_view name) {
  ZOO_TRY(const auto text, file::read(pki_file(directory, name, "crt")));
  ZOO_TRY(auto all, crypto::Certificate::bundle_from_pem(text));
  ZOO_TRY(const auto pem, file::read_secret(pki_file(directory, name, "key")));
  ZOO_TRY(auto key, crypto::PrivateKey::from_pem(pem.view()));
  for (auto& each : all)
    if (each.belongs_to(key)) return Authority{std::move(key), std::move(each)};
  return fail(Code::not_found, "no certificate of {} is of its key", name);
}

} // namespace zoo::clusters
