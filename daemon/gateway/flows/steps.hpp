// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/flows/flows.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <functional>
#include <memory>

namespace zoo::gateway {

/// Who asks upstream and the tenant's RBAC, one question after the other, and does not outlive the
/// exchange. A failure of the way ends the exchange.
class Asking {
protected:
  explicit Asking(Exchange& exchange) : exchange_(exchange) {}
  ~Asking() = default;

  /// `next` hears every answer, whatever its status; `read` takes the body of a 200 (BufferedCall).
  void ask(const Outgoing& request, std::function<void(upstream::Answer)> next,
           std::string_view accept = "application/json",
           upstream::BufferedCall::Read read = nullptr);
  /// Upstream's refusal in the tenant's words.
  void refuse(const upstream::Answer& answer);

  /// May the caller?
  void may(const Attributes& attributes, std::function<void(const Decision&)> next);

  Exchange& exchange_;

private:
  bool wrote_ = false; ///< perhaps
  std::unique_ptr<upstream::BufferedCall> retired_, call_;
};

/// A flow of several such questions.
class Steps : public Flow, protected Asking {
protected:
  using Asking::Asking;
};

} // namespace zoo::gateway
