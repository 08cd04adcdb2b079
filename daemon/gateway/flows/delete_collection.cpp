// SPDX-License-Identifier: Apache-2.0
#include "common/kube/status.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/upstream/upstream.hpp"

namespace zoo::gateway {
namespace {

/// Lists the keys, then deletes one after the other. What is gone by then is no error; the first
/// refusal ends it, as apiserver's DeleteCollection does.
class DeleteCollection final : public Steps, private upstream::ListHandler {
public:
  DeleteCollection(Exchange& exchange, ListPlan plan, Actor actor,
                   std::function<std::string(std::string_view)> to_path)
      : Steps(exchange), plan_(std::move(plan)), actor_(actor), to_path_(std::move(to_path)) {}

  void start() override { next_range(); }

private:
  void next_range() {
    auto request = list_request(exchange_, plan_);
    request.range = plan_.ranges[at_];
    retired_list_ = std::move(list_);
    list_ = read_range(exchange_, plan_, std::move(request), "#delete", *this);
  }

  void on_list_begin(std::string_view) override {}
  void on_list_item(std::string_view key, std::string_view item) override {
    if (plan_.rendering.shown && !plan_.rendering.shown(item)) return;
    keys_.emplace_back(key);
  }
  void on_list_end(const upstream::ListEnd&) override {
    if (exchange_.done()) return;
    exchange_.later([this] {
      if (++at_ < plan_.ranges.size()) return next_range();
      next_delete();
    });
  }
  void on_list_error(const Error& error, int http_status, std::string_view body) override {
    if (exchange_.done()) return;
    if (http_status == 0) return exchange_.fail(error);
    exchange_.send_refusal(http_status, body);
  }

  void next_delete() {
    if (deleted_ == keys_.size()) return exchange_.send_json(200, kube::success_json());
    Outgoing request;
    request.actor = actor_;
    request.method = "DELETE";
    request.path = to_path_(keys_[deleted_]);
    request.body = exchange_.body();
    if (!request.body.empty()) request.content_type = "application/json";
    for (const auto& param : exchange_.target().params) {
      if (param.key == "dryRun" || param.key == "gracePeriodSeconds" ||
          param.key == "propagationPolicy") {
        request.params.push_back(param);
      }
    }
    ask(request, [this](const upstream::Answer& answer) {
      if (!answer.ok() && answer.head.status != 404) return refuse(answer);
      ++deleted_;
      next_delete();
    });
  }

  ListPlan plan_;
  Actor actor_;
  std::function<std::string(std::string_view)> to_path_;
  std::size_t at_ = 0, deleted_ = 0;
  std::vector<std::string> keys_;
  std::unique_ptr<upstream::List> retired_list_, list_;
};

} // namespace

std::unique_ptr<Flow> delete_collection(Exchange& exchange, ListPlan plan, Actor actor,
                                        std::function<std::string(std::string_view)> to_path) {
  return std::make_unique<DeleteCollection>(exchange, std::move(plan), actor, std::move(to_path));
}

} // namespace zoo::gateway
