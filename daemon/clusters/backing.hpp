// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/record.hpp"
#include "daemon/resources/backing.hpp"

#include <functional>
#include <memory>
#include <string>

namespace zoo::clusters {

/// Virtual clusters as the API room reads and writes them: records of the store. Every
/// administrator sees all. Calls block for the disk.
class ClusterBacking final : public resources::Backing {
public:
  /// `wake`: told the key of a cluster whose record has been written. The store outlives it.
  ClusterBacking(store::Store& store, std::function<void(const std::string& key)> wake)
      : store_(store), wake_(std::move(wake)) {}

  Result<resources::ObjectPtr> get(const resources::Who& caller,
                                   const resources::Key& key) override;
  Result<resources::Page> list(const resources::Who& caller, std::string_view space,
                               const resources::Key& after, std::size_t limit) override;
  Result<std::unique_ptr<resources::Subscription>>
  watch(const resources::Who& caller, std::int64_t revision,
        std::function<void(const resources::Change&)> on_change) override;
  Result<resources::Written> create(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override;
  Result<resources::Written> update(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override;
  /// Marks it for deletion; the controller does the rest, and the record goes last.
  Result<resources::Written> remove(const resources::Who& caller, const resources::Key& key,
                                    const resources::Preconditions& expected,
                                    const resources::WriteOptions& options) override;

private:
  store::Store& store_;
  std::function<void(const std::string& key)> wake_;
};

/// A record that is not written yet, of an object that somebody wants.
Record new_record(nlohmann::json object);
/// Marks it for deletion; false: it is already.
bool mark_deleted(Record& record);

} // namespace zoo::clusters
