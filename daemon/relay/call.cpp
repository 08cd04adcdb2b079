// SPDX-License-Identifier: Apache-2.0
#include "daemon/relay/call.hpp"

#include "daemon/http/answer.hpp"
#include "daemon/http/syntax.hpp"
#include "daemon/http/whole_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace zoo::relay {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds k_most{10}; ///< that a tenant's webhook may take, whatever it says
constexpr std::size_t k_shown = 300;       ///< bytes of what a webhook says instead of a review

/// What a webhook says of its trouble, as one line.
std::string words_of(std::string_view body) {
  std::string out;
  for (const char c : body.substr(0, k_shown))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  while (!out.empty() && out.back() == ' ')
    out.pop_back();
  return out;
}

std::string path_of(const translate::HookTarget& target) {
  const auto mark = target.path.find('?') == std::string::npos ? '?' : '&';
  return fmt::format("{}{}timeout={}s", target.path, mark, target.seconds);
}

/// Head and body together: a pod that waits for the rest of a request costs 40 ms by Nagle.
std::string request_of(const translate::HookTarget& target, std::string_view body) {
  return fmt::format("POST {} HTTP/1.1\r\n"
                     "Host: {}:{}\r\n"
                     "User-Agent: kube-apiserver-admission\r\n"
                     "Accept: application/json, */*\r\n"
                     "Content-Type: application/json\r\n"
                     "Content-Length: {}\r\n\r\n{}",
                     path_of(target), target.server, target.port, body.size(), body);
}

} // namespace

HookCall::HookCall(std::shared_ptr<Room> room, translate::HookName name, translate::Mapping mapping,
                   std::unique_ptr<Places::Place> place, http::ServerStream& stream)
    : room_(std::move(room)), name_(std::move(name)), mapping_(std::move(mapping)),
      place_(std::move(place)), stream_(&stream), self_(std::make_shared<HookCall*>(this)),
      timer_(room_->parts.loop) {
  room_->parts.tally.calls(room_->places.calls());
  limit(k_most);
}

HookCall::~HookCall() {
  *self_ = nullptr;
  place_.reset();
  room_->parts.tally.calls(room_->places.calls());
}

void HookCall::limit(milliseconds most) {
  const auto& limits = room_->parts.limits;
  const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - began_);
  timer_.start(std::max(most - limits.reserve, limits.least) - std::min(passed, most),
               [this] { late(); });
}

void HookCall::on_data(std::string_view bytes) {
  if (stream_ == nullptr) return;
  stream_->consume(bytes.size());
  if (answered_) return;
  if (review_.size() + bytes.size() > room_->parts.limits.review)
    return fail_with(Outcome::refused, 413,
                     fmt::format("the review has more than {} bytes", room_->parts.limits.review));
  if (const auto held = place_->hold(bytes.size()); !held)
    return fail_with(Outcome::refused, held.error().code() == Code::unavailable ? 503 : 429,
                     held.error().message());
  review_ += bytes;
}

void HookCall::on_end() {
  if (over()) return;
  room_->hooks.find(mapping_, name_, [self = self_](Result<HookPtr> hook) {
    if (*self != nullptr) (*self)->call(std::move(hook));
  });
}

void HookCall::call(Result<HookPtr> hook) {
  if (over()) return;
  if (!hook) return fail_with(Outcome::unreachable, 502, hook.error().text());
  hook_ = *std::move(hook);
  const auto& target = hook_->target;
  limit(std::min<milliseconds>(std::chrono::seconds(target.seconds), k_most));
  if (!http::is_origin_form(target.path) || !http::is_authority(target.server))
    return fail_with(Outcome::unreachable, 502,
                     "the path of its clientConfig cannot be sent in a request");
  auto review = room_->parts.reviews.out(mapping_, name_, review_);
  if (!review)
    return fail_with(Outcome::refused, review.error().code() == Code::forbidden ? 403 : 400,
                     review.error().message());
  if (!review->answer.empty()) return answer(Outcome::answered, 200, std::move(review->answer));
  asking_ = room_->lines.ask(key_of(name_), name_.id, hook_, request_of(target, review->body),
                             [this](Result<HookAnswer> answer) { heard(std::move(answer)); });
}

void HookCall::heard(Result<HookAnswer> answer) {
  if (over()) return;
  const auto& server = hook_->target.server;
  if (!answer) {
    room_->hooks.doubt(name_);
    const bool large = answer.error().code() == Code::too_large;
    return fail_with(large ? Outcome::unusable : Outcome::unreachable, 502,
                     fmt::format("{}: {}", server, answer.error().text()));
  }
  if (answer->status != 200) {
    const auto words = words_of(answer->body);
    return fail_with(Outcome::unusable, 502,
                     fmt::format("{} answered with status {}{}{}", server, answer->status,
                                 words.empty() ? "" : ": ", words));
  }
  auto review = room_->parts.reviews.in(mapping_, name_, review_, answer->body);
  if (!review)
    return fail_with(Outcome::unusable, 502,
                     fmt::format("{}: {}", server, review.error().message()));
  if (review->size() > room_->parts.limits.answer)
    return fail_with(
        Outcome::unusable, 502,
        fmt::format("{}: its answer has more than {} bytes", server, room_->parts.limits.answer));
  this->answer(Outcome::answered, 200, *std::move(review));
}

void HookCall::late() {
  const bool queued = asking_ && asking_->queued();
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - began_);
  const auto server = hook_ ? hook_->target.server : std::string("the webhook");
  // Clients look for the words of Kubernetes.
  const auto asked = hook_
                         ? fmt::format(" (POST {}: context deadline exceeded)",
                                       std::string_view(path_of(hook_->target)).substr(0, k_shown))
                         : std::string();
  fail_with(Outcome::timeout, 504,
            queued
                ? fmt::format("{}: {} calls of it are in progress, and none has ended for {} ms",
                              server, room_->parts.limits.tunnels_of_hook, took.count())
                : fmt::format("{}: it gave no answer within {} ms{}", server, took.count(), asked));
}

void HookCall::fail_with(Outcome outcome, int status, std::string_view why) {
  if (over()) return;
  room_->tell(name_, status, why);
  answer(outcome, status, http::status_document(status, why));
}

void HookCall::answer(Outcome outcome, int status, std::string body) {
  answered_ = true;
  timer_.cancel();
  asking_.reset();
  std::string().swap(review_);
  room_->parts.tally.count(
      name_.hook, outcome,
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_));
  http::send_json(*stream_, status, std::move(body));
}

/// Upstream has gone: it waits no longer.
void HookCall::on_reset() {
  stream_ = nullptr;
  if (!std::exchange(answered_, true)) room_->parts.tally.count(name_.hook, Outcome::timeout, {});
  timer_.cancel();
  asking_.reset();
}

} // namespace zoo::relay
