// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/authorities.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/crypto/certificate.hpp"
#include "daemon/tenants/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace zoo::app {
namespace {

constexpr std::string_view k_until = "# trusted until ";
constexpr std::string_view k_end_of_block = "-----END CERTIFICATE-----";
/// How much later a time must be to be written down: a start writes nothing that is as it was.
constexpr std::chrono::hours k_worth_writing{24};

struct Remembered {
  std::string pem;
  Authorities::Time until;
};

/// What can be read of the file. A block without its line, or with one that is broken, is left out.
std::vector<Remembered> read_remembered(std::string_view text) {
  std::vector<Remembered> out;
  for (;;) {
    const auto at = text.find(k_until);
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + k_until.size());
    const auto line = text.substr(0, text.find('\n'));
    const auto end = text.find(k_end_of_block);
    if (end == std::string_view::npos) return out;
    const auto block = text.substr(line.size(), end + k_end_of_block.size() - line.size());
    const auto certificate = crypto::Certificate::from_pem(block);
    if (const auto until = tenants::parse_time(line); certificate && until != Authorities::Time{})
      out.push_back({certificate->to_pem(), until});
    text.remove_prefix(end + k_end_of_block.size());
  }
}

std::string written(const std::vector<Remembered>& all) {
  std::string out;
  for (const auto& each : all)
    out += fmt::format("{}{}\n{}", k_until, tenants::time_text(each.until), each.pem);
  return out;
}

} // namespace

Result<std::string> Authorities::bundle(std::string_view trusted, Time now) {
  ZOO_TRY(const auto certificates, crypto::Certificate::bundle_from_pem(trusted));
  const auto text = file::read(file_);
  if (!text && text.error().code() != Code::not_found)
    log::error("app", "authorities that were trusted are not known: {}", text.error().text());
  const auto remembered = read_remembered(text ? *text : std::string());
  auto former = remembered;
  std::vector<Remembered> all;
  bool worth = false;
  for (const auto& each : certificates) {
    auto pem = each.to_pem();
    const auto among = [&pem](const Remembered& one) { return one.pem == pem; };
    if (std::any_of(all.begin(), all.end(), among)) continue;
    const auto known = std::find_if(former.begin(), former.end(), among);
    if (known != former.end()) {
      worth = worth || now + k_kept - known->until > k_worth_writing;
      former.erase(known);
    }
    all.push_back({std::move(pem), now + k_kept});
  }
  std::stable_sort(former.begin(), former.end(),
                   [](const auto& left, const auto& right) { return left.until > right.until; });
  for (auto& each : former) {
    const auto certificate = crypto::Certificate::from_pem(each.pem);
    const bool ended = each.until <= now || !certificate || certificate->not_after() <= now;
    if (ended || all.size() >= std::max(k_most, certificates.size())) continue;
    all.push_back(std::move(each));
  }
  const bool same =
      std::equal(all.begin(), all.end(), remembered.begin(), remembered.end(),
                 [](const auto& left, const auto& right) { return left.pem == right.pem; });
  if (worth || !same) {
    if (const auto done = file::write_secret(file_, written(all)); !done)
      log::error("app", "the authorities that pods trust are not remembered: {}",
                 done.error().text());
  }
  std::string out;
  for (const auto& each : all)
    out += each.pem;
  return out;
}

} // namespace zoo::app
