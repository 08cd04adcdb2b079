// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/usage_inside.hpp"

#include "common/base/error_table.hpp"
#include "common/kube/json_reads.hpp"
#include "common/kube/status.hpp"
#include "daemon/clusters/cluster_usage.hpp"
#include "daemon/http/whole_answer.hpp"
#include "daemon/translate/query.hpp"

#include <ctime>
#include <utility>

namespace zoo::clusters {
namespace {

constexpr const char* k_metadata_of_all =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
constexpr const char* k_metadata_of_one =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

void answer_with(http::ServerStream& stream, const Error& why) {
  http::send_json(stream, error_row(why.code()).http_status, kube::status_json(why));
}

Error too_much() {
  return {Code::too_many_requests, "too much is asked about usage at the same time"};
}

class Usage final : public http::StreamHandler {
public:
  Usage(EgressRoom& room, UsageRequest request, http::ServerStream& stream)
      : room_(room), request_(std::move(request)), stream_(stream) {
    ++room_.usage_answers;
  }
  ~Usage() override {
    --room_.usage_answers;
    room_.usage_bytes -= held_;
  }
  Usage(const Usage&) = delete;

  void begin() {
    if (request_.of_nodes()) return ask_nodes();
    ask_usage();
  }
  void on_data(std::string_view bytes) override { stream_.consume(bytes.size()); }
  void on_end() override {}
  void on_reset() override {
    waits_.reset();
    nodes_call_.reset();
  }
  void on_drained() override {}

private:
  /// So many bytes are held for this answer from now on.
  Result<void> hold(std::size_t bytes) {
    if (bytes > held_ && room_.usage_bytes + (bytes - held_) > k_most_usage_bytes)
      return fail(too_much());
    room_.usage_bytes = room_.usage_bytes - held_ + bytes;
    held_ = bytes;
    return {};
  }

  void ask_nodes() {
    const bool one = request_.what == UsageRequest::What::node;
    const auto path = one ? "/api/v1/nodes/" + translate::percent_encode(request_.name, "")
                          : fmt::format("/api/v1/nodes?labelSelector={}&fieldSelector={}",
                                        translate::percent_encode(request_.label_selector, ""),
                                        translate::percent_encode(request_.field_selector, ""));
    nodes_call_ = std::make_unique<upstream::BufferedCall>(
        room_.api, upstream::get_head(path, one ? k_metadata_of_one : k_metadata_of_all),
        upstream::CallOptions{}, k_most_usage_bytes,
        [this](Result<upstream::Answer> answer) { nodes_known(std::move(answer)); },
        [this](std::size_t bytes) { return hold(bytes); });
  }

  void nodes_known(Result<upstream::Answer> answer) {
    if (!answer) return refuse(answer.error());
    const auto status = answer->head.status;
    if (status == 404)
      return refuse({Code::not_found,
                     fmt::format("nodemetrics.metrics.k8s.io \"{}\" not found", request_.name)});
    if (status == 400)
      return refuse(
          {Code::bad_request, kube::text_at(kube::parse_foreign(answer->body), "/message")});
    if (!answer->ok())
      return refuse(
          {Code::unavailable, fmt::format("the API server of the cluster answers {}", status)});
    nodes_ = std::move(answer->body);
    ask_usage();
  }

  void ask_usage() {
    waits_ = room_.usage->read([this](const Result<ClusterUsage::Usages>& usage) {
      auto text = usage ? answer_of(**usage) : Result<std::string>(fail(usage.error()));
      nodes_ = {};
      if (text)
        if (auto held = hold(text->size()); !held) text = fail(std::move(held).error());
      if (!text) return refuse(text.error());
      http::send_json(stream_, 200, *std::move(text));
    });
  }

  Result<std::string> answer_of(const std::vector<PodUsage>& all) const {
    if (!request_.of_nodes()) return pods_usage(request_, all);
    const auto nodes = kube::parse_foreign(nodes_);
    if (!nodes.is_object())
      return fail(Code::unavailable, "what the API server of the cluster says of Nodes is no list");
    return nodes_usage(request_, nodes, all, std::time(nullptr));
  }
  void refuse(const Error& why) { answer_with(stream_, why); }

  EgressRoom& room_;
  const UsageRequest request_;
  http::ServerStream& stream_;
  std::size_t held_ = 0; ///< bytes of EgressRoom::usage_bytes
  std::string nodes_;    ///< what the cluster says of them
  std::unique_ptr<upstream::BufferedCall> nodes_call_;
  std::shared_ptr<void> waits_; ///< for the usage of pods
};

} // namespace

InsideService usage_inside() {
  return [](EgressRoom& room, http::RequestHead head,
            http::ServerStream& stream) -> std::unique_ptr<http::StreamHandler> {
    auto request = parse_usage_request(head);
    if (!request) {
      answer_with(stream, request.error());
      return std::make_unique<http::Answered>(stream);
    }
    if (request->what == UsageRequest::What::resources) {
      http::send_json(stream, 200, kube::text_of(usage_resources()));
      return std::make_unique<http::Answered>(stream);
    }
    if (room.usage_answers >= k_most_usage_answers) {
      answer_with(stream, too_much());
      return std::make_unique<http::Answered>(stream);
    }
    auto out = std::make_unique<Usage>(room, *std::move(request), stream);
    out->begin();
    return out;
  };
}

} // namespace zoo::clusters
