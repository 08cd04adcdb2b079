// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/stream.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/relay/service.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::relay {

/// One call of a tenant's webhook: the review is read whole, translated outward, asked of a pod,
/// and what it says is translated inward and proven. It ends with one answer, before the webhook's
/// own time is over. Loop thread only.
class HookCall final : public http::StreamHandler {
public:
  HookCall(std::shared_ptr<Room> room, translate::HookName name, translate::Mapping mapping,
           std::unique_ptr<Places::Place> place, http::ServerStream& stream);
  ~HookCall() override;

  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_reset() override;
  void on_drained() override {}

private:
  using Clock = std::chrono::steady_clock;
  void call(Result<HookPtr> hook);
  void heard(Result<HookAnswer> answer);
  void late();
  bool over() const { return stream_ == nullptr || answered_; }
  void limit(std::chrono::milliseconds most);
  void answer(Outcome outcome, int status, std::string body);
  void fail_with(Outcome outcome, int status, std::string_view why);

  const std::shared_ptr<Room> room_;
  const translate::HookName name_;
  const translate::Mapping mapping_;
  std::unique_ptr<Places::Place> place_;
  http::ServerStream* stream_; ///< null once upstream has gone
  bool answered_ = false;
  const Clock::time_point began_ = Clock::now();
  std::shared_ptr<HookCall*> self_; ///< of what comes later; it holds null once this is gone
  net::Timer timer_;
  std::string review_; ///< as it came
  HookPtr hook_;
  std::unique_ptr<Lines::Asking> asking_;
};

} // namespace zoo::relay
