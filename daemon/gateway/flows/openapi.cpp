// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/gateway/flows/document.hpp"
#include "daemon/gateway/flows/served.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/translate/discovery.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/openapi_index.hpp"
#include "daemon/translate/openapi_proto.hpp"
#include "daemon/translate/openapi_v2.hpp"
#include "daemon/upstream/openapi_cache.hpp"
#include "daemon/upstream/upstream.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace zoo::gateway {
namespace {

constexpr std::string_view k_json = "application/json";
constexpr std::string_view k_index = "/openapi/v3";

/// Who reads the index of /openapi/v3, in the tenant's names.
class WithIndex : public Steps {
protected:
  explicit WithIndex(Exchange& exchange)
      : Steps(exchange), index_(exchange.view().viewer(), *exchange.resource().catalog) {}

  void ask_index(std::function<void(std::string index)> next) {
    ask(
        Outgoing::get(Reason::documents, std::string(k_index)),
        [this, next = std::move(next)](const upstream::Answer& answer) {
          if (!answer.ok()) return refuse(answer);
          auto index = index_.finish();
          if (!index) return exchange_.fail(index.error());
          next(*std::move(index));
        },
        k_json, [this](std::string_view bytes) { return read(bytes); });
  }

private:
  Result<void> read(std::string_view bytes) {
    ZOO_TRY_VOID(index_.feed(bytes));
    const auto held = index_.held();
    if (held <= exchange_.gateway().limits().object && buffer_whole(exchange_, held, counted_))
      return {};
    return fail(held_too_much());
  }

  std::size_t counted_ = 0;
  translate::OpenApiIndex index_;
};

class Index final : public WithIndex {
public:
  explicit Index(Exchange& exchange) : WithIndex(exchange) {}

  void start() override {
    ask_index([this](std::string index) {
      index = with_local(std::move(index));
      Document document{std::string(k_json), std::move(index), "", "no-cache, private"};
      send_document(exchange_, std::move(document));
    });
  }

private:
  std::string with_local(std::string index) const {
    const auto tree = translate::JsonTree::parse(index);
    const auto added = local_documents(exchange_);
    if (!tree || added.empty()) return index;
    translate::JsonEdits edits;
    for (const auto& each : added)
      edits.append(tree->root()["paths"], each.name,
                   R"({"serverRelativeURL":)" + json_quote(each.url) + '}');
    return edits.apply(index);
  }
};

/// A document of the view's own API.
class LocalPage final : public Flow {
public:
  LocalPage(Exchange& exchange, std::string body) : exchange_(exchange), body_(std::move(body)) {}
  void start() override {
    send_document(exchange_,
                  Document{std::string(k_json), std::move(body_), "", "no-cache, private"});
  }

private:
  Exchange& exchange_;
  std::string body_;
};

/// Where the document of one group-version lies upstream.
struct Place {
  std::string path;      ///< "/openapi/v3/apis/foofoo-stable.example.com/v1"
  std::string own_group; ///< the tenant's name of a group of its own; "" = as upstream has it
};

/// `name`: as the index names it, "apis/stable.example.com/v1". Nothing if the tenant may not see
/// it.
std::optional<Place> place_of(const Exchange& exchange, std::string_view name) {
  const auto& mapping = exchange.mapping();
  const auto parts = text::split(name, '/');
  const bool meta =
      parts.size() == 1 && (parts[0] == "api" || parts[0] == "apis" || parts[0] == "version");
  const bool core = parts.size() == 2 && parts[0] == "api" && parts[1] == "v1";
  const auto whole = std::string(k_index) + "/" + std::string(name);
  if (meta || core || name == ".well-known/openid-configuration" || name == "openid/v1/jwks") {
    return Place{whole, ""};
  }
  const bool group = (parts.size() == 2 || parts.size() == 3) && parts[0] == "apis";
  if (!group || !exchange.resource().catalog->group(exchange.view().viewer(), parts[1]))
    return std::nullopt;
  if (!mapping.custom_group(parts[1])) return Place{whole, ""};
  Place place{"/openapi/v3/apis/" + mapping.group_in(parts[1]), std::string(parts[1])};
  if (parts.size() == 3) place.path += "/" + std::string(parts[2]);
  return place;
}

/// A document of upstream's in the tenant's names.
Result<std::string> document_out(const Exchange& exchange, const Place& place, std::string&& body) {
  if (place.own_group.empty()) return std::move(body);
  return translate::openapi_document_out(exchange.mapping(), place.own_group, body);
}

/// One document of OpenAPI v3. Its ETag is upstream's, which is also the hash in the index: a
/// client that asks by the right hash may keep the answer for ever (kube-openapi's handler3).
class GroupVersion final : public Steps {
public:
  GroupVersion(Exchange& exchange, Place place) : Steps(exchange), place_(std::move(place)) {}

