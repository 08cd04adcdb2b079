// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/watch_bridge.hpp"

#include "common/base/error_table.hpp"
#include "common/base/json_text.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>

namespace zoo::upstream {
namespace {

constexpr std::size_t k_page = 500;
constexpr std::size_t k_side = 4u << 20; ///< bytes of one moment that wait for the other's

/// The object with another resourceVersion.
std::string at_version(const std::string& object, std::uint64_t version) {
  const auto tree = translate::JsonTree::parse(object);
  if (!tree) return object;
  translate::JsonEdits edits;
  edits.quote(tree->root()["metadata"]["resourceVersion"], std::to_string(version));
  return edits.apply(object);
}

std::string uid_of(const std::string& object) {
  const auto tree = translate::JsonTree::parse(object);
  return tree ? tree->root()["metadata"]["uid"].string() : std::string();
}

} // namespace

Bridge::Bridge(Upstream& upstream, net::Loop& loop, WatchKindPtr kind,
               std::vector<std::string> prefixes, std::uint64_t from, std::size_t most_bytes,
               Done done)
    : upstream_(upstream), loop_(loop), kind_(std::move(kind)), prefixes_(std::move(prefixes)),
      from_(from), most_(most_bytes), done_(std::move(done)), next_(loop),
      before_(*this, static_cast<std::int64_t>(from)), after_(*this, -1) {
  before_.begin(prefixes_.front());
  after_.begin(prefixes_.front());
  later();
}

Bridge::~Bridge() = default;

void Bridge::Side::begin(const std::string& prefix) {
  prefix_ = prefix;
  next_ = "";
}

void Bridge::Side::drop_front() {
  bytes_ -= items_.front().object.size();
  items_.pop_front();
}

void Bridge::Side::more() {
  if (std::exchange(paused_, false)) list_->resume();
  if (reading_) return;
  reading_ = true;
  ListRequest request;
  request.head = get_head(owner_.kind_->path, list_accept(owner_.kind_->accept));
  request.range = {prefix_, *next_, false};
  request.all_namespaces = owner_.kind_->namespaced;
  request.revision = revision_;
  request.limit = k_page;
  list_ = list_range(owner_.upstream_, owner_.upstream_.caller(owner_.loop_), std::move(request),
                     "#bridge" + owner_.kind_->path, *this);
}

void Bridge::Side::on_list_item(std::string_view key, std::string_view item) {
  items_.push_back({std::string(key), std::string(item)});
  bytes_ += item.size();
  if (bytes_ <= k_side || paused_) return;
  paused_ = true;
  list_->pause();
  owner_.later();
}

void Bridge::Side::on_list_end(const ListEnd& end) {
  reading_ = paused_ = false;
  next_ = end.next_start;
  if (revision_ == -1) {
    const auto revision = revision_of(end.resource_version);
    if (!revision) return owner_.fail_with(revision.error());
    revision_ = *revision;
  }
  owner_.later();
}

void Bridge::Side::on_list_error(const Error& error, int http_status, std::string_view) {
  owner_.fail_with(http_status == 410 ? Error(Code::expired, error.message()) : error);
}

void Bridge::later() {
  if (over_) return;
  next_.start(std::chrono::milliseconds(0), [this] { step(); });
}

void Bridge::step() {
  for (;;) {
    if (over_) return;
    if (!before_.ready()) before_.more();
    if (!after_.ready()) after_.more();
    if (!before_.ready() || !after_.ready()) return;
    const auto& old = before_.items();
    const auto& now = after_.items();
    if (old.empty() && now.empty()) {
      if (++at_ == prefixes_.size()) return finish();
      before_.begin(prefixes_[at_]);
      after_.begin(prefixes_[at_]);
      continue;
    }
    const bool take_old = !old.empty() && (now.empty() || old.front().key <= now.front().key);
    const bool take_now = !now.empty() && (old.empty() || now.front().key <= old.front().key);
    compare(take_old ? &old.front() : nullptr, take_now ? &now.front() : nullptr);
    if (take_old) before_.drop_front();
    if (take_now) after_.drop_front();
  }
}

void Bridge::compare(const Item* before, const Item* after) {
  using enum translate::EventType;
  std::optional<std::uint64_t> version;
  if (after != nullptr) {
    const auto key = translate::object_key(after->object);
    if (key) version = version_of(key->resource_version);
    if (!version) return fail_with(Error(Code::internal, "an object has no usable version"));
    if (before != nullptr && *version <= from_) return; // the same
  }
  const bool another =
      before != nullptr && after != nullptr && uid_of(before->object) != uid_of(after->object);
  if (before != nullptr && (after == nullptr || another)) {
    // Its place among the events is behind the gap, whatever it carries.
    const auto now =
        after_.revision() == -1 ? from_ : static_cast<std::uint64_t>(after_.revision());
    add(gone_, make_shared_event(deleted, whole(at_version(before->object, from_)), before->key,
                                 std::max(now, from_ + 1)));
  }
  if (after != nullptr) {
    const auto type = before != nullptr && !another ? modified : added;
    add(changed_, make_shared_event(type, whole(after->object), after->key, *version));
  }
}

void Bridge::add(std::vector<EventPtr>& events, EventPtr event) {
  bytes_ += event->text.size();
  if (bytes_ > most_) {
    return fail_with(Error(Code::expired, "too much has changed while upstream was away"));
  }
  events.push_back(std::move(event));
}

/// Items of a list leave out what their list says.
std::string Bridge::whole(const std::string& object) const {
  if (object.starts_with(R"({"kind":)") || object.starts_with(R"({"apiVersion":)")) return object;
  auto out =
      "{\"kind\":" + json_quote(kind_->kind) + ",\"apiVersion\":" + json_quote(kind_->api_version);
  if (object != "{}") out += ',';
  return out + object.substr(1);
}

void Bridge::finish() {
  over_ = true;
  std::stable_sort(changed_.begin(), changed_.end(),
                   [](const EventPtr& a, const EventPtr& b) { return a->version < b->version; });
  Crossed out{std::move(gone_), static_cast<std::uint64_t>(after_.revision())};
  out.events.insert(out.events.end(), changed_.begin(), changed_.end());
  done_(std::move(out));
}

void Bridge::fail_with(Error error) {
  if (std::exchange(over_, true)) return;
  // Not from inside the list that has failed, nor from inside step().
  next_.start(std::chrono::milliseconds(0),
              [this, error = std::move(error)] { done_(fail(error)); });
}

} // namespace zoo::upstream
