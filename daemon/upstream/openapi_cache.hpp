// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/gzip.hpp"
#include "daemon/translate/openapi_v2.hpp"

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace zoo::upstream {

/// What most tenants' OpenAPI v2 documents have in common: the built-in groups, merged, as text and
/// compressed.
struct CommonOpenApi {
  translate::OpenApiPart part;
  translate::OpenApiText text;
  gzip::Piece paths, definitions, parameters;
  std::string proto; ///< fields of an openapi.v2.Document
  gzip::Piece proto_piece;
};

/// What stands behind that of one tenant's own groups, as one kind of answer has it: text, or
/// fields of an openapi.v2.Document. Compressed with what separates its pieces.
struct OwnOpenApi {
  translate::OpenApiText text;
  std::string proto;
  gzip::Piece paths, definitions, parameters, proto_piece;
  std::size_t bytes() const;
};

/// Converted OpenAPI documents of one upstream, by path and hash: a document that changes has
/// another key. The least recently used go first. Any thread.
class OpenApiCache {
public:
  static constexpr std::size_t k_max_bytes = 64u << 20; ///< of single documents
  static constexpr std::size_t k_max_own_bytes = 64u << 20;
  static constexpr std::size_t k_max_common = 4;

  using PartPtr = std::shared_ptr<const translate::OpenApiPart>;
  using CommonPtr = std::shared_ptr<const CommonOpenApi>;
  using OwnPtr = std::shared_ptr<const OwnOpenApi>;

  /// The right to fetch or make what is missing, given back on destruction: of many who ask at the
  /// same time one reads and the others find. Does not outlive the cache.
  class Turn {
  public:
    Turn(OpenApiCache& cache, std::string whose) : cache_(&cache), whose_(std::move(whose)) {}
    Turn(Turn&& other) noexcept
        : cache_(std::exchange(other.cache_, nullptr)), whose_(std::move(other.whose_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn();
    const std::string& whose() const { return whose_; }

  private:
    OpenApiCache* cache_;
    std::string whose_;
  };
  /// `whose`: a tenant's ID, or "" for what all have in common. Nothing: somebody else has it now.
  std::optional<Turn> turn(const std::string& whose);

  PartPtr find(const std::string& key);
  void put(const std::string& key, PartPtr part);
  CommonPtr find_common(const std::string& key);
  void put_common(const std::string& key, CommonPtr common);
  OwnPtr find_own(const std::string& key);
  void put_own(const std::string& key, OwnPtr own);

private:
  template <typename Value>
  struct Kept {
    struct Entry {
      std::string key;
      Value value;
      std::size_t weight;
    };
    std::size_t most;         ///< what all together weigh
    std::list<Entry> order{}; ///< the latest first
    std::map<std::string, typename std::list<Entry>::iterator> index{};
    std::size_t weighs = 0;

    Value find(const std::string& key);
    void put(const std::string& key, Value value, std::size_t weight); ///< not if it is there
  };
  std::mutex mutex_;
  Kept<PartPtr> parts_{k_max_bytes};
  Kept<CommonPtr> common_{k_max_common};
  Kept<OwnPtr> own_{k_max_own_bytes};
  std::set<std::string> turns_;
};

} // namespace zoo::upstream