  void start() override {
    auto request = Outgoing::get(Reason::documents, place_.path);
    request.if_none_match = exchange_.head().headers.get("if-none-match");
    ask(request, [this](upstream::Answer answer) {
      const bool same = answer.head.status == 304;
      if (!answer.ok() && !same) return refuse(answer);
      Document document{std::string(k_json), "", std::string(answer.head.headers.get("etag")),
                        "no-cache, private"};
      const auto* hash = translate::find_param(exchange_.target().params, "hash");
      if (hash != nullptr && document.etag == '"' + *hash + '"') {
        document.cache_control = "public, immutable, max-age=31536000";
      }
      if (!same) {
        auto body = document_out(exchange_, place_, std::move(answer.body));
        if (!body) return exchange_.fail(body.error());
        document.body = *std::move(body);
      }
      send_document(exchange_, std::move(document));
    });
  }

private:
  Place place_;
};

/// /openapi/v2: one document of everything that the tenant may see, put together from those of
/// OpenAPI v3. What it costs follows the tenant's own groups; the others are kept converted.
class Version2 final : public WithIndex {
public:
  explicit Version2(Exchange& exchange)
      : WithIndex(exchange), cache_(exchange.upstream().openapi_cache()),
        timer_(exchange.gateway().loop()),
        proto_type_(translate::openapi_v2_proto_type(exchange.head().headers.get("accept"))) {}

  void start() override {
    ask_index([this](const std::string& index) {
      if (auto listed = read_index(index); !listed) return exchange_.fail(listed.error());
      etag_ = '"' +
              crypto::hex_encode(
                  crypto::view(crypto::sha256(common_key_ + own_key_ + std::string(proto_type_)))) +
              '"';
      if (client_has(exchange_.head().headers.get("if-none-match"), etag_)) return finish();
      common_ = cache_.find_common(common_key_);
      next();
    });
  }

private:
  struct Entry {
    Place place;
    std::string key; ///< path and hash
    upstream::OpenApiCache::PartPtr part;
  };

  Result<void> read_index(std::string_view index) {
    ZOO_TRY(const auto tree, translate::JsonTree::parse(index));
    const auto paths = tree.root()["paths"];
    for (auto path = paths.first(); path; path = path.next()) {
      auto place = place_of(exchange_, path.key());
      if (!place) continue;
      const auto url = path["serverRelativeURL"].string();
      auto key = place->path + url.substr(std::min(url.find('?'), url.size()));
      auto& all = place->own_group.empty() ? common_key_ : own_key_;
      all += key + '\n';
      auto& entries = place->own_group.empty() ? common_entries_ : own_entries_;
      entries.push_back({*std::move(place), std::move(key), nullptr});
    }
    for (const auto& each : local_documents(exchange_)) {
      common_key_ += each.url + '\n';
      Entry entry{{"", ""}, each.url, cache_.find(each.url)};
      if (!entry.part) {
        const auto document = local_document(exchange_, "/openapi/v3/" + each.name);
        if (!document) continue;
        ZOO_TRY(auto part, translate::openapi_v2_part(document->body));
        entry.part = std::make_shared<const translate::OpenApiPart>(std::move(part));
        cache_.put(entry.key, entry.part);
      }
      common_entries_.push_back(std::move(entry));
    }
    return {};
  }

  /// Asks for the next document that is not known yet; when all are, answers.
  void next() {
    if (exchange_.done()) return;
    if (!common_) common_ = cache_.find_common(common_key_);
    auto* missing = common_ ? nullptr : first_missing(common_entries_);
    const auto whose = missing != nullptr ? std::string() : exchange_.mapping().id();
    if (missing == nullptr && !own_) own_ = cache_.find_own(own_name());
    if (missing == nullptr && !own_) missing = first_missing(own_entries_);
    if (missing == nullptr && (own_ || own_entries_.empty())) return finish();
    // Many definitions take a while to put together: one of those who ask does, the others find it.
    if (!turn_ || turn_->whose() != whose) {
      turn_.reset();
      if (auto turn = cache_.turn(whose)) turn_.emplace(*std::move(turn));
    }
    // Who has the turn may wait for long: upstream may not answer.
    if (!turn_ && ++looks_ < k_looks) return timer_.start(k_look_again, [this] { next(); });
    if (missing == nullptr) return finish();
    ask(Outgoing::get(Reason::documents, missing->place.path),
        [this, missing](upstream::Answer answer) {
          if (answer.head.status == 404) { // it went between the index and now
            missing->part = std::make_shared<const translate::OpenApiPart>();
            whole_ = false;
            return next();
          }
          if (!answer.ok()) return refuse(answer);
          auto body = document_out(exchange_, missing->place, std::move(answer.body));
          if (!body) return exchange_.fail(body.error());
          auto part = translate::openapi_v2_part(*body);
          if (!part) return exchange_.fail(part.error());
          missing->part = std::make_shared<const translate::OpenApiPart>(*std::move(part));
          cache_.put(missing->key, missing->part);
          next();
        });
  }

