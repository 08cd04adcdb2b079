// SPDX-License-Identifier: Apache-2.0
#include "daemon/relay/service.hpp"

#include "common/base/log.hpp"
#include "daemon/http/whole_answer.hpp"
#include "daemon/relay/call.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <fmt/format.h>

#include <utility>

namespace zoo::relay {
namespace {

constexpr std::size_t k_probe = 64 * 1024; ///< bytes of the review that proves the way

/// The answer to zood's own question: whatever it is about is allowed.
class Reached final : public http::StreamHandler {
public:
  explicit Reached(http::ServerStream& stream) : stream_(&stream) {}
  void on_data(std::string_view bytes) override {
    if (stream_ == nullptr) return;
    stream_->consume(bytes.size());
    if (body_.size() + bytes.size() <= k_probe) body_ += bytes;
  }
  void on_end() override {
    if (stream_ == nullptr) return;
    std::string uid = "\"\"";
    if (const auto tree = translate::JsonTree::parse(body_)) {
      const auto node = tree->root()["request"]["uid"];
      if (node.is(translate::JsonType::string)) uid = node.raw();
    }
    http::send_json(
        *std::exchange(stream_, nullptr), 200,
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":)" + uid +
            R"(,"allowed":true}})");
  }
  void on_reset() override { stream_ = nullptr; }
  void on_drained() override {}

private:
  http::ServerStream* stream_;
  std::string body_;
};

} // namespace

Room::Room(Parts given)
    : parts(std::move(given)), places(parts.limits),
      hooks(parts.caller, parts.reviews, parts.limits, parts.hears),
      lines(parts.loop, parts.caller, parts.limits, parts.tally) {}

void Room::tell(const translate::HookName& name, int status, std::string_view why) {
  const auto now = std::chrono::steady_clock::now();
  if (now - told_ < std::chrono::seconds(1)) {
    ++untold_;
    return;
  }
  told_ = now;
  const auto more = std::exchange(untold_, 0);
  log::warning("relay", "tenant {}: webhook '{}' of {} was answered {} upstream: {}{}", name.id,
               name.webhook, name.object, status, why,
               more == 0 ? std::string() : fmt::format(" ({} more failures were not told)", more));
}

std::unique_ptr<http::StreamHandler> RelayService::on_request(http::RequestHead head,
                                                              http::ServerStream& stream) {
  const auto& parts = room_->parts;
  // Upstream adds ?timeout=10s.
  const auto path = std::string_view(head.target).substr(0, head.target.find('?'));
  const bool posts = head.method == "POST";
  const auto relay = parts.relay();
  if (!relay) return http::refuse(stream, 503, "zood has not started yet");
  if (posts && parts.reaches && parts.reaches(path)) return std::make_unique<Reached>(stream);
  auto name = translate::parse_relay_path(*relay, path);
  auto mapping = name ? parts.mapping_of(name->id) : std::nullopt;
  if (!name || !mapping) {
    parts.tally.stranger();
    return http::refuse(stream, 404, "there is nothing here");
  }
  if (!posts) return http::refuse(stream, 405, "webhooks are called by POST");
  auto place = room_->places.take(name->id);
  if (!place) {
    const int status = place.error().code() == Code::unavailable ? 503 : 429;
    parts.tally.count(name->hook, Outcome::refused, {});
    room_->tell(*name, status, place.error().message());
    return http::refuse(stream, status, place.error().message());
  }
  return std::make_unique<HookCall>(room_, *std::move(name), *std::move(mapping), *std::move(place),
                                    stream);
}

} // namespace zoo::relay
