// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/page_answer.hpp"

#include "common/base/gzip.hpp"
#include "common/base/text.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/upstream/request_text.hpp"

#include <fmt/format.h>

namespace zoo::gateway {
namespace {

class PlainPage final : public AnswerTranslator {
public:
  explicit PlainPage(translate::ProxyPlace place) : links_(std::move(place)) {}

  Result<void> feed(std::string_view bytes, std::string& out) override {
    links_.feed(bytes, out);
    return {};
  }
  Result<void> finish(std::string& out) override {
    links_.finish(out);
    return {};
  }

private:
  translate::PageLinks links_;
};

class GzipPage final : public AnswerTranslator {
public:
  GzipPage(translate::ProxyPlace place, std::size_t& opened)
      : links_(std::move(place)), opened_(opened) {
    ++opened_;
  }
  ~GzipPage() override { --opened_; }
  GzipPage(const GzipPage&) = delete;
  GzipPage& operator=(const GzipPage&) = delete;

  Result<void> feed(std::string_view bytes, std::string& out) override {
    packed_.append(bytes);
    std::string_view left = packed_;
    ZOO_TRY(const auto html, opener_.next(left));
    links_.feed(html, out);
    packed_.erase(0, packed_.size() - left.size());
    behind_ = !html.empty();
    return {};
  }
  Result<void> finish(std::string& out) override {
    if (!opener_.complete()) return fail(Code::unavailable, "the compressed page is not complete");
    links_.finish(out);
    return {};
  }
  bool behind() const override { return behind_; }

private:
  translate::PageLinks links_;
  std::size_t& opened_;
  gzip::Opener opener_;
  std::string packed_; ///< what came and is not opened: less than a reading of the connection
  bool behind_ = false;
};

bool is_page(const Exchange& exchange, const http::ResponseHead& head) {
  const bool empty = head.status == 204 || head.status == 304 || exchange.head().method == "HEAD";
  const auto type = head.headers.get("content-type");
  // Where it has rewritten a Location, it has left the body.
  return !empty && head.headers.get("location").empty() &&
         text::trim(type.substr(0, type.find(';'))) == "text/html";
}

} // namespace

std::optional<translate::ProxyPlace> proxy_place(const Exchange& exchange) {
  const auto& target = exchange.target();
  if (!target.connect || target.subresource != "proxy" || target.name_space.empty())
    return std::nullopt;
  const auto path = [&target](std::string_view name_space) {
    return fmt::format("/api/{}/namespaces/{}/{}/{}/proxy", target.version, name_space,
                       target.resource, target.name);
  };
  translate::ProxyPlace place;
  place.upstream = path(exchange.mapping().name_in(target.name_space));
  place.tenant = path(target.name_space);
  upstream::append_host(place.host, exchange.upstream().endpoint());
  if (place.upstream == place.tenant) return std::nullopt;
  return place;
}

std::unique_ptr<AnswerTranslator> page_answer(Exchange& exchange, http::ResponseHead& head) {
  if (!is_page(exchange, head)) return nullptr;
  auto place = proxy_place(exchange);
  if (!place) return nullptr;
  const auto coding = head.headers.get("content-encoding");
  if (coding.empty()) return std::make_unique<PlainPage>(*std::move(place));
  if (coding != "gzip") return nullptr; // kube-apiserver has not opened it either, nor changed it
  auto& opened = exchange.gateway().opened_pages();
  if (opened >= k_most_opened) return nullptr; // others' pages must not wait for who does not read
  head.headers.remove("content-encoding");
  return std::make_unique<GzipPage>(*std::move(place), opened);
}

std::string page_encodings(std::string_view accept_encoding) {
  std::string out;
  for (const auto each : text::split(accept_encoding, ',')) {
    const auto coding = text::trim(each);
    if (text::iequals(text::trim(coding.substr(0, coding.find(';'))), "deflate")) continue;
    if (!out.empty()) out += ", ";
    out += coding;
  }
  return out;
}

} // namespace zoo::gateway
