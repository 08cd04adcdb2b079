// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "common/kube/status.hpp"
#include "daemon/gateway/continue_token.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/upstream.hpp"

namespace zoo::gateway {
namespace {

using translate::JsonTree;

/// The UID of an item, or of a row of a Table.
std::string uid_of(std::string_view item) {
  const auto tree = JsonTree::parse(item);
  if (!tree) return "";
  const auto row = tree->root()["object"]["metadata"];
  return (row ? row : tree->root()["metadata"])["uid"].string();
}

/// The client's DeleteOptions, good for the object of that UID alone. A UID of its own stays.
std::string options_for(const std::string& given, std::string_view uid) {
  const auto condition = R"({"uid":)" + json_quote(uid) + '}';
  if (uid.empty()) return given;
  if (given.empty())
    return R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":)" + condition + '}';
  const auto tree = JsonTree::parse(given);
  if (!tree || !tree->root().is(translate::JsonType::object)) return given;
  translate::JsonEdits edits;
  const auto conditions = tree->root()["preconditions"];
  if (!conditions) {
    edits.append(tree->root(), "preconditions", condition);
  } else if (conditions.is(translate::JsonType::null)) {
    edits.replace(conditions, condition);
  } else if (conditions.is(translate::JsonType::object) && !conditions["uid"]) {
    edits.append(conditions, "uid", json_quote(uid));
  }
  return edits.apply(given);
}

/// Has another object taken the name? The words of apiserver's registry and of its storage.
bool is_another(const upstream::Answer& answer) {
  return answer.head.status == 409 && answer.body.find("UID in ") != std::string::npos &&
         answer.body.find("precondition") != std::string::npos;
}

/// Lists the objects, then deletes one after the other, and answers the list, as they were, as
/// apiserver's DeleteCollection does. What is gone by then, or has given its name to another one,
/// is no error; the first refusal ends it.
/// What must not be deleted by its name stays, and is not told. A list above limits.object is not
/// kept: the answer is a Status then.
class DeleteCollection final : public Steps, private upstream::ListHandler {
public:
  DeleteCollection(Exchange& exchange, ListPlan plan, Actor actor, PathOf to_path)
      : Steps(exchange), plan_(std::move(plan)), actor_(actor), to_path_(std::move(to_path)),
        writer_(exchange, plan_.rendering),
        limit_(static_cast<std::size_t>(exchange.target().list.limit)) {}

  void start() override {
    if (const auto& token = exchange_.target().list.continue_token; !token.empty()) {
      auto position = open_continue(exchange_, token);
      if (!position) return exchange_.fail(position.error());
      revision_ = position->revision;
      auto& start = plan_.ranges.front().start;
      start = position->start;
      if (start.starts_with(k_by_name)) { // of a merged list
        start = translate::object_name_in(exchange_.mapping(), exchange_.resource().facts,
                                          std::string_view(start).substr(1));
      }
    }
    next_range();
  }

private:
  void next_range() {
    auto request = list_request(exchange_, plan_);
    request.range = plan_.ranges[at_];
    request.revision = revision_;
    retired_list_ = std::move(list_);
    list_ = read_range(exchange_, plan_, std::move(request), "#delete", *this);
  }

  void on_list_begin(std::string_view head) override {
    if (at_ != 0) return;
    if (auto begun = writer_.begin(head, list_text_); !begun) exchange_.fail(begun.error());
  }
  void on_list_item(std::string_view key, std::string_view item) override {
    if (exchange_.done() || !next_start_.empty() || !shows(plan_.rendering, item)) return;
    auto path = to_path_(key);
    if (!path) return;
    if (limit_ != 0 && objects_.size() == limit_) {
      next_start_ = last_ + '\0';
      return;
    }
    constexpr std::size_t k_object = 128; // that it takes besides
    if (!exchange_.buffer(path->size() + k_object + (kept_ ? item.size() : 0)))
      return exchange_.fail(held_too_much());
    objects_.push_back({*std::move(path), uid_of(item)});
    last_ = key;
    if (!kept_) return;
    if (auto written = writer_.item(item, list_text_); !written)
      return exchange_.fail(written.error());
    kept_ = list_text_.size() <= exchange_.gateway().limits().object;
    if (!kept_) std::string().swap(list_text_);
  }
  void on_list_end(const upstream::ListEnd& end) override {
    if (exchange_.done()) return;
    const auto revision = upstream::revision_of(end.resource_version);
    if (!revision) return exchange_.fail(revision.error());
    revision_ = *revision;
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
    if (deleted_ == objects_.size()) return answer();
    Outgoing request(actor_, "DELETE", objects_[deleted_].path);
    request.body = options_for(exchange_.body(), objects_[deleted_].uid);
    if (!request.body.empty()) request.content_type = "application/json";
    for (const auto& param : exchange_.target().params) {
      if (param.key == "dryRun" || param.key == "gracePeriodSeconds" ||
          param.key == "propagationPolicy" || param.key == "orphanDependents") {
        request.params.push_back(param);
      }
    }
    ask(request, [this](const upstream::Answer& answer) {
      if (!answer.ok() && answer.head.status != 404 && !is_another(answer)) return refuse(answer);
      ++deleted_;
      next_delete();
    });
  }

  void answer() {
    if (!kept_) return exchange_.send_json(200, kube::success_json());
    writer_.end(std::to_string(revision_),
                next_start_.empty() ? "" : seal_continue(exchange_, revision_, next_start_),
                list_text_);
    exchange_.send_head(list_head(plan_.rendering));
    exchange_.send(std::move(list_text_));
    exchange_.finish();
  }

  ListPlan plan_;
  Actor actor_;
  PathOf to_path_;
  std::size_t at_ = 0, deleted_ = 0;
  struct Object {
    std::string path, uid;
  };
  std::vector<Object> objects_;
  std::string last_; ///< key of the last of them
  ListWriter writer_;
  std::string list_text_; ///< what is told at the end
  bool kept_ = true;
  std::size_t limit_;      ///< 0: all
  std::string next_start_; ///< with a limit, and more behind it
  std::int64_t revision_ = -1;
  std::unique_ptr<upstream::List> retired_list_, list_;
};

} // namespace

std::unique_ptr<Flow> delete_collection(Exchange& exchange, ListPlan plan, Actor actor,
                                        PathOf to_path) {
  return std::make_unique<DeleteCollection>(exchange, std::move(plan), actor, std::move(to_path));
}

} // namespace zoo::gateway
