// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/flows/flows.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <functional>
#include <memory>

namespace zoo::gateway {

/// A flow of several requests upstream, one after the other. A failure of the way ends the
/// exchange; `next` hears every answer, whatever its status.
class Steps : public Flow {
protected:
  explicit Steps(Exchange& exchange) : exchange_(exchange) {}

  void ask(const Outgoing& request, std::function<void(upstream::Answer)> next,
           std::string_view accept = "application/json");
  /// Upstream's refusal in the tenant's words.
  void refuse(const upstream::Answer& answer);

  Exchange& exchange_;

private:
  std::unique_ptr<upstream::BufferedCall> retired_, call_;
};

} // namespace zoo::gateway
