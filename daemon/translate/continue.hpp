// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/mapping.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The `continue` token of lists, both sides (DESIGN 6): upstream's, which is plain base64url JSON
/// (k8s.io/apiserver pkg/storage/continue.go calls it a public structure that cannot change), and
/// what zood hands to tenants instead. Pure functions, any thread.
namespace zoo::translate {

/// Where a list stands upstream.
struct UpstreamPosition {
  std::int64_t revision = -1; ///< -1: latest, consistent; never 0
  std::string start;          ///< first key wanted: "<namespace>/<name>\0" or "<name>\0"
  bool operator==(const UpstreamPosition&) const = default;
};

/// The forged token that seeks straight to a tenant: first key behind `prefix` ("foofoo-"), as of
/// now, or exactly at `revision`.
std::string range_start_token(std::string_view prefix, std::int64_t revision = -1);
/// The same from any start key.
std::string upstream_token(const UpstreamPosition& position);

/// Reads a token that upstream made (a leading "/" of the key is dropped). Code::bad_request.
Result<UpstreamPosition> parse_upstream_token(std::string_view token);

/// The key in a position as the tenant knows it ("default/web"), without the final NUL; nullopt if
/// it lies outside the tenant's range. Namespaced and prefixed cluster-scoped kinds alike.
std::optional<std::string> tenant_key(const Mapping& mapping, std::string_view start);

/// The plaintext that is sealed into a tenant's token. Everything that a token may not be carried
/// over to is in it: another tenant, a recreated one, another path, other selectors.
struct ContinueRecord {
  std::string tenant, uid;
  std::string path_hash, selector_hash; ///< bytes of a digest, made by the caller
  std::int64_t revision = -1;
  std::string start;
  bool operator==(const ContinueRecord&) const = default;
};

/// Length-prefixed fields behind a version byte; unambiguous for any bytes.
std::string format_record(const ContinueRecord& record);
/// Code::bad_request for anything that format_record() did not write.
Result<ContinueRecord> parse_record(std::string_view bytes);

} // namespace zoo::translate
