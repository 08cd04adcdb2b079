// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/kubelet.hpp"

#include "common/base/text.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/kubelet_request.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/http/whole_answer.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/query.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <string_view>
#include <utility>

namespace zoo::clusters {
namespace {

using What = KubeletRequest::What;

void send_text(http::ServerStream& stream, int status, std::string text) {
  http::ResponseHead head;
  head.status = status;
  head.headers.add("Content-Type", "text/plain; charset=utf-8");
  head.headers.add("Content-Length", std::to_string(text.size()));
  stream.send_head(head, false);
  stream.give_data(std::move(text), true);
}

std::unique_ptr<http::StreamHandler> refuse_in_text(http::ServerStream& stream, const Error& why) {
  send_text(stream, why.code() == Code::not_found ? 404 : 400, why.message());
  return std::make_unique<http::Answered>(stream);
}

std::string host_of(std::string_view authority) {
  auto host = authority.substr(0, authority.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

constexpr const char* k_large =
    "pods of this virtual cluster that are looked at are large; try again";

/// The metadata of an object that is asked for: null where it is not there. Code::unavailable:
/// nobody knows. `first`: it is the first object that is read for a request; the second one is read
/// even if the first one was large.
using Found = std::function<void(Result<nlohmann::json>)>;
std::unique_ptr<upstream::BufferedCall> look(upstream::Caller& caller, http::RequestHead head,
                                             LookPace& pace, bool first, std::string_view where,
                                             Found done) {
  return std::make_unique<upstream::BufferedCall>(
      caller, std::move(head), upstream::CallOptions{}, k_most_pod,
      [where = std::string(where), done = std::move(done), &pace,
       first](Result<upstream::Answer> answer) {
        if (!answer) return done(fail(answer.error()));
        if (answer->head.status == 404) return done(nlohmann::json());
        if (first && !pace.may()) return done(fail(Code::unavailable, k_large));
        const auto before = thread_time();
        auto object = kube::parse_foreign(answer->body);
        pace.took(thread_time() - before);
        if (answer->head.status == 403)
          return done(fail(Code::forbidden, "{}: {}", where, kube::text_at(object, "/message")));
        if (!answer->ok() || !object.is_object())
          return done(fail(Code::unavailable, "{} answers {}", where, answer->head.status));
        done(std::move(object));
      });
}

/// The answer to a request for logs as a kubelet gives it: an error is text. A metav1.Status would
/// stand as it is within what kube-apiserver makes of it.
class TextErrors final : public http::ServerStream {
public:
  explicit TextErrors(http::ServerStream& stream) : stream_(stream) {}

  void send_head(const http::ResponseHead& head, bool end) override {
    const bool status =
        head.status >= 400 && head.headers.get("content-type").starts_with("application/json");
    if (!status || end) return stream_.send_head(head, end);
    failed_ = head.status;
  }
  void send_data(std::string_view bytes, bool end) override {
    if (failed_ == 0) return stream_.send_data(bytes, end);
    if (error_.size() < k_most_error) error_.append(bytes.substr(0, k_most_error));
    if (!end) return;
    const auto status = nlohmann::json::parse(error_, nullptr, false);
    auto message = kube::text_at(status, "/message");
    send_text(stream_, failed_, message.empty() ? std::move(error_) : std::move(message));
  }
  void give_data(std::string&& bytes, bool end) override {
    if (failed_ != 0) return send_data(bytes, end);
    stream_.give_data(std::move(bytes), end);
  }
  bool writable() const override { return stream_.writable(); }
  std::size_t pending() const override { return stream_.pending(); }
  void set_high_watermark(std::size_t bytes) override { stream_.set_high_watermark(bytes); }
  void reset(http::ResetReason reason) override { stream_.reset(reason); }
  void consume(std::size_t bytes) override { stream_.consume(bytes); }
  bool request_complete() const override { return stream_.request_complete(); }
  const http::ConnectionInfo& connection() const override { return stream_.connection(); }

private:
  static constexpr std::size_t k_most_error = 64 * 1024;
  http::ServerStream& stream_;
  int failed_ = 0; ///< the status of an error whose body is collected
  std::string error_;
};

/// A request about one pod: it is looked for on both sides, and then the gateway has it.
class OfPod final : public http::StreamHandler {
public:
  OfPod(std::shared_ptr<const KubeletParts> parts, KubeletRequest request, http::RequestHead head,
        http::ServerStream& stream)
      : parts_(std::move(parts)), request_(std::move(request)), head_(std::move(head)),
        stream_(stream), texts_(stream) {}

  void begin() {
    if (!parts_->pace.may()) return refuse(500, k_large);
    call_ = look(parts_->cluster,
                 upstream::get_head(pod_path(request_.name_space, request_.pod),
                                    translate::k_partial_accept),
                 parts_->pace, true, "the API server of the cluster",
                 [this](Result<nlohmann::json> pod) { found(std::move(pod)); });
  }

  void on_data(std::string_view bytes) override {
    if (inner_) return inner_->on_data(bytes);
    stream_.consume(bytes.size()); // no request to a kubelet has a body
  }
  void on_end() override {
    if (inner_) return inner_->on_end();
    ended_ = true;
  }
  void on_reset() override {
    over_ = true;
    call_.reset();
    if (inner_) inner_->on_reset();
  }
  void on_drained() override {
    if (inner_) inner_->on_drained();
  }
  void on_leaving() override {
    if (inner_) inner_->on_leaving();
  }

private:
  /// Of the cluster's API server.
  void found(Result<nlohmann::json> pod) {
    if (!pod) return refuse(500, pod.error().message());
    const auto uid = kube::text_at(*pod, "/metadata/uid");
    if (uid.empty() || (!request_.uid.empty() && request_.uid != uid))
      return refuse(404, "pod does not exist");
    auto head = upstream::get_head(
        pod_path(fmt::format("{}-{}", parts_->id, request_.name_space), request_.pod),
        translate::k_partial_accept);
    head.prepared = parts_->as;
    call_ = look(parts_->upstream(), std::move(head), parts_->pace, false, "the upstream",
                 [this, uid](Result<nlohmann::json> copy) { copied(std::move(copy), uid); });
  }

  /// Of upstream's.
  void copied(Result<nlohmann::json> copy, const std::string& uid) {
    if (!copy)
      return refuse(copy.error().code() == Code::forbidden ? 403 : 500, copy.error().message());
    if (copy->is_null()) return refuse(400, "the pod does not run yet: it is not there upstream");
    const auto marks = kube::texts_at(*copy, "/metadata/annotations");
    const auto mark = marks.find(k_uid_annotation);
    if (mark == marks.end() || mark->second != uid)
      return refuse(403, "what has the pod's name upstream is not this pod");
    call_.reset();
    pass_on();
  }

  void pass_on() {
    http::RequestHead head;
    head.method = head_.method;
    head.target = api_target(request_);
    head.authority = head_.authority;
    head.version = head_.version;
    head.upgrade = head_.upgrade;
    // What says who asks is the door's to say.
    for (const auto& [name, value] : head_.headers)
      if (!says_who(name)) head.headers.add(name, value);
    auto& stream = request_.what == What::logs ? static_cast<http::ServerStream&>(texts_) : stream_;
    inner_ = parts_->inward.on_request(std::move(head), stream);
    if (ended_ && !over_) inner_->on_end(); // which it hears as every handler does
  }

  static bool says_who(std::string_view name) {
    const auto lower = text::lower(name);
    return lower == "authorization" || lower == "cookie" || lower.starts_with("impersonate-") ||
           lower.starts_with("x-remote-") || lower.starts_with("x-forwarded-");
  }

  // kube-apiserver passes on the words of 400, 403 and 500 alone.
  void refuse(int status, std::string why) {
    over_ = true;
    call_.reset();
    send_text(stream_, status, std::move(why));
  }

  const std::shared_ptr<const KubeletParts> parts_;
  const KubeletRequest request_;
  const http::RequestHead head_;
  http::ServerStream& stream_;
  TextErrors texts_;                           ///< the same, for logs
  bool ended_ = false;                         ///< the request is whole
  bool over_ = false;                          ///< nothing is sent any more
  std::unique_ptr<http::StreamHandler> inner_; ///< the gateway's, once it has it
  std::unique_ptr<upstream::BufferedCall> call_;
};

/// /pods: those of the cluster that are on the Node that is asked, as its API server says them: its
/// answer is passed on as it comes, unread.
class Pods final : public http::StreamHandler {
public:
  Pods(std::shared_ptr<const KubeletParts> parts, bool running, http::ServerStream& stream)
      : parts_(std::move(parts)), running_(running), stream_(stream) {}

  void begin() {
    parts_->node_of(host_of(stream_.connection().asked_for),
                    [this, weak = std::weak_ptr(lives_)](Result<std::string> node) {
                      if (weak.expired() || over_) return;
                      if (!node) return refuse(503, node.error().message());
                      if (node->empty()) return refuse(404, "there is no such node");
                      ask(*node);
                    });
  }
  void on_data(std::string_view bytes) override { stream_.consume(bytes.size()); }
  void on_end() override {}
  void on_reset() override {
    over_ = true;
    call_.reset();
  }
  void on_drained() override {
    if (call_) call_->resume();
  }

private:
  /// Hears the API server.
  struct List final : upstream::CallHandler {
    explicit List(Pods& owner) : pods(owner) {}
    void on_head(http::ResponseHead head) override { pods.begin_answer(head); }
    void on_data(std::string_view bytes) override { pods.pass_on(bytes); }
    void on_end() override { pods.end_answer(); }
    void on_error(Error error) override { pods.fail_answer(error); }
    Pods& pods;
  };

  void ask(const std::string& node) {
    auto selector = "spec.nodeName=" + node;
    if (running_) selector += ",status.phase=Running";
    call_ = parts_->cluster.start(
        upstream::get_head("/api/v1/pods?fieldSelector=" + translate::percent_encode(selector, ""),
                           "application/json"),
        {}, list_);
  }
  void begin_answer(const http::ResponseHead& head) {
    if (head.status != 200)
      return refuse(503, fmt::format("the API server of the cluster answers {}", head.status));
    http::ResponseHead out;
    out.headers.add("Content-Type", "application/json");
    stream_.send_head(out, false);
    passing_ = true;
  }
  void pass_on(std::string_view bytes) {
    if (!passing_) return;
    stream_.send_data(bytes, false);
    if (!stream_.writable() && call_) call_->pause();
  }
  void end_answer() {
    if (std::exchange(passing_, false)) stream_.send_data({}, true);
    over_ = true;
  }
  void fail_answer(const Error& error) {
    if (over_) return;
    if (!passing_) return refuse(503, error.message());
    over_ = true;
    stream_.reset(http::ResetReason::aborted);
  }
  void refuse(int status, std::string why) {
    over_ = true;
    send_text(stream_, status, std::move(why));
  }

  const std::shared_ptr<const KubeletParts> parts_;
  const bool running_;
  http::ServerStream& stream_;
  bool over_ = false;    ///< all is said
  bool passing_ = false; ///< the head was sent
  List list_{*this};
  const std::shared_ptr<bool> lives_ = std::make_shared<bool>(true); ///< for who answers later
  std::unique_ptr<upstream::Call> call_;                             // last: cancelled first
};

} // namespace

std::unique_ptr<http::StreamHandler> KubeletService::on_request(http::RequestHead head,
                                                                http::ServerStream& stream) {
  auto request = parse_kubelet_request(head.method, head.target);
  if (!request) return refuse_in_text(stream, request.error());
  if (request->of_pod()) {
    auto out = std::make_unique<OfPod>(parts_, *std::move(request), std::move(head), stream);
    out->begin();
    return out;
  }
  if (request->what == What::health) {
    send_text(stream, 200, "ok");
    return std::make_unique<http::Answered>(stream);
  }
  auto out = std::make_unique<Pods>(parts_, request->what == What::running_pods, stream);
  out->begin();
  return out;
}

} // namespace zoo::clusters
