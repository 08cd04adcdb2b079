// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/gzip.hpp"
#include "daemon/http/message.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::gateway {

/// gzip for a client that takes it, where the answer has more than k_threshold bytes, as
/// kube-apiserver does (k8s.io/apiserver pkg/endpoints/handlers/responsewriters/writers.go;
/// docs/decisions/083). The head and what comes first are held until it is known. Owned by its
/// exchange; loop thread.
class CompressedAnswer {
public:
  static constexpr std::size_t k_threshold = 128 * 1024; ///< bytes
  static constexpr std::size_t k_running = 64; ///< a loop; beyond it answers go as they are

  /// `running`: how many of this loop's answers are being compressed; counted here.
  CompressedAnswer(std::size_t& running, http::ResponseHead head);
  ~CompressedAnswer();
  CompressedAnswer(const CompressedAnswer&) = delete;
  CompressedAnswer& operator=(const CompressedAnswer&) = delete;

  /// What can be sent now: first the head, once.
  struct Ready {
    std::optional<http::ResponseHead> head;
    std::string bytes;
  };
  Ready add(std::string_view bytes);
  Ready end();
  bool holds_head() const { return head_.has_value(); }

private:
  void decide(bool long_enough, Ready& out);

  std::size_t& running_;
  std::optional<http::ResponseHead> head_; ///< until it was sent
  std::string held_;
  std::unique_ptr<gzip::Stream> stream_; ///< null: held, or as is
};

/// Is such an answer to be looked at: no coding of its own, not known to be short?
bool worth_compressing(const http::ResponseHead& head);

} // namespace zoo::gateway
