// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/whole_answer.hpp"

#include "daemon/http/answer.hpp"

#include <utility>

namespace zoo::http {

void send_json(ServerStream& stream, int status, std::string body) {
  ResponseHead head;
  head.status = status;
  head.headers.add("Content-Type", "application/json");
  head.headers.add("Content-Length", std::to_string(body.size()));
  stream.send_head(head, false);
  stream.give_data(std::move(body), true);
}

std::unique_ptr<StreamHandler> refuse(ServerStream& stream, int status, std::string_view why) {
  send_json(stream, status, status_document(status, why));
  return std::make_unique<Answered>(stream);
}

} // namespace zoo::http
