// SPDX-License-Identifier: Apache-2.0
#include "common/http_client/client.hpp"

#include "common/base/deleter.hpp"
#include "common/base/text.hpp"
#include "common/http_client/transfer.hpp"

#include <curl/curl.h>
#include <string.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

namespace zoo::http_client {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using Easy = std::unique_ptr<CURL, Deleter<curl_easy_cleanup>>;
using Multi = std::unique_ptr<CURLM, Deleter<curl_multi_cleanup>>;
using UrlHandle = std::unique_ptr<CURLU, Deleter<curl_url_cleanup>>;

constexpr Milliseconds k_connect_timeout{10'000};
constexpr Milliseconds k_quiet{60'000};

/// A header list; wiped when it goes, since Authorization stands in it.
class HeaderList {
public:
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() {
    for (auto* each = list_; each != nullptr; each = each->next)
      explicit_bzero(each->data, std::strlen(each->data));
    curl_slist_free_all(list_);
  }
  void add(const std::string& line) {
    auto* longer = curl_slist_append(list_, line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    list_ = longer;
  }
  curl_slist* get() const { return list_; }

private:
  curl_slist* list_ = nullptr;
};

struct Target {
  std::string url; ///< as libcurl shall have it
  std::string host;
  std::string authority; ///< for the Host header; empty: libcurl's own
  std::string connect_to;
};

std::string part(CURLU* handle, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(handle, which, &text, flags) != CURLUE_OK) return {};
  std::string out(text);
  curl_free(text);
  return out;
}

/// libcurl takes the name to verify from the URL: to verify another one, the URL gets that name
/// and the connection is led back to the host that was meant.
Result<Target> target_of(const std::string& url, const std::string& server_name) {
  const UrlHandle handle(curl_url());
  if (!handle) throw std::bad_alloc();
  const auto bad = [&](std::string_view why) {
    return fail(Code::usage, "'{}' is not a URL to use: {}", display_url(url), why);
  };
  if (const auto code = curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), 0);
      code != CURLUE_OK) {
    return bad(curl_url_strerror(code));
  }
  const auto scheme = part(handle.get(), CURLUPART_SCHEME);
  if (scheme != "https" && scheme != "http") return bad("it must begin with https:// or http://");
  if (!part(handle.get(), CURLUPART_USER).empty() ||
      !part(handle.get(), CURLUPART_PASSWORD).empty()) {
    return bad("it must not hold a user or password");
  }
  Target out{url, part(handle.get(), CURLUPART_HOST), {}, {}};
  if (server_name.empty() || scheme != "https" || server_name == out.host) return out;
  const auto given_port = part(handle.get(), CURLUPART_PORT);
  const auto port = given_port.empty() ? std::string("443") : given_port;
  out.authority = given_port.empty() ? out.host : out.host + ":" + given_port;
  if (curl_url_set(handle.get(), CURLUPART_HOST, server_name.c_str(), 0) != CURLUE_OK) {
    return fail(Code::usage, "'{}' is not a TLS server name", server_name);
  }
  out.url = part(handle.get(), CURLUPART_URL);
  out.connect_to = fmt::format("{}:{}:{}:{}", server_name, port, out.host, port);
  return out;
}

void initialise_once() {
  static const bool done = [] {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw std::bad_alloc();
    return true;
  }();
  (void)done;
}

curl_blob blob_of(std::string_view text) {
  // CURL_BLOB_NOCOPY: the text outlives the transfer, and libcurl only reads it.
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
}

} // namespace

class Client::Impl {
public:
  explicit Impl(Credentials credentials)
      : credentials_(std::move(credentials)), easy_(curl_easy_init()), multi_(curl_multi_init()) {
    if (!easy_ || !multi_) throw std::bad_alloc();
  }

  Result<Response> run(const Request& request, const Receiver::OnData* on_data);

private:
  struct Transfer {
    Receiver receiver;
    CURL* easy;
    Clock::time_point last_byte;
  };

  static std::size_t header_callback(char* data, std::size_t size, std::size_t count,
                                     void* user) noexcept;
  static std::size_t write_callback(char* data, std::size_t size, std::size_t count,
                                    void* user) noexcept;

