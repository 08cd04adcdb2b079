// SPDX-License-Identifier: Apache-2.0
#include "common/kube/client.hpp"

#include "common/base/error_table.hpp"
#include "common/base/file.hpp"
#include "common/base/text.hpp"
#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace zoo::kube {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::string_view k_json = "application/json";
constexpr auto k_token_age = std::chrono::seconds(60);
constexpr std::size_t k_longest_event = 16u << 20;
constexpr std::size_t k_most_pages = 100'000;

bool unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

Result<Json> parse(std::string_view body, std::string_view where) {
  auto json = parse_foreign(body);
  if (json.is_discarded()) {
    return fail(Code::unavailable, "the answer of {} is not JSON: is a Kubernetes API there?",
                where);
  }
  return json;
}

std::string member_text(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Error error_of_status(const Json& status, int http_status) {
  const auto reason = member_text(status, "reason");
  auto message = member_text(status, "message");
  int code = http_status;
  if (const auto found = status.find("code"); found != status.end() && found->is_number_integer()) {
    code = found->get<int>();
  }
  if (message.empty()) {
    message = reason.empty() ? fmt::format("the server answered {} without a message", code)
                             : fmt::format("the server answered {} {}", code, reason);
  }
  return Error(code_from_status(code, reason), std::move(message));
}

bool is_status(const Json& json) { return member_text(json, "kind") == "Status"; }

} // namespace

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (unreserved(c)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string path(std::initializer_list<std::string_view> segments) {
  std::string out;
  for (const auto segment : segments) {
    out += '/';
    // "." and ".." would be removed on the way (RFC 3986 6.2.2.3); no name may be either.
    if (segment == "." || segment == "..") {
      for (std::size_t i = 0; i < segment.size(); ++i)
        out += "%2E";
    } else {
      out += percent_encode(segment);
    }
  }
  return out;
}

std::string with_query(std::string_view path, const Query& query) {
  std::string out(path);
  char separator = out.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [name, value] : query) {
    out += separator;
    out += percent_encode(name) + "=" + percent_encode(value);
    separator = '&';
  }
  return out;
}

