// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/stream.hpp"

#include <memory>
#include <string>
#include <string_view>

/// Answers that are whole at once, for doors that serve a path or two. On the stream's loop.
namespace zoo::http {

/// Head and body, which is JSON, and the end of the answer.
void send_json(ServerStream& stream, int status, std::string body);

/// Of a request that was answered before its body came: what comes of it is thrown away.
class Answered final : public StreamHandler {
public:
  explicit Answered(ServerStream& stream) : stream_(stream) {}
  void on_data(std::string_view bytes) override { stream_.consume(bytes.size()); }
  void on_end() override {}
  void on_reset() override {}
  void on_drained() override {}

private:
  ServerStream& stream_;
};

/// Answers at once with status_document(), and reads no body.
std::unique_ptr<StreamHandler> refuse(ServerStream& stream, int status, std::string_view why);

} // namespace zoo::http