  void set_up(const Request& request, const Target& target, const HeaderList& headers,
              Transfer& transfer);
  void add_headers(const Request& request, const Target& target, HeaderList& headers) const;
  CURLcode drive(const Request& request, bool streaming, Transfer& transfer);
  Error error_of(CURLcode code, const Request& request, const std::string& host) const;

  template <class T>
  void set(CURLoption option, T value) {
    // Fails only for lack of memory or for an option this libcurl was built without.
    if (curl_easy_setopt(easy_.get(), option, value) == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  }

  Credentials credentials_;
  Easy easy_; // before multi_: the multi handle's connections go first
  Multi multi_;
  char detail_[CURL_ERROR_SIZE] = {};
  std::unique_ptr<curl_slist, Deleter<curl_slist_free_all>> connect_to_;
};

std::size_t Client::Impl::header_callback(char* data, std::size_t size, std::size_t count,
                                          void* user) noexcept {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    transfer.last_byte = Clock::now();
    return transfer.receiver.on_header_line({data, size * count}) ? size * count : 0;
  } catch (const std::exception& e) {
    transfer.receiver.set_failure(Error(Code::internal, e.what()));
    return 0;
  }
}

std::size_t Client::Impl::write_callback(char* data, std::size_t size, std::size_t count,
                                         void* user) noexcept {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    transfer.last_byte = Clock::now();
    long status = 0;
    curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    const auto bytes = size * count;
    // Any number but `bytes` ends the transfer; an empty block must not look like an end.
    return transfer.receiver.on_body({data, bytes}, static_cast<int>(status)) ? bytes : bytes + 1;
  } catch (const std::exception& e) {
    transfer.receiver.set_failure(Error(Code::internal, e.what()));
    return size * count + 1;
  }
}

void Client::Impl::add_headers(const Request& request, const Target& target,
                               HeaderList& headers) const {
  bool content_type = false, authorization = false, host = false;
  for (const auto& [name, value] : request.headers) {
    content_type = content_type || text::iequals(name, "Content-Type");
    authorization = authorization || text::iequals(name, "Authorization");
    host = host || text::iequals(name, "Host");
    // "Name;" is how libcurl spells a header without a value.
    headers.add(value.empty() ? name + ";" : name + ": " + value);
  }
  headers.add("Expect:");
  if (!content_type) headers.add("Content-Type:");
  if (!host && !target.authority.empty()) headers.add("Host: " + target.authority);
  if (!authorization && !credentials_.bearer_token.empty()) {
    std::string line = "Authorization: Bearer ";
    line += text::trim(credentials_.bearer_token.view());
    headers.add(line);
    explicit_bzero(line.data(), line.size());
  }
}

