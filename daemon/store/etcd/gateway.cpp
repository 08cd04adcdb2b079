// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/etcd/gateway.hpp"

#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "common/http_client/transfer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace zoo::store::etcd {
namespace {

using nlohmann::json;
using Milliseconds = std::chrono::milliseconds;

constexpr std::size_t k_most_clients = 16;
constexpr std::size_t k_largest_answer = 512u << 20;
constexpr std::size_t k_longest_line = 16u << 20;
constexpr Milliseconds k_left_out{5'000};
constexpr Milliseconds k_between_rounds{100};
/// gRPC's codes (google.golang.org/grpc/codes), which the gateway puts into its answers.
enum Status : std::int64_t {
  invalid_argument = 3,
  not_found = 5,
  permission_denied = 7,
  exhausted = 8,
  failed_precondition = 9,
  out_of_range = 11,
  unauthenticated = 16
};

json parsed(std::string_view text) { return json::parse(text, nullptr, false); }

std::string message_of(const json& answer) {
  for (const auto* name : {"message", "error"}) {
    if (const auto found = answer.find(name); found != answer.end() && found->is_string())
      return *found;
  }
  return "no message";
}

std::int64_t code_of(const json& answer) {
  const auto found = answer.find("code");
  return found != answer.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

} // namespace

class Gateway::Lent {
public:
  explicit Lent(Gateway& gateway) : gateway_(gateway) {
    std::unique_lock lock(gateway_.mutex_);
    gateway_.changed_.wait(lock, [&] { return gateway_.lent_ < k_most_clients; });
    ++gateway_.lent_;
    if (!gateway_.idle_.empty()) {
      client_ = std::move(gateway_.idle_.back());
      gateway_.idle_.pop_back();
      return;
    }
    lock.unlock();
    client_ = std::make_unique<http_client::Client>(gateway_.credentials());
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    const std::lock_guard lock(gateway_.mutex_);
    --gateway_.lent_;
    if (client_) gateway_.idle_.push_back(std::move(client_));
    gateway_.changed_.notify_all();
  }
  http_client::Client& operator*() { return *client_; }

private:
  Gateway& gateway_;
  std::unique_ptr<http_client::Client> client_;
};

Gateway::Gateway(EtcdOptions options) : options_(std::move(options)) {
  for (const auto& url : options_.endpoints)
    members_.push_back({url, {}});
}

Result<std::unique_ptr<Gateway>> Gateway::make(EtcdOptions options) {
  if (options.endpoints.empty())
    return fail(Code::invalid, "store.etcd.endpoints names no member of etcd");
  for (auto& url : options.endpoints) {
    while (url.ends_with('/'))
      url.pop_back();
    const bool plain = url.starts_with("http://");
    if (!plain && !url.starts_with("https://"))
      return fail(Code::invalid, "store.etcd.endpoints: '{}' does not begin with https://", url);
    auto host = url.substr(plain ? 7 : 8);
    if (const auto colon = host.rfind(':'); colon != std::string::npos && !host.ends_with(']'))
      host.resize(colon);
    if (plain && !http_client::is_loopback(host)) {
      return fail(Code::invalid,
                  "store.etcd.endpoints: '{}' is not encrypted, and what zood writes must not be "
                  "read on the way: use https://, or an address of this machine's loopback",
                  url);
    }
  }
  if (options.certificate_pem.empty() != options.key_pem.empty())
    return fail(Code::invalid, "give store.etcd.certificate and store.etcd.key, or neither");
  if (!options.username.empty() && options.password.empty())
    return fail(Code::invalid, "store.etcd.username needs store.etcd.password_file");
  return std::unique_ptr<Gateway>(new Gateway(std::move(options)));
}

http_client::Credentials Gateway::credentials() const {
  http_client::Credentials out;
  out.ca_pem = options_.ca_pem;
  out.client_cert_pem = options_.certificate_pem;
  out.client_key_pem = options_.key_pem.clone();
  out.tls_server_name = options_.server_name;
  out.direct = true;
  return out;
}

std::string Gateway::members() const {
  return fmt::format("{}", fmt::join(options_.endpoints, ", "));
}

/// What an answer with a status of 400 or more means. The texts are those of etcd's
/// api/v3rpc/rpctypes/error.go and server/embed/serve.go.
Gateway::Refusal Gateway::judge(int status, const std::string& body, const std::string& url) {
  const auto settled = [&](Code code, std::string text) {
    return Refusal{Error(code, std::move(text)), false, false};
  };
  if (has(body, "CommonName of client")) {
    return settled(Code::unavailable,
                   fmt::format("etcd at {} takes no client certificate with a CN by its gateway: "
                               "make the one of store.etcd.certificate without a CN (O=zood is "
                               "enough), and give store.etcd.username",
                               url));
  }
  const auto answer = parsed(body);
  if (!answer.is_object()) {
    if (status == 404 || status == 405 || status == 415) {
      return settled(Code::unavailable,
                     fmt::format("etcd at {} has no JSON gateway: start it without "
                                 "--enable-grpc-gateway=false, and name its HTTP port if it has "
                                 "--listen-client-http-urls",
                                 url));
    }
    return {Error(Code::unavailable, fmt::format("etcd at {} answers {}", url, status))};
  }
  const auto text = message_of(answer);
  const auto said = fmt::format("etcd at {} says: {}", url, text);
  if (has(text, "auth store is old") || has(text, "invalid auth token"))
    return {Error(Code::unavailable, said), true, true};
  switch (code_of(answer)) {
  case Status::out_of_range:
    return settled(Code::expired, said);
  case Status::unauthenticated:
    return {Error(Code::unavailable, said), true, true};
  case Status::not_found:
    return settled(Code::not_found, said);
  case Status::permission_denied:
    return settled(Code::forbidden, said + ": grant zood's user readwrite on the whole prefix");
  case Status::failed_precondition:
    return settled(Code::conflict, said);
  case Status::exhausted:
    if (!has(text, "space exceeded")) break;
    return settled(Code::unavailable,
                   said + " (alarm NOSPACE): compact, defragment, and disarm the alarm");
  case Status::invalid_argument:
    if (has(text, "too large")) return settled(Code::too_large, said);
    if (has(text, "user name is empty")) {
      return settled(Code::forbidden,
                     said + ": it wants a user; give store.etcd.username and password_file");
    }
    if (has(text, "authentication failed"))
      return settled(Code::forbidden, said + " (store.etcd.username, store.etcd.password_file)");
    return settled(Code::internal, said);
  default:
    break;
  }
  return {Error(Code::unavailable, said)};
}

tl::expected<std::string, Gateway::Refusal>
Gateway::post(const std::string& url, std::string_view path, const std::string& body,
              const std::string& token, Milliseconds limit, const std::stop_token& stop) {
  http_client::Request request;
  request.method = "POST";
  request.url = url + std::string(path);
  request.headers = {{"Content-Type", "application/json"}};
  if (!token.empty()) request.headers.emplace_back("Authorization", token);
  request.body = body;
  request.timeout = limit;
  request.max_body = k_largest_answer;
  request.repeatable = true; // commit.hpp makes it so
  request.stop = stop;
  Lent client(*this);
  auto answer = (*client).perform(request);
  if (!answer) {
    const auto code = answer.error().code();
    const bool elsewhere = code == Code::unavailable || code == Code::timeout;
    return tl::unexpected(Refusal{std::move(answer).error(), elsewhere, false});
  }
  if (answer->status != 200) return tl::unexpected(judge(answer->status, answer->body, url));
  return std::move(answer->body);
}

tl::expected<std::string, Gateway::Refusal> Gateway::token(const std::string& url,
                                                           const std::string& stale,
                                                           Milliseconds limit,
                                                           const std::stop_token& stop) {
  if (options_.username.empty()) return std::string();
  const std::lock_guard lock(login_);
  if (!token_.empty() && token_ != stale) return token_;
  const json login{{"name", options_.username}, {"password", options_.password.view()}};
  const Secret text(login.dump());
  auto body = std::string(text.view());
  auto answer = post(url, "/v3/auth/authenticate", body, {}, limit, stop);
  explicit_bzero(body.data(), body.size());
  if (!answer) {
    if (answer.error().error.code() != Code::conflict) return answer;
    return std::string(); // etcd's authentication is switched off: a user is not needed
  }
  const auto parts = parsed(*answer);
  if (!parts.is_object() || !parts.contains("token") || !parts["token"].is_string())
    return tl::unexpected(Refusal{Error(Code::internal, "etcd gave no token"), true, false});
  token_ = parts["token"];
  return token_;
}

tl::expected<json, Gateway::Refusal> Gateway::ask_one(const std::string& url, std::string_view path,
                                                      const std::string& body, Milliseconds limit,
                                                      const std::stop_token& stop) {
  auto token = this->token(url, {}, limit, stop);
  if (!token) return tl::unexpected(std::move(token).error());
  auto answer = post(url, path, body, *token, limit, stop);
  if (!answer && answer.error().unauthenticated && !token->empty()) {
    token = this->token(url, *token, limit, stop);
    if (!token) return tl::unexpected(std::move(token).error());
    answer = post(url, path, body, *token, limit, stop);
  }
  if (!answer) return tl::unexpected(std::move(answer).error());
  auto out = parsed(*answer);
  if (!out.is_object()) {
    return tl::unexpected(
        Refusal{Error(Code::unavailable, fmt::format("the answer of etcd at {} is not JSON", url)),
                true, false});
  }
  return out;
}

/// Members to ask: the last good one first; those that were left out only if there is none else.
std::vector<std::size_t> Gateway::order() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::vector<std::size_t> good, all;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto each = (first_ + i) % members_.size();
    all.push_back(each);
    if (members_[each].left_out_until <= now) good.push_back(each);
  }
  return good.empty() ? all : good;
}

