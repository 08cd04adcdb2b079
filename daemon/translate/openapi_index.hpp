// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/discovery.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::translate {

/// The index of /openapi/v3 in a tenant's names, read in chunks of any size: it names every
/// version of every group upstream (200 bytes each), of which what the tenant may not see is passed
/// over. The URL of an own group's document has the tenant's name, its hash stays. One a document;
/// mapping and catalog outlive it; not thread-safe. The document: k8s.io/kube-openapi,
/// pkg/handler3 (OpenAPIV3Discovery).
class OpenApiIndex {
public:
  OpenApiIndex(const Viewer& viewer, const Catalog& catalog)
      : viewer_(viewer), mapping_(viewer.mapping), catalog_(catalog) {}

  /// Code::internal: it is no such index. Nothing may be fed afterwards.
  Result<void> feed(std::string_view chunk);
  std::size_t held() const { return held_.size() + out_.size(); } ///< bytes
  /// The tenant's document. Code::internal: it is no index, or has not come to its end.
  Result<std::string> finish();

private:
  enum class Stage : std::uint8_t { document, members, paths, end };
  static constexpr std::size_t k_largest_entry = std::size_t{64} << 10;

  std::size_t step(std::string_view rest);
  bool foreign(std::string_view quoted_key) const;
  bool entry(std::string_view quoted_key, std::string_view value);

  const Viewer viewer_;
  const Mapping& mapping_;
  const Catalog& catalog_;
  Stage stage_ = Stage::document;
  bool paths_seen_ = false, broken_ = false;
  std::string held_; ///< an entry that is not whole yet
  std::string out_;  ///< the tenant's entries, with a comma behind each
};

} // namespace zoo::translate
