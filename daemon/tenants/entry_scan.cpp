// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/entry_scan.hpp"

#include "common/api/tenant.hpp"
#include "daemon/tenants/certificates.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/translate/json.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace zoo::tenants {
namespace {

/// Each member of the object `text`, key without quotes; false if it is none, a key is escaped, or
/// `visit` says so.
template <class Visit>
bool each_member(std::string_view text, const Visit& visit) {
  using namespace translate;
  const char* const end = text.data() + text.size();
  const char* p = skip_space(text.data(), end);
  if (p == end || *p != '{') return false;
  p = skip_space(p + 1, end);
  if (p != end && *p == '}') return skip_space(p + 1, end) == end;
  for (;;) {
    bool escaped = false;
    const char* const key = p;
    const char* const key_end = skip_string(key, end, &escaped);
    if (key_end == nullptr || escaped) return false;
    p = skip_space(key_end, end);
    if (p == end || *p != ':') return false;
    const char* const value = skip_space(p + 1, end);
    const char* const value_end = skip_value(value, end);
    if (value_end == nullptr) return false;
    if (!visit(std::string_view(key + 1, key_end - 1), std::string_view(value, value_end))) {
      return false;
    }
    p = skip_space(value_end, end);
    if (p == end) return false;
    if (*p == '}') return skip_space(p + 1, end) == end;
    if (*p != ',') return false;
    p = skip_space(p + 1, end);
  }
}

/// A string without escapes.
bool text_of(std::string_view value, std::string_view& out) {
  if (value.size() < 2 || value.front() != '"' || value.find('\\') != std::string_view::npos) {
    return false;
  }
  out = value.substr(1, value.size() - 2);
  return true;
}

struct Metadata {
  std::string_view name, uid, created, deleted, generation;
};

bool read_metadata(std::string_view value, Metadata& out) {
  return each_member(value, [&](std::string_view key, std::string_view member) {
    if (key == "name") return text_of(member, out.name);
    if (key == "uid") return text_of(member, out.uid);
    if (key == "creationTimestamp") return text_of(member, out.created);
    if (key == "deletionTimestamp") return text_of(member, out.deleted);
    if (key == "generation") out.generation = member;
    // May hold what is heard as a term.
    return key != "annotations";
  });
}

bool read_spec(std::string_view value, bool& suspended, std::string_view& account) {
  return each_member(value, [&](std::string_view key, std::string_view member) {
    if (key == "suspended") {
      suspended = member == "true";
      return suspended || member == "false";
    }
    if (key == "account") return text_of(member, account);
    return key == "displayName" || key == "id";
  });
}

struct Status {
  std::string_view phase, observed;
  bool ready = false, populated = false, furnished = false, expiring = false;
};

bool read_condition(std::string_view value, Status& out) {
  std::string_view type, status;
  const bool whole = each_member(value, [&](std::string_view key, std::string_view member) {
    if (key == "type") return text_of(member, type);
    if (key == "status") return text_of(member, status);
    return true;
  });
  if (!whole) return false;
  if (type == "Ready") out.ready = status == "True";
  if (type == "Populated") out.populated = status == "True";
  if (type == k_expiring) out.expiring = status == "True";
  if (type == k_in_cluster) out.furnished = true;
  return true;
}

bool read_conditions(std::string_view value, Status& out) {
  using namespace translate;
  const char* const end = value.data() + value.size();
  const char* p = skip_space(value.data(), end);
  if (p == end || *p != '[') return false;
  p = skip_space(p + 1, end);
  while (p != end && *p != ']') {
    const char* const after = skip_value(p, end);
    if (after == nullptr || !read_condition({p, after}, out)) return false;
    p = skip_space(after, end);
    if (p != end && *p == ',') p = skip_space(p + 1, end);
  }
  return p != end && p + 1 == end;
}

bool read_status(std::string_view value, Status& out) {
  return each_member(value, [&](std::string_view key, std::string_view member) {
    if (key == "phase") return text_of(member, out.phase);
    if (key == "observedGeneration") out.observed = member;
    if (key == "conditions") return read_conditions(member, out);
    return key != "credentials";
  });
}

} // namespace

std::shared_ptr<const TenantEntry> scan_entry(const store::Record& record) {
  std::string_view version, kind;
  Metadata metadata;
  Status status;
  bool suspended = false;
  std::string_view account;
  const bool whole = each_member(record.value, [&](std::string_view key, std::string_view value) {
    if (key == "apiVersion") return text_of(value, version);
    if (key == "kind") return text_of(value, kind);
    if (key == "metadata") return read_metadata(value, metadata);
    if (key == "spec") return read_spec(value, suspended, account);
    return key == "status" && read_status(value, status);
  });
  if (!whole || version != api::k_tenant_api_version || kind != api::k_tenant_kind ||
      metadata.name != record.key || metadata.uid.empty()) {
    return nullptr;
  }
  static constexpr std::array<std::pair<std::string_view, Phase>, 5> k_phases{{
      {"Pending", Phase::pending},
      {"Ready", Phase::ready},
      {"Suspended", Phase::suspended},
      {"Deleting", Phase::deleting},
      {"Failed", Phase::failed},
  }};
  const auto phase = std::find_if(k_phases.begin(), k_phases.end(),
                                  [&](const auto& row) { return row.first == status.phase; });
  if (phase == k_phases.end()) return nullptr;
  auto entry = std::make_shared<TenantEntry>();
  entry->id = metadata.name;
  entry->uid = metadata.uid;
  entry->created = metadata.created;
  entry->revision = record.revision;
  entry->account = account;
  entry->phase = phase->second;
  if (suspended && entry->admits()) entry->phase = Phase::suspended;
  if (!metadata.deleted.empty()) entry->phase = Phase::deleting;
  entry->settled = status.ready && status.populated && status.furnished &&
                   status.observed == metadata.generation && metadata.deleted.empty();
  entry->expiring = status.expiring;
  return entry;
}

} // namespace zoo::tenants