void Gateway::answered(std::size_t member) {
  const std::lock_guard lock(mutex_);
  first_ = member;
  members_[member].left_out_until = {};
  away_since_.reset();
}

void Gateway::failed(std::size_t member) {
  const std::lock_guard lock(mutex_);
  members_[member].left_out_until = Clock::now() + k_left_out;
}

Result<json> Gateway::ask(std::string_view path, const json& body, Patience patience,
                          std::stop_token stop, bool* repeated) {
  const auto text = body.dump();
  const auto begin = Clock::now();
  const auto end = begin + patience.together;
  std::optional<Error> last;
  bool once = false;
  for (;;) {
    for (const auto each : order()) {
      const auto left = std::chrono::ceil<Milliseconds>(end - Clock::now());
      if (left <= Milliseconds::zero()) break;
      if (once && repeated != nullptr) *repeated = true;
      once = true;
      auto answer = ask_one(members_[each].url, path, text, std::min(left, patience.call), stop);
      if (answer) {
        answered(each);
        return *std::move(answer);
      }
      auto& refusal = answer.error();
      if (!refusal.elsewhere) {
        if (refusal.error.code() == Code::cancelled) return fail(std::move(refusal.error));
        answered(each); // it does answer
        return fail(std::move(refusal.error));
      }
      failed(each);
      last = std::move(refusal.error);
    }
    std::unique_lock lock(mutex_);
    if (!away_since_) away_since_ = begin;
    // Who comes when etcd has been away for a while does not wait for it.
    if (Clock::now() >= end || Clock::now() - *away_since_ > Patience{}.together) break;
    changed_.wait_for(lock, stop, k_between_rounds, [] { return false; });
    if (stop.stop_requested()) return fail(Code::cancelled, "stopped asking etcd");
  }
  return fail(Code::unavailable, "the store cannot be reached: no member of etcd answers ({}): {}",
              members(), last ? last->message() : "not in time");
}

