// SPDX-License-Identifier: Apache-2.0
// Any bytes on an HTTP/1.1 connection: the same requests however the bytes are split; each keeps
// what RequestHead promises, and goes upstream as exactly one request with the same words and body.
#include "daemon/http/codec.hpp"
#include "daemon/http/h1_reader.hpp"
#include "daemon/upstream/request_text.hpp"
#include "tests/fuzz/invariant.hpp"
#include "tests/unit/http/script_service.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace {

using namespace zoo;
using namespace zoo::http;

struct Outcome {
  std::string answers;
  std::vector<std::shared_ptr<test::Heard>> requests;
};

Outcome serve(std::string_view wire, std::string_view sizes) {
  Outcome out;
  test::ScriptService service;
  service.on_end = [](test::Heard& heard) {
    if (heard.head.upgrade || heard.ends > 1) return heard.stream->reset(ResetReason::cancelled);
    test::echo(heard);
  };
  ConnectionInfo info;
  Limits limits;
  limits.header_bytes = 2'048;
  limits.target_bytes = 512;
  limits.header_fields = 24;
  const auto codec = make_h1_codec(limits, service, info, [] {});
  std::size_t turn = 0;
  while (!wire.empty() && codec->wants_close() == ServerCodec::Close::no) {
    const auto wanted = sizes.empty()
                            ? wire.size()
                            : 1U + static_cast<unsigned char>(sizes[turn++ % sizes.size()]) % 61U;
    codec->receive(wire.substr(0, wanted));
    wire.remove_prefix(std::min(wanted, wire.size()));
    while (codec->produce(out.answers, 1U << 16) != 0) {
    }
  }
  codec->receive_end();
  while (codec->produce(out.answers, 1U << 16) != 0) {
  }
  codec->closed();
  out.requests = service.requests;
  return out;
}

bool plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7F;
  });
}

/// What zood would send upstream of this head and body, read as the next server reads it.
void sent_on(const RequestHead& head, const std::string& body) {
  upstream::UpstreamEndpoint endpoint;
  endpoint.host = "upstream";
  endpoint.port = 6443;
  upstream::CallOptions options;
  options.body = body;
  const auto text = upstream::request_text(head, options, endpoint);
  if (!text) return; // refused: nothing leaves
  const std::string all = *text + body;
  RequestReader reader({64 * 1024, 16 * 1024, 256});
  std::string_view rest = all;
  std::string got;
  for (;;) {
    const auto event = reader.next(rest);
    invariant(event != ReadEvent::failed, "what goes upstream is a request", all);
    invariant(event != ReadEvent::need_more, "and a complete one", all);
    if (event == ReadEvent::data) got += reader.data();
    if (event == ReadEvent::end) break;
  }
  const auto read = reader.take_head();
  invariant(rest.empty(), "nothing is left over for a second request", all);
  invariant(read.method == head.method && read.target == head.target, "with the same words", all);
  invariant(got == body, "and the same body", all);
}

/// The same bytes as upstream's answer: what is made of them, up to the end of it or what is wrong.
std::string read_answer(std::string_view wire, bool head_request, std::string_view sizes) {
  ResponseReader reader({2'048, 512, 24});
  reader.start_next(head_request);
  std::string heard, body;
  std::size_t turn = 0, used = 0;
  auto event = ReadEvent::need_more;
  while (used < wire.size() && event != ReadEvent::failed && event != ReadEvent::end) {
    const auto wanted = sizes.empty()
                            ? wire.size()
                            : 1U + static_cast<unsigned char>(sizes[turn++ % sizes.size()]) % 61U;
    auto rest = wire.substr(used, wanted);
    const auto given = rest.size();
    do {
      event = reader.next(rest);
      if (event == ReadEvent::data) body += reader.data();
      if (event != ReadEvent::head) continue;
      const auto head = reader.take_head();
      heard += std::to_string(head.status);
      for (const auto& field : head.headers) {
        invariant(plain(field.name) && plain(field.value), "fields of an answer", field.name);
        heard.append("\n").append(field.name).append(":").append(field.value);
      }
    } while (event == ReadEvent::head || event == ReadEvent::data);
    used += given - rest.size();
  }
  // Nothing of an answer that cannot be read is used: how far it went may differ.
  if (event == ReadEvent::failed) return "failed";
  return heard + "\n\n" + body + (event == ReadEvent::end ? "\nend " + std::to_string(used) : "");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const auto wire = all.substr(3);
  const auto whole = serve(wire, {});
  for (const auto split : {all.substr(0, 3), std::string_view("\0", 1)}) {
    const auto other = serve(wire, split);
    invariant(whole.requests.size() == other.requests.size(), "a split changes no request", wire);
    for (std::size_t i = 0; i < whole.requests.size(); ++i) {
      const auto &one = *whole.requests[i], &two = *other.requests[i];
      invariant(one.head.method == two.head.method && one.head.target == two.head.target &&
                    one.ends == two.ends,
                "nor what it says", wire);
      if (one.ends != 0) invariant(one.body == two.body, "nor its body", wire);
    }
  }
  for (const auto& each : whole.requests) {
    const auto& head = each->head;
    invariant(head.target == "*" || head.target.starts_with('/'), "origin-form", head.target);
    invariant(plain(head.method) && plain(head.target) && plain(head.authority), "plain", wire);
    for (const auto& field : head.headers) {
      invariant(!field.name.empty() && plain(field.name) && plain(field.value), "fields", wire);
    }
    for (const auto* name : {"Transfer-Encoding", "Keep-Alive", "TE", "Trailer", "Host", "Expect"})
      invariant(!head.headers.has(name), "no hop-by-hop field", name);
    if (each->ends != 0 && !head.upgrade) sent_on(head, each->body);
  }
  const bool head_request = (data[0] & 1U) != 0;
  const auto answer = read_answer(wire, head_request, {});
  for (const auto split : {all.substr(0, 3), std::string_view("\0", 1)})
    invariant(read_answer(wire, head_request, split) == answer, "nor an answer of upstream", wire);
  return 0;
}
