// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/query.hpp"
#include "daemon/translate/selector.hpp"
#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/shared_event.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace zoo::upstream {

/// Where the shared watch of a kind is, and what of it a path asks for:
/// "/api/v1/namespaces/foofoo-a/pods" is the keys of "/api/v1/pods" that begin with "foofoo-a/".
struct SharedPlace {
  std::string path;
  std::string key_prefix; ///< what its keys lack in those of the shared watch
};
SharedPlace shared_place(std::string_view path);

/// The selectors of one subscriber, in upstream's names, asked of each event of its ranges. With
/// selectors over what can change it keeps the keys of the objects that match, and turns an event
/// by which an object begins or ceases to match into ADDED or DELETED, as upstream does
/// (k8s.io/apiserver pkg/storage/cacher cache_watcher.go). Of one thread.
class WatchFilter {
public:
  static constexpr std::size_t k_key = 96; ///< that one costs besides its text

  /// nullopt: these selectors, or their fields of this kind, cannot be judged here. `partial`: the
  /// objects are metadata alone.
  static std::optional<WatchFilter> make(std::string_view path, const translate::Params& params,
                                         bool partial);

  bool keeps_keys() const { return keeps_keys_; }
  void remember(std::string key);
  void forget_keys() {
    std::unordered_set<std::string>().swap(keys_);
    key_bytes_ = 0;
  }
  std::size_t keys() const { return keys_.size(); }
  std::size_t key_bytes() const { return key_bytes_; } ///< about what they cost

  /// What the event is to this subscriber; nullopt: nothing.
  std::optional<translate::EventType> apply(EventView& event);

private:
  struct Field {
    std::vector<std::string> path;
    std::string absent; ///< the value of an object without it
    bool equal = true;
    std::string value;
  };
  bool matches(EventView& event) const;

  std::vector<Field> fields_;
  std::vector<translate::FieldTerm> names_; ///< metadata.name and metadata.namespace
  std::vector<translate::LabelRequirement> labels_;
  bool keeps_keys_ = false;
  std::unordered_set<std::string> keys_;
  std::size_t key_bytes_ = 0;
};

} // namespace zoo::upstream