std::vector<std::pair<std::string, Result<json>>>
Gateway::ask_each(std::string_view path, const json& body, Milliseconds limit) {
  const auto text = body.dump();
  std::vector<std::pair<std::string, Result<json>>> out;
  for (const auto& url : options_.endpoints) {
    auto answer = ask_one(url, path, text, limit, {});
    if (answer) {
      out.emplace_back(url, *std::move(answer));
    } else {
      out.emplace_back(url, fail(std::move(answer).error().error));
    }
  }
  return out;
}

Result<void> Gateway::stream(std::string_view path, const json& body, Milliseconds quiet,
                             const OnLine& on_line, std::stop_token stop) {
  const auto member = order().front();
  const auto& url = members_[member].url;
  const auto lost = [&](Refusal refusal) -> Result<void> {
    failed(member);
    return fail(std::move(refusal.error));
  };
  auto token = this->token(url, {}, Patience{}.call, stop);
  if (!token) return lost(std::move(token).error());
  http_client::Request request;
  request.method = "POST";
  request.url = url + std::string(path);
  // Without it a member that has lost the others stays silent for ever.
  request.headers = {{"Content-Type", "application/json"}, {"Grpc-Metadata-hasleader", "true"}};
  if (!token->empty()) request.headers.emplace_back("Authorization", *token);
  request.body = body.dump();
  request.timeout = Patience{}.together;
  request.idle_timeout = quiet;
  request.stop = stop;
  std::string rest;
  bool enough = false, too_long = false;
  const auto on_data = [&](std::string_view bytes) {
    for (;;) {
      const auto newline = bytes.find('\n');
      rest.append(bytes.substr(0, newline));
      if (rest.size() > k_longest_line) too_long = true;
      if (too_long) return false;
      if (newline == std::string_view::npos) return true;
      bytes.remove_prefix(newline + 1);
      const auto line = std::exchange(rest, {});
      if (!line.empty() && !on_line(line)) {
        enough = true;
        return false;
      }
    }
  };
  http_client::Client client(credentials());
  auto answer = client.stream(request, on_data);
  if (!answer) {
    if (answer.error().code() == Code::cancelled) return fail(std::move(answer).error());
    return lost({std::move(answer).error()});
  }
  if (answer->status != 200) {
    auto refusal = judge(answer->status, answer->body, url);
    if (refusal.unauthenticated) {
      (void)this->token(url, *token, Patience{}.call, stop);
      return fail(std::move(refusal.error));
    }
    return lost(std::move(refusal));
  }
  if (too_long)
    return lost({Error(Code::internal, fmt::format("etcd at {} sent a line of more than {} bytes",
                                                   url, k_longest_line))});
  if (!enough) failed(member);
  return {};
}

} // namespace zoo::store::etcd
