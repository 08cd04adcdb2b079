// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/encoded_answer.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zoo;
using namespace zoo::gateway;
using namespace std::string_literals;

namespace {

http::EventSocket socket_of_client() {
  http::RequestHead head{"GET", "/", "h", {}, 11, true};
  head.headers = {{"Sec-WebSocket-Key", "key"}, {"Sec-WebSocket-Version", "13"}, {"Origin", "/"}};
  return http::EventSocket::open(head, "").value();
}

const std::string k_event = R"({"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1",)"
                            R"("metadata":{"resourceVersion":"5"}}})";

} // namespace

TEST_CASE("an answer over WebSocket: each event is a message, in whatever pieces flows write") {
  EncodedAnswer answer(Encoding::json_events, 1000, socket_of_client());
  http::ResponseHead head{200, {{"content-type", "application/json"}}};
  CHECK(answer.begin(head));
  CHECK(head.status == 101);
  CHECK_FALSE(answer.holds_head());
  CHECK(answer.add("{a}\n{bc}\n{d").value() == "\x81\x04{a}\n\x81\x05{bc}\n");
  CHECK(answer.add("e").value() == "");
  CHECK(answer.add("}\n").value() == "\x81\x05{de}\n");
  const std::string large(70'000, 'x');
  CHECK(answer.add(large + "\n")->size() == 70'001 + 10); // what comes whole is not held
  CHECK(answer.add(large).error().code() == Code::too_large);
  CHECK(answer.growth("a\nb\n") == 2 * http::EventSocket::k_most_around);
  CHECK(answer.end().value() == "\x88\x02\x03\xe8");
}

TEST_CASE("an answer over WebSocket: an event in protobuf is binary, without its length") {
  EncodedAnswer plain(Encoding::protobuf_events, 1000);
  EncodedAnswer framed(Encoding::protobuf_events, 1000, socket_of_client());
  http::ResponseHead head{200, {}};
  CHECK(plain.begin(head));
  CHECK(head.headers.get("content-type") == "application/vnd.kubernetes.protobuf;stream=watch");
  CHECK(framed.begin(head));
  const auto bytes = plain.add(k_event + "\n").value();
  REQUIRE(bytes.size() > 4);
  REQUIRE(bytes.size() < 130);
  const auto size = static_cast<char>(bytes.size() - 4);
  CHECK(framed.add(k_event + "\n").value() == "\x82"s + size + bytes.substr(4));
  CHECK(plain.growth(k_event + "\n") == 0);
  CHECK(plain.end().value() == "");
  CHECK(framed.end().value() == "\x88\x02\x03\xe8");
}
