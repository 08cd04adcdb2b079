// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/watch_event.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::upstream {

/// A resourceVersion as the number that it is in Kubernetes since 1.35 (KEP-5504); nullopt for
/// what is none, as an extension API server may have it.
std::optional<std::uint64_t> version_of(std::string_view resource_version);

/// One event of a shared watch. Immutable, shared by all loops; read once from upstream's bytes.
struct SharedEvent {
  translate::EventType type = translate::EventType::added;
  std::string text;          ///< as upstream wrote it
  std::string key;           ///< "<namespace>/<name>" or "<name>"
  std::uint64_t version = 0; ///< where it stands in upstream's order
  std::size_t object_begin = 0, object_size = 0;

  std::string_view object() const {
    return std::string_view(text).substr(object_begin, object_size);
  }
};
using EventPtr = std::shared_ptr<const SharedEvent>;

/// Cuts a frame into type and object; looks at the first bytes only where they are as Kubernetes
/// writes them.
Result<translate::Event> split_event(std::string_view text);

/// Code::internal for an object without metadata or with a version that is no number.
Result<EventPtr> make_shared_event(std::string_view text, const translate::Event& event,
                                   bool namespaced);
/// An event that zood makes of an object.
EventPtr make_shared_event(translate::EventType type, std::string_view object, std::string key,
                           std::uint64_t version);

/// Events are told apart by the first bytes of their keys, which are a tenant's prefix where the
/// object is a tenant's.
inline constexpr std::size_t k_bucket = 7;
inline std::string_view bucket_of(std::string_view key) { return key.substr(0, k_bucket); }

/// An event while it is handed to the subscribers of one loop: parsed whole at most once for all.
class EventView {
public:
  explicit EventView(const SharedEvent& event) : event_(event) {}
  const SharedEvent& event() const { return event_; }
  /// Null node if it is no JSON.
  translate::JsonNode object() {
    if (!tried_) {
      tried_ = true;
      if (auto tree = translate::JsonTree::parse(event_.object())) tree_.emplace(*std::move(tree));
    }
    return tree_ ? tree_->root() : translate::JsonNode();
  }

private:
  const SharedEvent& event_;
  bool tried_ = false;
  std::optional<translate::JsonTree> tree_;
};

} // namespace zoo::upstream
