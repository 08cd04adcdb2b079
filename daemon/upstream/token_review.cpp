// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/token_review.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <algorithm>

namespace zoo::upstream {
namespace {

constexpr std::size_t k_max_answer = 256 * 1024;

http::RequestHead head_of_review() {
  http::RequestHead head;
  head.method = "POST";
  head.target = "/apis/authentication.k8s.io/v1/tokenreviews";
  head.headers.add("Accept", "application/json");
  head.headers.add("Content-Type", "application/json");
  return head;
}

CallOptions review_of(std::string_view token, std::string_view audience) {
  CallOptions options;
  options.body =
      R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":)" +
      json_quote(token);
  if (!audience.empty()) options.body += R"(,"audiences":[)" + json_quote(audience) + "]";
  options.body += "}}";
  return options;
}

Result<TokenUser> read_review(const Result<Answer>& answer, std::string_view audience) {
  if (!answer) {
    return fail(Code::unavailable, "the bearer token cannot be verified: {}",
                answer.error().message());
  }
  if (answer->head.status != 201 && answer->head.status != 200) {
    return fail(Code::unavailable, "the bearer token cannot be verified: upstream answered {}",
                answer->head.status);
  }
  const auto nobodys = [] {
    return fail(Code::unauthorized, "Unauthorized: the bearer token is not valid here");
  };
  const auto tree = translate::JsonTree::parse(answer->body);
  if (!tree) return nobodys();
  const auto status = tree->root()["status"];
  const auto user = status["user"];
  if (!status["authenticated"].boolean() || user["username"].string().empty()) return nobodys();
  TokenUser out;
  out.user = user["username"].string();
  out.uid = user["uid"].string();
  out.groups = user["groups"].strings();
  for (auto each = user["extra"].first(); each; each = each.next())
    out.extra.emplace_back(each.key(), each.strings());
  const auto audiences = status["audiences"].strings();
  out.for_audience = std::find(audiences.begin(), audiences.end(), audience) != audiences.end();
  return out;
}

} // namespace

TokenReview::TokenReview(Caller& caller, Tally& tally, std::string_view token,
                         std::string_view audience, Done done)
    : call_(caller, head_of_review(), review_of(token, audience), k_max_answer,
            [done = std::move(done), &tally,
             audience = std::string(audience)](const Result<Answer>& answer) {
              const auto said = read_review(answer, audience);
              tally.reviewed(said ? Result<void>() : fail(said.error()));
              done(said);
            }) {}

} // namespace zoo::upstream