Error error_of(const http_client::Response& response) {
  const auto json = parse_foreign(response.body);
  if (is_status(json)) return error_of_status(json, response.status);
  const auto body = text::trim(response.body).substr(0, 200);
  const bool plain = !body.empty() && std::all_of(body.begin(), body.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  return Error(code_from_status(response.status, {}),
               plain ? fmt::format("the server answered {}: {}", response.status, body)
                     : fmt::format("the server answered {}", response.status));
}

namespace {

/// The data path knows no proxy: a control plane that went through one would be well alone.
http_client::Credentials direct(const http_client::Credentials& given) {
  auto out = given.clone();
  out.direct = true;
  return out;
}

} // namespace

class KubeClient::Impl {
public:
  Impl(ClusterAccess access, KubeClientOptions options)
      : access_(std::move(access)), options_(std::move(options)),
        http_(direct(access_.credentials)) {}

  /// Builds the request; reads a token again that lives in a file, since such ones rotate.
  Result<http_client::Request> request(std::string_view method, std::string_view path,
                                       std::string_view content_type, std::string body,
                                       std::string_view accept) {
    http_client::Request out;
    out.method = method;
    out.url = access_.server + std::string(path);
    out.headers = options_.headers;
    out.headers.emplace_back("Accept", accept.empty() ? k_json : accept);
    out.headers.emplace_back("User-Agent", options_.user_agent + "/" + ZOO_VERSION);
    if (!content_type.empty()) out.headers.emplace_back("Content-Type", content_type);
    out.body = std::move(body);
    out.timeout = options_.timeout;
    out.unix_socket = options_.unix_socket;
    out.repeatable = options_.repeatable;
    out.max_body = options_.max_answer;
    out.stop = options_.stop;
    if (!access_.token_file.empty()) {
      const auto now = Clock::now();
      if (!token_read_ || now - *token_read_ > k_token_age) {
        // A file that cannot be read just now leaves the token that was read last.
        if (auto read = file::read_secret(access_.token_file); read && !read->empty()) {
          token_ = Secret::copy_of(text::trim(read->view()));
        }
        token_read_ = now;
      }
      if (!token_.empty()) {
        out.headers.emplace_back("Authorization", fmt::format("Bearer {}", token_.view()));
      }
    }
    return out;
  }

  Result<http_client::Response> raw(std::string_view method, std::string_view path,
                                    std::string_view content_type, std::string body,
                                    std::string_view accept = {}) {
    ZOO_TRY(const auto prepared, request(method, path, content_type, std::move(body), accept));
    return http_.perform(prepared);
  }

  Result<Json> call(std::string_view method, std::string_view path, std::string_view content_type,
                    std::string body) {
    ZOO_TRY(const auto response, raw(method, path, content_type, std::move(body)));
    if (response.status < 200 || response.status > 299) return fail(error_of(response));
    if (response.body.empty()) return Json();
    return parse(response.body, http_client::display_url(access_.server));
  }

  Result<Json> send(std::string_view method, std::string_view path, std::string_view content_type,
                    const Json& body, const Query& query) {
    return call(method, with_query(path, query), content_type,
                body.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  ClusterAccess access_;
  KubeClientOptions options_;
  http_client::Client http_;

private:
  Secret token_;
  std::optional<Clock::time_point> token_read_;
};

KubeClient::KubeClient(ClusterAccess access, KubeClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(access), std::move(options))) {}
KubeClient::KubeClient(KubeClient&&) noexcept = default;
KubeClient& KubeClient::operator=(KubeClient&&) noexcept = default;
KubeClient::~KubeClient() = default;

Result<Json> KubeClient::get(std::string_view path, const Query& query) {
  return impl_->call("GET", with_query(path, query), {}, {});
}

Result<Json> KubeClient::create(std::string_view path, const Json& object, const Query& query) {
  return impl_->send("POST", path, k_json, object, query);
}

Result<Json> KubeClient::update(std::string_view path, const Json& object, const Query& query) {
  return impl_->send("PUT", path, k_json, object, query);
}

Result<Json> KubeClient::patch(std::string_view path, std::string_view content_type,
                               const Json& patch, const Query& query) {
  return impl_->send("PATCH", path, content_type, patch, query);
}

Result<Json> KubeClient::apply(std::string_view path, const Json& object,
                               std::string_view field_manager, bool force) {
  Query query = {{"fieldManager", std::string(field_manager)}};
  if (force) query.emplace_back("force", "true");
  // JSON is YAML: the only content type of server-side apply.
  return impl_->send("PATCH", path, "application/apply-patch+yaml", object, query);
}

Result<Json> KubeClient::remove(std::string_view path) {
  return impl_->call("DELETE", path, {}, {});
}

Result<Json> KubeClient::remove(std::string_view path, const Json& delete_options) {
  return impl_->send("DELETE", path, k_json, delete_options, {});
}

Result<std::string> KubeClient::list(std::string_view path, const Query& query,
                                     const std::function<Result<void>(const Json&)>& each) {
  Query selection = query;
  std::size_t limit = impl_->options_.page;
  std::erase_if(selection, [&limit](const auto& pair) {
    if (pair.first != "limit") return false;
    const auto& text = pair.second;
    std::from_chars(text.data(), text.data() + text.size(), limit);
    return true;
  });
  std::string next;
  for (std::size_t page = 0; page < k_most_pages; ++page) {
    Query asked = selection;
    asked.emplace_back("limit", std::to_string(limit));
    if (!next.empty()) {
      // A continued list takes its revision from the token alone.
      std::erase_if(asked, [](const auto& pair) {
        return pair.first == "resourceVersion" || pair.first == "resourceVersionMatch" ||
               pair.first == "continue";
      });
      asked.emplace_back("continue", next);
    }
    const auto got = get(path, asked);
    if (!got && got.error().code() == Code::too_large && limit > 1) {
      limit /= 2;
      continue;
    }
    if (!got) return fail(got.error());
    const auto& answer = *got;
    const auto items = answer.is_object() ? answer.find("items") : answer.end();
    if (!answer.is_object() || items == answer.end()) {
      return fail(Code::unavailable, "the answer to the list {} is not a list", path);
    }
    // A list that Go marshals from nil has `items: null`.
    if (items->is_array()) {
      for (const auto& item : *items)
        ZOO_TRY_VOID(each(item));
    }
    const auto metadata = answer.find("metadata");
    const auto following = metadata == answer.end() ? "" : member_text(*metadata, "continue");
    if (following.empty()) {
      return metadata == answer.end() ? std::string() : member_text(*metadata, "resourceVersion");
    }
    if (following == next) {
      return fail(Code::unavailable,
                  "the list {} does not move on: the server repeats its continue "
                  "token",
                  path);
    }
    next = following;
  }
  return fail(Code::too_large, "the list {} has no end", path);
}

Result<void> KubeClient::watch(std::string_view path, const Query& query,
                               const std::function<Result<bool>(const Json&)>& each) {
  Query asked = query;
  asked.emplace_back("watch", "true");
  ZOO_TRY(auto request, impl_->request("GET", with_query(path, asked), {}, {}, {}));
  request.idle_timeout = impl_->options_.silence;
  std::string pending;
  Result<void> outcome;
  const auto on_line = [&](std::string_view line) {
    line = text::trim(line);
    if (line.empty()) return true;
    const auto event = parse_foreign(line);
    if (!event.is_object() || !event.contains("object")) {
      outcome = fail(Code::unavailable, "the watch {} sent something that is no event", path);
      return false;
    }
    if (member_text(event, "type") == "ERROR") {
      outcome = fail(error_of_status(event["object"], 500));
      return false;
    }
    auto more = each(event);
    if (!more) outcome = fail(std::move(more).error());
    return more.has_value() && *more;
  };
  const auto response = impl_->http_.stream(request, [&](std::string_view bytes) {
    pending += bytes;
    std::size_t begin = 0;
    for (auto end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', begin)) {
      if (!on_line(std::string_view(pending).substr(begin, end - begin))) return false;
      begin = end + 1;
    }
    pending.erase(0, begin);
    if (pending.size() <= k_longest_event) return true;
    outcome = fail(Code::too_large, "an event of the watch {} is too large", path);
    return false;
  });
  ZOO_TRY_VOID(outcome);
  if (!response) return fail(Error(response.error()));
  if (response->status < 200 || response->status > 299) return fail(error_of(*response));
  return {};
}

Result<http_client::Response> KubeClient::raw(std::string_view method, std::string_view path,
                                              std::string_view content_type, std::string body,
                                              std::string_view accept) {
  return impl_->raw(method, path, content_type, std::move(body), accept);
}

const ClusterAccess& KubeClient::access() const { return impl_->access_; }

void KubeClient::set_header(std::string name, std::string value) {
  auto& headers = impl_->options_.headers;
  std::erase_if(headers, [&](const auto& pair) { return text::iequals(pair.first, name); });
  if (!value.empty()) headers.emplace_back(std::move(name), std::move(value));
}

void KubeClient::add_header(std::string name, std::string value) {
  impl_->options_.headers.emplace_back(std::move(name), std::move(value));
}

} // namespace zoo::kube
