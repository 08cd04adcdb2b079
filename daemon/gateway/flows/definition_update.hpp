// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/definitions.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/upstream/list_source.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Updates of CustomResourceDefinitions, so that upstream can read what is stored under them
/// (docs/decisions/160).
namespace zoo::gateway {

/// Holds an update of a definition, or of its status, against what is stored. Where it drops stored
/// versions, every object of the kind is written once more first, so that none is left in them.
/// Owned by a flow; destroying it cancels. Loop thread.
class DefinitionFence final : private Asking, private upstream::ListHandler {
public:
  struct Verdict {
    std::string body;           ///< what is stored instead; "": what was asked for
    std::optional<Actor> actor; ///< zood: upstream's policies let nobody else drop a version
  };
  /// `path`: the definition's upstream, without subresource. `after`: what would be stored, whole
  /// and in upstream's names. `trial`: nothing is to be written. One of `then` and `moved`, which
  /// is called where the definition is not the one that `after` was made from, comes once, or the
  /// exchange fails.
  DefinitionFence(Exchange& exchange, std::string path, std::string after, bool trial,
                  std::function<void(Verdict)> then, std::function<void()> moved);
  void start();

private:
  void judge(const std::string& before);
  void rewrite_objects(const std::string& before);
  void next_object();
  void refuse_object(const upstream::Answer& answer);

  void on_list_begin(std::string_view) override {}
  void on_list_item(std::string_view key, std::string_view item) override;
  void on_list_end(const upstream::ListEnd& end) override;
  void on_list_error(const Error& error, int http_status, std::string_view body) override;

  std::string path_, after_;
  bool trial_;
  std::function<void(Verdict)> then_;
  std::function<void()> moved_;
  Verdict verdict_;
  std::string version_, resource_; ///< of the kind's objects
  bool namespaced_ = false;
  ListPlan plan_{Actor::zood(Reason::own_keys)};
  std::vector<std::string> objects_; ///< their paths behind version_
  std::size_t at_ = 0;
  std::unique_ptr<upstream::List> list_; // last: cancelled first
};

/// `object`, a whole definition, was just written: notes when its generation was first seen.
void note_definition(const Exchange& exchange, std::string_view object);

/// PUT of a definition or of its status. `request.body` is translated and proven.
std::unique_ptr<Flow> update_definition(Exchange& exchange, Outgoing request, Rendering rendering);

} // namespace zoo::gateway
