// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/services_inside.hpp"

#include "daemon/clusters/held_bytes.hpp"
#include "daemon/clusters/sync/service_review.hpp"
#include "daemon/http/whole_answer.hpp"

#include <memory>
#include <utility>

namespace zoo::clusters {
namespace {

class Review final : public http::StreamHandler {
public:
  Review(const EgressRoom& room, AskAboutService ask, http::ServerStream& stream)
      : loop_(room.loop), id_(room.cluster.id), ask_(std::move(ask)), stream_(stream),
        held_(std::make_shared<HeldBytes>(room.inside_bytes)) {}

  void on_data(std::string_view bytes) override {
    stream_.consume(bytes.size());
    if (over_) return;
    if (body_.size() + bytes.size() > sync::k_most_review)
      return refuse(413, "a question about a Service has 4 MiB at most");
    if (!held_->add(bytes.size())) return refuse(429, "too much is asked of zood at the same time");
    body_.append(bytes);
  }
  void on_end() override {
    if (over_) return;
    const auto known =
        ask_(id_, std::move(body_),
             [&loop = loop_, weak = std::weak_ptr(self_), held = held_](std::string answer) {
               loop.post([weak, text = std::move(answer)]() mutable {
                 if (const auto self = weak.lock()) (*self)->answer(std::move(text));
               });
             });
    if (!known)
      refuse(503, "nothing of this virtual cluster is kept upstream, or too much is asked of it");
  }
  void on_reset() override { over_ = true; }
  void on_drained() override {}

private:
  void answer(std::string text) {
    if (!std::exchange(over_, true)) http::send_json(stream_, 200, std::move(text));
  }
  void refuse(int status, std::string_view why) {
    over_ = true;
    body_ = {};
    ignored_ = http::refuse(stream_, status, why);
  }

  net::Loop& loop_;
  const std::string id_;
  const AskAboutService ask_;
  http::ServerStream& stream_;
  std::string body_;
  const std::shared_ptr<HeldBytes> held_;
  bool over_ = false;                            ///< all is said
  std::unique_ptr<http::StreamHandler> ignored_; ///< of a refusal
  /// For who answers later: it is looked at on the loop alone.
  const std::shared_ptr<Review*> self_ = std::make_shared<Review*>(this);
};

} // namespace

InsideService services_inside(AskAboutService ask) {
  return
      [ask = std::move(ask)](const EgressRoom& room, http::RequestHead head,
                             http::ServerStream& stream) -> std::unique_ptr<http::StreamHandler> {
        if (head.method != "POST") return http::refuse(stream, 405, "a review is POSTed");
        return std::make_unique<Review>(room, ask, stream);
      };
}

} // namespace zoo::clusters
