// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/certificates.hpp"

#include "common/base/log.hpp"
#include "daemon/tenants/records.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::tenants {
namespace {

using nlohmann::json;

constexpr std::size_t k_named = 3; ///< in a condition's message

std::string prefix_of(std::string_view id) { return std::string(id) + "/"; }

json to_json(const IssuedCertificate& issued) {
  return {{"user", issued.user},       {"groups", issued.groups}, {"issued", issued.issued},
          {"expires", issued.expires}, {"source", issued.source}, {"uid", issued.uid},
          {"epoch", issued.epoch}};
}

bool from_record(const store::Record& record, IssuedCertificate& out) {
  const auto value = json::parse(record.value, nullptr, false);
  if (!value.is_object()) return false;
  try {
    out.serial = record.key.substr(record.key.find('/') + 1);
    out.user = value.at("user").get<std::string>();
    out.groups = value.at("groups").get<std::vector<std::string>>();
    out.issued = value.at("issued").get<std::string>();
    out.expires = value.at("expires").get<std::string>();
    out.source = value.at("source").get<std::string>();
    out.uid = value.at("uid").get<std::string>();
    out.epoch = value.at("epoch").get<std::int64_t>();
  } catch (const json::exception&) {
    return false;
  }
  return true;
}

/// Which of them go to make room for one more: the expired ones, else the one that ends first of
/// those that a tenant asked for itself, which push out nothing of what an operator handed out.
std::vector<std::string> superfluous(const std::vector<store::Record>& records) {
  const auto now = now_text();
  std::vector<std::string> out;
  std::pair<std::string, std::string> first;
  for (const auto& record : records) {
    IssuedCertificate each;
    const auto expires = from_record(record, each) ? each.expires : std::string();
    if (expires <= now) out.push_back(record.key);
    const auto rank = (each.source == "request" ? "0" : "1") + expires;
    if (first.second.empty() || rank < first.first) first = {rank, record.key};
  }
  if (out.empty()) out.push_back(first.second);
  return out;
}

} // namespace

Result<IssuedCertificate> describe_certificate(const crypto::Certificate& certificate,
                                               std::string_view source) {
  ZOO_TRY(auto who, identity_of(certificate));
  IssuedCertificate out;
  out.serial = std::move(who.serial);
  out.user = std::move(who.user);
  out.groups = std::move(who.groups);
  out.issued = now_text();
  out.expires = time_text(certificate.not_after());
  out.source = source;
  out.uid = std::move(who.uid);
  out.epoch = who.epoch;
  return out;
}

Result<void> record_certificate(store::Store& store, std::string_view id,
                                const IssuedCertificate& issued) {
  ZOO_TRY(const auto page, store.list(k_certificate_kind, prefix_of(id)));
  if (page.records.size() >= k_most_certificates) {
    for (const auto& key : superfluous(page.records)) {
      if (auto gone = store.remove(k_certificate_kind, key);
          !gone && gone.error().code() != Code::not_found)
        return fail(std::move(gone).error());
    }
  }
  ZOO_TRY(const auto record,
          store.put(k_certificate_kind, prefix_of(id) + issued.serial,
                    to_json(issued).dump(-1, ' ', false, json::error_handler_t::replace)));
  (void)record;
  return {};
}

Result<std::vector<IssuedCertificate>> recorded_certificates(store::Store& store,
                                                             const api::Tenant& tenant) {
  ZOO_TRY(const auto page, store.list(k_certificate_kind, prefix_of(tenant.id)));
  const auto now = now_text();
  std::vector<IssuedCertificate> out;
  for (const auto& record : page.records) {
    IssuedCertificate each;
    if (!from_record(record, each)) {
      log::error("tenants", "the record of certificate {} in zood's store cannot be read",
                 record.key);
      continue;
    }
    if (each.uid == tenant.uid && each.expires > now) out.push_back(std::move(each));
  }
  std::sort(out.begin(), out.end(),
            [](const auto& left, const auto& right) { return left.expires < right.expires; });
  return out;
}

Result<void> forget_certificates(store::Store& store, std::string_view id) {
  ZOO_TRY(const auto page, store.list(k_certificate_kind, prefix_of(id)));
  for (const auto& record : page.records) {
    if (auto gone = store.remove(k_certificate_kind, record.key);
        !gone && gone.error().code() != Code::not_found)
      return fail(std::move(gone).error());
  }
  return {};
}

bool is_revoked(const api::Tenant& tenant, const IssuedCertificate& issued) {
  return issued.uid != tenant.uid || issued.epoch < tenant.credentials.epoch ||
         tenant.credentials.revokes(issued.serial);
}

Result<std::string> read_serial(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ':') continue;
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!((lower >= '0' && lower <= '9') || (lower >= 'a' && lower <= 'f'))) {
      return fail(Code::invalid, "a certificate's serial is a hexadecimal number");
    }
    out += lower;
  }
  if (out.empty() || out.size() > 40) { // RFC 5280 4.1.2.2: at most 20 octets
    return fail(Code::invalid, "a certificate's serial has 1 to 40 hexadecimal digits");
  }
  return out;
}

void judge_expiry(api::Tenant& tenant, const std::vector<IssuedCertificate>& known,
                  std::chrono::seconds warning, std::string_view now) {
  std::vector<std::string> named;
  std::size_t ending = 0;
  for (const auto& each : known) {
    const auto expires = parse_time(each.expires);
    if (is_revoked(tenant, each) || expires - parse_time(each.issued) <= 2 * warning ||
        expires - parse_time(now) >= warning)
      continue;
    if (++ending <= k_named) {
      named.push_back(fmt::format("{} of {} on {}", each.serial, each.user, each.expires));
    }
  }
  if (ending == 0) {
    tenant.set_condition(k_expiring, "False", "Valid", "no certificate ends soon", now);
    return;
  }
  const auto more =
      ending > k_named ? fmt::format(" and {} more", ending - k_named) : std::string();
  tenant.set_condition(
      k_expiring, "True", "EndsSoon",
      fmt::format("certificates end: {}{}; export new ones", fmt::join(named, ", "), more), now);
}

} // namespace zoo::tenants