  Entry* first_missing(std::vector<Entry>& entries) {
    for (auto& entry : entries) {
      if (!entry.part) entry.part = cache_.find(entry.key);
      if (!entry.part) return &entry;
    }
    return nullptr;
  }

  void finish() {
    const bool proto = !proto_type_.empty();
    const Document document{std::string(proto ? proto_type_ : k_json), "", etag_,
                            "no-cache, private"};
    send_document(exchange_, document, [this, proto](bool gzipped) {
      if (!common_) make_common();
      if (!own_) make_own();
      turn_.reset();
      return proto ? proto_body(gzipped) : json_body(gzipped);
    });
  }

  /// The ETag is of all that is in it, and of its kind.
  std::string own_name() const { return exchange_.mapping().id() + etag_; }

  void make_own() {
    translate::OpenApiPart own;
    for (const auto& entry : own_entries_)
      own.merge(*entry.part);
    auto made = std::make_shared<upstream::OwnOpenApi>();
    if (proto_type_.empty()) {
      auto& text = made->text;
      text = translate::openapi_v2_text(own, &common_->part);
      made->paths = gzip::compress(text.paths + std::string(translate::k_openapi_v2_definitions));
      made->definitions =
          gzip::compress(text.definitions + std::string(translate::k_openapi_v2_parameters));
      made->parameters = gzip::compress(text.parameters + std::string(translate::k_openapi_v2_end));
    } else {
      made->proto = translate::openapi_v2_proto(own, &common_->part);
      made->proto_piece = gzip::compress(made->proto);
    }
    own_ = made;
    if (whole_) cache_.put_own(own_name(), std::move(made));
  }

  void make_common() {
    auto made = std::make_shared<upstream::CommonOpenApi>();
    for (const auto& entry : common_entries_)
      made->part.merge(*entry.part);
    made->text = translate::openapi_v2_text(made->part);
    made->paths = gzip::compress(made->text.paths);
    made->definitions = gzip::compress(made->text.definitions);
    made->parameters = gzip::compress(made->text.parameters);
    made->proto = translate::openapi_v2_proto(made->part);
    made->proto_piece = gzip::compress(made->proto);
    common_ = made;
    if (whole_) cache_.put_common(common_key_, std::move(made));
  }

  std::string proto_body(bool gzipped) const {
    const auto begin = translate::openapi_v2_proto_begin(common_->part.version);
    if (!gzipped) return begin + common_->proto + own_->proto;
    gzip::Joiner out;
    out.add(gzip::compress(begin));
    out.add(common_->proto_piece);
    out.add(own_->proto_piece);
    return out.take();
  }

  std::string json_body(bool gzipped) const {
    const auto& mine = own_->text;
    const auto begin = translate::openapi_v2_begin(common_->part.version);
    if (!gzipped) {
      std::string out = begin;
      out += common_->text.paths + mine.paths;
      out += translate::k_openapi_v2_definitions;
      out += common_->text.definitions + mine.definitions;
      out += translate::k_openapi_v2_parameters;
      out += common_->text.parameters + mine.parameters;
      out += translate::k_openapi_v2_end;
      return out;
    }
    gzip::Joiner out;
    out.add(gzip::compress(begin));
    out.add(common_->paths);
    out.add(own_->paths);
    out.add(common_->definitions);
    out.add(own_->definitions);
    out.add(common_->parameters);
    out.add(own_->parameters);
    return out.take();
  }

  static constexpr std::chrono::milliseconds k_look_again{10};
  static constexpr int k_looks = 200;
  upstream::OpenApiCache& cache_;
  std::optional<upstream::OpenApiCache::Turn> turn_;
  net::Timer timer_;
  int looks_ = 0;
  bool whole_ = true;           ///< nothing went since the index
  std::string_view proto_type_; ///< "" = JSON
  std::vector<Entry> common_entries_, own_entries_;
  std::string common_key_, own_key_, etag_;
  upstream::OpenApiCache::CommonPtr common_;
  upstream::OpenApiCache::OwnPtr own_; ///< null: is still to be made
};

} // namespace

Result<std::unique_ptr<Flow>> openapi(Exchange& exchange) {
  const std::string_view path = exchange.target().path;
  if (path == "/openapi/v2") return std::make_unique<Version2>(exchange);
  if (path == k_index) return std::make_unique<Index>(exchange);
  if (!path.starts_with(k_index) || path[k_index.size()] != '/') return translate::no_resource();
  if (auto local = local_document(exchange, path))
    return std::make_unique<LocalPage>(exchange, std::move(local->body));
  auto place = place_of(exchange, path.substr(k_index.size() + 1));
  if (!place) return translate::no_resource();
  return std::make_unique<GroupVersion>(exchange, *std::move(place));
}

} // namespace zoo::gateway
