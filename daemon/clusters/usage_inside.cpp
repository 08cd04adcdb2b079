// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/usage_inside.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/clusters/held_bytes.hpp"
#include "daemon/http/whole_answer.hpp"
#include "daemon/resources/request.hpp"

#include <memory>
#include <utility>

namespace zoo::clusters {
namespace {

void refuse_usage(http::ServerStream& stream, const Error& why) {
  auto answer = resources::failure(why);
  http::ResponseHead head;
  head.status = answer.status;
  head.headers = std::move(answer.headers);
  head.headers.add("Content-Type", answer.content_type);
  head.headers.add("Content-Length", std::to_string(answer.body.size()));
  stream.send_head(head, false);
  stream.give_data(std::move(answer.body), true);
}

std::unique_ptr<http::StreamHandler> refused_usage(http::ServerStream& stream, const Error& why) {
  refuse_usage(stream, why);
  return std::make_unique<http::Answered>(stream);
}

/// A question that was asked on.
class Usage final : public http::StreamHandler {
public:
  Usage(const EgressRoom& room, http::ServerStream& stream)
      : loop_(room.loop), stream_(stream), held_(room.inside_bytes) {}

  /// False: nobody answers.
  bool ask(const AskAboutUsage& ask, const std::string& id, UsageRequest request) {
    return ask(id, std::move(request),
               [&loop = loop_, weak = std::weak_ptr(self_)](Result<std::string> answer) {
                 loop.post([weak, said = std::move(answer)]() mutable {
                   if (const auto self = weak.lock()) (*self)->answer(std::move(said));
                 });
               });
  }
  void on_data(std::string_view bytes) override { stream_.consume(bytes.size()); }
  void on_end() override {}
  void on_reset() override { over_ = true; }
  void on_drained() override {}

private:
  void answer(Result<std::string> said) {
    if (std::exchange(over_, true)) return;
    if (!said) return refuse_usage(stream_, said.error());
    // The answer stays in memory until the API server has read it.
    if (!held_.add(said->size()))
      return refuse_usage(stream_,
                          {Code::too_many_requests, "too much is asked of zood at the same time"});
    http::send_json(stream_, 200, *std::move(said));
  }

  net::Loop& loop_;
  http::ServerStream& stream_;
  HeldBytes held_;
  bool over_ = false; ///< all is said
  /// For who answers later: it is looked at on the loop alone.
  const std::shared_ptr<Usage*> self_ = std::make_shared<Usage*>(this);
};

} // namespace

InsideService usage_inside(AskAboutUsage ask) {
  return [ask =
              std::move(ask)](const EgressRoom& room, http::RequestHead head,
                              http::ServerStream& stream) -> std::unique_ptr<http::StreamHandler> {
    auto request = parse_usage_request(head);
    if (!request) return refused_usage(stream, request.error());
    if (request->what == UsageRequest::What::resources) {
      http::send_json(stream, 200, kube::text_of(usage_resources()));
      return std::make_unique<http::Answered>(stream);
    }
    auto out = std::make_unique<Usage>(room, stream);
    if (!out->ask(ask, room.cluster.id, *std::move(request)))
      return refused_usage(stream, {Code::unavailable,
                                    "nothing of this virtual cluster is kept upstream, or too much "
                                    "is asked about it"});
    return out;
  };
}

} // namespace zoo::clusters
