// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_door.hpp"

#include "common/base/json_text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/http/answer.hpp"
#include "daemon/http/whole_answer.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <fmt/format.h>

#include <utility>

namespace zoo::accounts {
namespace {

using Kind = quota::Judge::Verdict::Kind;

/// One review, read whole, and its answer. Loop thread only.
class Review final : public http::StreamHandler {
public:
  Review(std::shared_ptr<const QuotaDoor::Parts> parts, http::ServerStream& stream, bool proof)
      : parts_(std::move(parts)), stream_(&stream), proof_(proof),
        self_(std::make_shared<Review*>(this)) {}
  ~Review() override { *self_ = nullptr; }

  void on_data(std::string_view bytes) override {
    if (stream_ == nullptr) return;
    stream_->consume(bytes.size());
    if (body_.size() + bytes.size() > parts_->review)
      return refuse(413, fmt::format("the review has more than {} bytes", parts_->review));
    body_ += bytes;
  }
  void on_end() override {
    if (stream_ == nullptr) return;
    auto review = read_quota_review(body_, std::chrono::system_clock::now());
    body_ = {};
    if (!review) return refuse(400, review.error().message());
    uid_ = std::move(review->uid);
    if (proof_) return answer({});
    auto asked = parts_->broker.ask(
        std::move(review->ask),
        [&loop = parts_->loop, self = self_](const QuotaBroker::Verdict& verdict) {
          loop.post([self, verdict] {
            if (*self != nullptr) (*self)->answer(verdict);
          });
        });
    if (asked.verdict) return answer(*asked.verdict);
    waiting_ = std::move(asked.waiting);
  }
  void on_reset() override {
    stream_ = nullptr;
    if (waiting_) waiting_->go_on();
    waiting_.reset();
  }
  void on_drained() override {}

private:
  void answer(const QuotaBroker::Verdict& verdict) {
    if (stream_ == nullptr) return;
    http::send_json(*std::exchange(stream_, nullptr), 200, quota_review_answer(uid_, verdict));
  }
  void refuse(int status, std::string_view why) {
    http::send_json(*std::exchange(stream_, nullptr), status, http::status_document(status, why));
  }

  const std::shared_ptr<const QuotaDoor::Parts> parts_;
  http::ServerStream* stream_;
  const bool proof_;
  std::shared_ptr<Review*> self_; ///< of what comes later; it holds null once this is gone
  std::string body_, uid_;
  std::unique_ptr<QuotaBroker::Waiting> waiting_;
};

} // namespace

Result<QuotaReview> read_quota_review(std::string_view text,
                                      std::chrono::system_clock::time_point now) {
  ZOO_TRY(const auto tree, translate::JsonTree::parse(text));
  const auto request = tree.root()["request"];
  const auto object = request["object"];
  if (!request["uid"].is(translate::JsonType::string))
    return fail(Code::bad_request, "this is no AdmissionReview of admission.k8s.io/v1");
  QuotaReview out;
  out.uid = std::string(request["uid"].raw());
  const auto group = request["resource"]["group"].string(),
             resource = request["resource"]["resource"].string();
  const quota::Counted kind{group, resource};
  out.ask.space = request["namespace"].string();
  const auto name = object["metadata"]["name"].string();
  out.ask.key = quota::object_key(kind, name.empty() ? request["name"].string() : name);
  out.ask.uid = object["metadata"]["uid"].string();
  out.ask.dry_run = request["dryRun"].boolean();
  // What cannot be read is upstream's to refuse: it costs nothing here.
  if (auto cost = quota::cost_of(kind, object, now)) out.ask.cost = *std::move(cost);
  return out;
}

std::string quota_review_answer(const std::string& uid, const QuotaBroker::Verdict& verdict) {
  const bool allowed = verdict.kind != Kind::deny;
  std::string out =
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":)" + uid +
      R"(,"allowed":)" + (allowed ? "true" : "false");
  if (!allowed)
    out +=
        R"(,"status":{"code":403,"reason":"Forbidden","message":)" + json_quote(verdict.text) + '}';
  return out + "}}";
}

std::unique_ptr<http::StreamHandler> QuotaDoor::on_request(http::RequestHead head,
                                                           http::ServerStream& stream) {
  // Upstream adds ?timeout=1s.
  const auto path = std::string_view(head.target).substr(0, head.target.find('?'));
  const bool own = crypto::equal_constant_time(path, parts_->path);
  const bool proof = !own && parts_->reaches && parts_->reaches(path);
  if (!own && !proof) return http::refuse(stream, 404, "there is nothing here");
  if (head.method != "POST") return http::refuse(stream, 405, "webhooks are called by POST");
  return std::make_unique<Review>(parts_, stream, proof);
}

} // namespace zoo::accounts
