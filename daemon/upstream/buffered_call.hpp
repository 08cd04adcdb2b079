// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/call.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::upstream {

/// A whole answer of the upstream, in its names.
struct Answer {
  http::ResponseHead head;
  std::string body;
  bool ok() const { return head.status >= 200 && head.status < 300; }
};

/// One request whose answer is wanted whole, up to `limit` bytes (Code::too_large beyond). `room`
/// is asked with so many bytes of it as are here; its error ends the call. `read` takes the body of
/// a 200 piece by piece instead, of any size: none of it is kept, and `done` hears of an empty one.
/// Loop thread only. Destroying it cancels; `done` comes once, and may destroy it.
class BufferedCall final : private CallHandler {
public:
  using Room = std::function<Result<void>(std::size_t bytes)>;
  using Read = std::function<Result<void>(std::string_view bytes)>;

  BufferedCall(Caller& caller, http::RequestHead head, CallOptions options, std::size_t limit,
               std::function<void(Result<Answer>)> done, Room room = nullptr, Read read = nullptr);
  ~BufferedCall() override;

private:
  void on_head(http::ResponseHead head) override;
  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_error(Error error) override;
  void finish(Result<Answer> result);

  std::size_t limit_;
  std::function<void(Result<Answer>)> done_;
  const Room room_; ///< null: there is some
  const Read read_; ///< null: it is kept
  Answer answer_;
  std::unique_ptr<Call> call_;
};

} // namespace zoo::upstream