void Client::Impl::set_up(const Request& request, const Target& target, const HeaderList& headers,
                          Transfer& transfer) {
  curl_easy_reset(easy_.get());
  detail_[0] = '\0';
  set(CURLOPT_URL, target.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  // The usual 64 KiB, got and freed with each request, would have malloc go over its free lists.
  set(CURLOPT_UPLOAD_BUFFERSIZE, 16L << 10U);
  // One request at a time has nothing to gain from HTTP/2, and libcurl turns a complete answer into
  // CURLE_PARTIAL_FILE where the server resets the stream because it did not read the whole body,
  // as kube-apiserver may do with a POST that it answers 401.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  // libcurl sends any request a second time, unasked, when a reused connection ends before the
  // first byte of an answer, though the server may have acted on the first. RFC 9110 9.2.2 forbids
  // that where the method is not idempotent; a new connection is never retried.
  // A PUT may name the version that it replaces (If-Match, a resourceVersion): the second of two
  // is refused then, and the first, which was acted on, looks as if it had been.
  if (!request.repeatable &&
      (request.method == "POST" || request.method == "PATCH" || request.method == "PUT")) {
    set(CURLOPT_FRESH_CONNECT, 1L);
    set(CURLOPT_FORBID_REUSE, 1L);
  }
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(std::min(request.timeout, k_connect_timeout).count()));
  set(CURLOPT_ERRORBUFFER, detail_);
  set(CURLOPT_HEADERFUNCTION, &Impl::header_callback);
  set(CURLOPT_HEADERDATA, &transfer);
  set(CURLOPT_WRITEFUNCTION, &Impl::write_callback);
  set(CURLOPT_WRITEDATA, &transfer);
  if (credentials_.direct || is_loopback(target.host) || !request.unix_socket.empty())
    set(CURLOPT_NOPROXY, "*");
  if (!request.unix_socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, request.unix_socket.c_str());
  connect_to_.reset();
  if (!target.connect_to.empty()) {
    connect_to_.reset(curl_slist_append(nullptr, target.connect_to.c_str()));
    set(CURLOPT_CONNECT_TO, connect_to_.get());
  }
  const bool sends_body = !request.body.empty() || request.method == "POST" ||
                          request.method == "PUT" || request.method == "PATCH";
  if (sends_body) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, request.body.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  } else if (request.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  }
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (credentials_.insecure) {
    set(CURLOPT_SSL_VERIFYPEER, 0L);
    set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  const auto set_blob = [this](CURLoption option, std::string_view text) {
    if (text.empty()) return;
    auto blob = blob_of(text);
    set(option, &blob);
  };
  set_blob(CURLOPT_CAINFO_BLOB, credentials_.ca_pem);
  // A certificate authority given by hand is the only one that is trusted.
  if (!credentials_.ca_pem.empty()) set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  set_blob(CURLOPT_SSLCERT_BLOB, credentials_.client_cert_pem);
  set_blob(CURLOPT_SSLKEY_BLOB, credentials_.client_key_pem.view());
}

CURLcode Client::Impl::drive(const Request& request, bool streaming, Transfer& transfer) {
  const auto begin = Clock::now();
  transfer.last_byte = begin;
  auto quiet = request.idle_timeout;
  if (quiet == Milliseconds::zero() && !streaming) quiet = k_quiet;
  const std::stop_callback wake(request.stop, [this] { curl_multi_wakeup(multi_.get()); });
  curl_off_t sent = 0;
  for (;;) {
    if (request.stop.stop_requested()) return CURLE_ABORTED_BY_CALLBACK;
    int running = 0;
    if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) return CURLE_FAILED_INIT;
    if (running == 0) {
      int left = 0;
      while (const auto* message = curl_multi_info_read(multi_.get(), &left)) {
        if (message->msg == CURLMSG_DONE) return message->data.result;
      }
      return CURLE_FAILED_INIT;
    }
    const auto now = Clock::now();
    curl_off_t sent_now = 0;
    curl_easy_getinfo(transfer.easy, CURLINFO_SIZE_UPLOAD_T, &sent_now);
    if (sent_now != sent) transfer.last_byte = now;
    sent = sent_now;
    auto wait = Milliseconds(60'000);
    const auto within = [&](Clock::time_point since, Milliseconds limit) {
      const auto left = std::chrono::ceil<Milliseconds>(since + limit - now);
      wait = std::min(wait, std::max(left, Milliseconds(0)));
      return left > Milliseconds::zero();
    };
    const bool total = !streaming || !transfer.receiver.head_complete();
    if (total && !within(begin, request.timeout)) return CURLE_OPERATION_TIMEDOUT;
    if (quiet > Milliseconds::zero() && !within(transfer.last_byte, quiet)) {
      return CURLE_OPERATION_TIMEDOUT;
    }
    if (curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(wait.count()), nullptr) !=
        CURLM_OK) {
      return CURLE_FAILED_INIT;
    }
  }
}

