// SPDX-License-Identifier: Apache-2.0
// Any bytes on an HTTP/2 connection, behind the preface or without it: requests keep what
// RequestHead promises, every handler ends, what is buffered stays within its limits.
#include "daemon/http/codec.hpp"
#include "tests/fuzz/invariant.hpp"
#include "tests/unit/http/script_service.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zoo;
  using namespace zoo::http;
  if (size < 2) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  test::ScriptService service;
  service.consume = (data[0] & 1U) != 0;
  service.on_end = test::echo;
  if ((data[0] & 2U) != 0) {
    // Answers at once, without waiting for the body, and more than the window holds.
    service.on_head = [](test::Heard& heard) {
      heard.stream->send_head({200, {}}, false);
      heard.stream->send_data(std::string(100'000, 'x'), true);
    };
    service.on_end = [](test::Heard&) {};
  }
  ConnectionInfo info;
  Limits limits;
  limits.header_bytes = 2'048;
  limits.target_bytes = 512;
  limits.header_fields = 24;
  limits.streams = 8;
  std::string wire;
  if ((data[0] & 4U) == 0)
    wire = std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string(3, '\0') + '\4' +
           std::string(5, '\0');
  wire += all.substr(2);
  {
    const auto codec = make_h2_codec(limits, service, info, [] {});
    std::string_view rest = wire;
    const std::size_t slice = 1U + data[1];
    std::string out;
    while (!rest.empty() && codec->wants_close() == ServerCodec::Close::no) {
      codec->receive(rest.substr(0, slice));
      rest.remove_prefix(std::min(slice, rest.size()));
      invariant(codec->open_streams() <= 8, "no more streams than allowed");
      while (codec->produce(out, 1U << 16) != 0) {
      }
      invariant(out.size() < (1U << 24), "what is answered is bounded");
    }
    for (const auto& each : service.requests) {
      const auto& head = each->head;
      invariant(head.target == "*" || head.target.starts_with('/'), "origin-form", head.target);
      for (const auto text : {&head.method, &head.target, &head.authority}) {
        invariant(
            std::none_of(text->begin(), text->end(),
                         [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F; }),
            "plain", *text);
      }
      std::size_t bytes = 0;
      for (const auto& field : head.headers) {
        bytes += field.name.size() + field.value.size();
        invariant(!field.name.starts_with(':'), "no pseudo field", field.name);
        invariant(field.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos,
                  "no line ends in a value", field.value);
      }
      invariant(bytes <= 2'048, "fields within their limit");
      for (const auto* name : {"Transfer-Encoding", "Connection", "Keep-Alive", "Host", "Upgrade"})
        invariant(!head.headers.has(name), "no hop-by-hop field", name);
    }
    codec->closed();
  }
  for (const auto& each : service.requests)
    invariant(each->destroyed, "every handler ends");
  return 0;
}
