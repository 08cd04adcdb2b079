// SPDX-License-Identifier: Apache-2.0
#include "scripted_upstream.hpp"

#include "common/base/file.hpp"
#include "daemon/translate/query.hpp"

#include <stdexcept>
#include <utility>

namespace zoo::test {
namespace {

std::string fixture(std::string_view name) {
  auto text =
      file::read(std::string(ZOO_SOURCE_DIR) + "/tests/unit/translate/" + std::string(name));
  if (!text) throw std::runtime_error(text.error().text());
  return *std::move(text);
}

constexpr std::string_view k_namespaces = "/namespaces/";

/// "/api/v1/namespaces/team/pods" -> "team"
std::string namespace_in(const std::string& path) {
  const auto at = path.find(k_namespaces);
  if (at == std::string::npos) return "";
  const auto begin = at + k_namespaces.size();
  return path.substr(begin, path.find('/', begin) - begin);
}

/// and, with "team", "/api/v1/pods"
std::string without_namespace(std::string path, const std::string& space) {
  return path.erase(path.find(k_namespaces), k_namespaces.size() + space.size());
}

Said json(int status, std::string body) {
  Said said;
  said.status = status;
  said.headers.add("Content-Type", "application/json");
  said.body = std::move(body);
  return said;
}

} // namespace

/// One request and its answer, as long as its connection is there and somebody asks for it.
struct ScriptedUpstream::Exchange {
  Asked asked;
  http::ServerStream* stream = nullptr; ///< null: zood has given it up, or it is over
  std::string heard;                    ///< of a tunnel
};

class ScriptedUpstream::Handler final : public http::StreamHandler {
public:
  Handler(ScriptedUpstream& owner, http::RequestHead head, http::ServerStream& stream)
      : owner_(owner), exchange_(std::make_shared<Exchange>()), stream_(stream) {
    exchange_->asked.head = std::move(head);
    exchange_->stream = &stream;
  }
  ~Handler() override { exchange_->stream = nullptr; }

  void on_data(std::string_view bytes) override {
    stream_.consume(bytes.size());
    (whole_ ? exchange_->heard : exchange_->asked.body).append(bytes);
  }
  void on_end() override {
    if (!std::exchange(whole_, true)) owner_.came(exchange_);
  }
  void on_reset() override { exchange_->stream = nullptr; }
  void on_drained() override {}

private:
  ScriptedUpstream& owner_;
  ExchangePtr exchange_;
  http::ServerStream& stream_;
  bool whole_ = false;
};

class ScriptedUpstream::Front final : public http::Service {
public:
  explicit Front(ScriptedUpstream& owner) : owner_(owner) {}
  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override {
    return std::make_unique<Handler>(owner_, std::move(head), stream);
  }

private:
  ScriptedUpstream& owner_;
};

ScriptedUpstream::ScriptedUpstream(net::Loop& loop, nlohmann::json standing)
    : loop_(loop), standing_(std::move(standing)) {
  net::ListenerLimits limits;
  limits.refusals = 1'000'000; // an upstream answers 429 as often as it likes
  auto opened = net::Listener::tcp({&loop_}, "127.0.0.1:0", nullptr, limits,
                                   [this](net::Loop&) { return std::make_unique<Front>(*this); });
  if (!opened) throw std::runtime_error(opened.error().text());
  listener_ = *std::move(opened);
  const auto address = listener_->address();
  port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

ScriptedUpstream::~ScriptedUpstream() = default;

void ScriptedUpstream::came(const ExchangePtr& exchange) {
  ++requests_;
  if (!stands(*exchange)) unseen_.push_back(exchange);
}

bool ScriptedUpstream::stands(Exchange& exchange) {
  const auto& head = exchange.asked.head;
  const auto path = head.target.substr(0, head.target.find('?'));
  if (head.method == "GET" && (path == "/api" || path == "/apis")) {
    auto said = json(200, "");
    said.headers.add("ETag", "\"same\"");
    if (head.headers.get("if-none-match") == "\"same\"") {
      said.status = 304;
    } else {
      said.body = fixture(path == "/api" ? "discovery_api.json" : "discovery_apis.json");
    }
    put(exchange, said);
    return true;
  }
  if (rows_) return false;
  // One namespace's path has those of the whole kind that lie in it.
  const auto space = namespace_in(path);
  const auto found = standing_.find(space.empty() ? path : without_namespace(path, space));
  if (found == standing_.end()) {
    put(exchange, json(404, R"({"kind":"Status","status":"Failure","code":404})"));
    return true;
  }
  const auto params = translate::parse_query(
      path.size() < head.target.size() ? std::string_view(head.target).substr(path.size() + 1)
                                       : "");
  if (params && translate::find_param(*params, "watch") != nullptr) {
    auto said = json(200, "");
    said.then = Said::Then::open;
    put(exchange, said);
    return true;
  }
  auto list = *found;
  list["metadata"]["resourceVersion"] = "1000";
  if (params && translate::find_param(*params, "labelSelector") != nullptr)
    list["items"] = nlohmann::json::array(); // none is without the tenant's label
  if (!space.empty()) {
    auto items = nlohmann::json::array();
    for (const auto& item : list["items"])
      if (item["metadata"].value("namespace", "") == space) items.push_back(item);
    list["items"] = std::move(items);
  }
  put(exchange, json(200, list.dump()));
  return true;
}

bool ScriptedUpstream::put(Exchange& exchange, const Said& said) {
  auto* const stream = exchange.stream;
  if (stream == nullptr) return false;
  const bool ends = said.then == Said::Then::end;
  if (said.status != 0) {
    http::ResponseHead head;
    head.status = said.status;
    head.headers = said.headers;
    stream->send_head(head, ends && said.body.empty());
  }
  if (!said.body.empty()) stream->send_data(said.body, ends);
  if (said.status == 0 && said.body.empty() && ends) stream->send_data("", true);
  if (said.then == Said::Then::reset && exchange.stream != nullptr)
    stream->reset(http::ResetReason::aborted);
  return true;
}

std::optional<Asked> ScriptedUpstream::next() {
  if (unseen_.empty()) return std::nullopt;
  unanswered_.push_back(unseen_.front());
  unseen_.pop_front();
  return unanswered_.back()->asked;
}

bool ScriptedUpstream::say(const Said& said) {
  if (unanswered_.empty()) return false;
  const auto exchange = unanswered_.front();
  unanswered_.pop_front();
  if (said.then == Said::Then::open) open_ = exchange;
  return put(*exchange, said);
}

bool ScriptedUpstream::say_more(const Said& said) { return open_ && put(*open_, said); }

std::string ScriptedUpstream::take_heard() {
  return open_ ? std::exchange(open_->heard, {}) : std::string();
}

bool ScriptedUpstream::given_up() const { return open_ && open_->stream == nullptr; }

void ScriptedUpstream::go_away() { listener_.reset(); }

} // namespace zoo::test
