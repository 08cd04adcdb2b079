// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/quota_broker.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/net/loop.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::accounts {

/// What an AdmissionReview asks of quotas. Code::bad_request: it is none.
struct QuotaReview {
  std::string uid; ///< of the review, as JSON
  quota::Judge::Ask ask;
};
Result<QuotaReview> read_quota_review(std::string_view review,
                                      std::chrono::system_clock::time_point now);
/// The answer to it.
std::string quota_review_answer(const std::string& uid, const QuotaBroker::Verdict& verdict);

/// The door at which upstream's kube-apiserver asks before something that a quota counts is
/// created. It shows no certificate: the path is the key. All else is 404. One a loop.
class QuotaDoor final : public http::Service {
public:
  struct Parts {
    net::Loop& loop;
    QuotaBroker& broker;
    std::string path; ///< "/quota/<secret>"
    /// Is this path zood's own question whether upstream reaches the door?
    std::function<bool(std::string_view path)> reaches;
    std::size_t review = std::size_t{8} << 20; ///< bytes of one; upstream's own most is 3 MiB
  };
  explicit QuotaDoor(Parts parts) : parts_(std::make_shared<const Parts>(std::move(parts))) {}
  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override;

private:
  std::shared_ptr<const Parts> parts_;
};

} // namespace zoo::accounts