Error Client::Impl::error_of(CURLcode code, const Request& request, const std::string& host) const {
  const auto url = display_url(request.url);
  const bool local = !request.unix_socket.empty();
  const auto where = local ? fmt::format("{} over socket {}", url, request.unix_socket) : url;
  long number = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &number);
  const std::string detail = detail_[0] != '\0' ? detail_ : curl_easy_strerror(code);
  switch (code) {
  case CURLE_OPERATION_TIMEDOUT:
    return Error(Code::timeout, fmt::format("no answer from {} in time (limit {:.3g} s): is the "
                                            "server overloaded, or a firewall between?",
                                            where, double(request.timeout.count()) / 1000.0));
  case CURLE_COULDNT_RESOLVE_HOST:
    return Error(Code::unavailable,
                 fmt::format("cannot find the host of {}: check the name and DNS", url));
  case CURLE_COULDNT_RESOLVE_PROXY:
    return Error(Code::unavailable,
                 fmt::format("cannot find the proxy on the way to {}: check HTTPS_PROXY and "
                             "NO_PROXY in the environment",
                             url));
  case CURLE_COULDNT_CONNECT:
    return Error(
        Code::unavailable,
        fmt::format("cannot connect to {}: {}; is the server running, and is the {} right?", where,
                    number != 0 ? std::strerror(static_cast<int>(number)) : detail,
                    local ? "socket" : "address"));
  case CURLE_PEER_FAILED_VERIFICATION:
    return Error(
        Code::unavailable,
        fmt::format("the certificate of {} is not trusted: {}; check the CA given for it "
                    "and that the certificate names {}",
                    url, detail,
                    credentials_.tls_server_name.empty() ? host : credentials_.tls_server_name));
  case CURLE_SSL_CACERT_BADFILE:
    return Error(Code::invalid,
                 fmt::format("the CA certificate for {} cannot be used: it must be PEM", url));
  case CURLE_SSL_CERTPROBLEM:
    return Error(
        Code::invalid,
        fmt::format("the client certificate or key for {} cannot be used: {}", url, detail));
  case CURLE_SSL_CONNECT_ERROR:
    return Error(
        Code::unavailable,
        fmt::format("no TLS connection to {}: {}; does the server speak TLS there?", url, detail));
  case CURLE_URL_MALFORMAT:
  case CURLE_UNSUPPORTED_PROTOCOL:
    // The latter also means an answer that is not HTTP (HTTP/0.9 is off).
    return Error(code == CURLE_URL_MALFORMAT ? Code::usage : Code::unavailable,
                 fmt::format("no HTTP answer from {}: {}", where, detail));
  case CURLE_OUT_OF_MEMORY:
    return Error(Code::internal, "out of memory");
  default:
    return Error(Code::unavailable, fmt::format("the exchange with {} broke off: {}; try again, "
                                                "and look into the server's log",
                                                where, detail));
  }
}

Result<Response> Client::Impl::run(const Request& request, const Receiver::OnData* on_data) {
  ZOO_TRY_VOID(check_request(request));
  ZOO_TRY(const auto target, target_of(request.url, credentials_.tls_server_name));
  HeaderList headers;
  add_headers(request, target, headers);
  Transfer transfer{Receiver(request.max_body, on_data), easy_.get(), {}};
  set_up(request, target, headers, transfer);
  if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) {
    return fail(Code::internal, "cannot start a request to {}", display_url(request.url));
  }
  const auto code = drive(request, on_data != nullptr, transfer);
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  std::optional<Error> error;
  if (code != CURLE_OK) error = error_of(code, request, target.host);
  curl_multi_remove_handle(multi_.get(), easy_.get());
  if (auto& receiver = transfer.receiver; receiver.failure()) {
    return fail(Error(*receiver.failure()).context("from {}", display_url(request.url)));
  } else if (receiver.wanted_end()) {
    return receiver.take(static_cast<int>(status));
  }
  if (request.stop.stop_requested() && code == CURLE_ABORTED_BY_CALLBACK) {
    return fail(Code::cancelled, "stopped reading from {}", display_url(request.url));
  }
  if (error) return fail(std::move(*error));
  return transfer.receiver.take(static_cast<int>(status));
}

Client::Client(Credentials credentials) {
  initialise_once();
  impl_ = std::make_unique<Impl>(std::move(credentials));
}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Response> Client::perform(const Request& request) { return impl_->run(request, nullptr); }

Result<Response> Client::stream(const Request& request,
                                const std::function<bool(std::string_view)>& on_data) {
  return impl_->run(request, &on_data);
}

} // namespace zoo::http_client
