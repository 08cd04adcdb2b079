// SPDX-License-Identifier: Apache-2.0
#include "common/base/error_table.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/translate/continue.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/framer.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/call.hpp"
#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/range_parts.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>
#include <vector>

namespace zoo::upstream {
namespace {

constexpr std::size_t k_first_page = 16;
constexpr std::size_t k_largest_page = 512;
constexpr std::size_t k_inner_page = 128; ///< in the middle of a range nobody knows what is left
constexpr std::size_t k_hidden_page = 64; ///< at least, where some do not count
/// kube-apiserver gives an answer a minute (--request-timeout), whether it is read or not.
constexpr std::chrono::seconds k_ahead_lasts{15};

/// From the first refusal on, those of all pages; each is asked for again sooner than upstream says
/// only if it says nothing.
constexpr std::chrono::seconds k_patience{10};
constexpr std::chrono::milliseconds k_first_wait{100};
constexpr unsigned k_most_tries = 6; ///< of one page

constexpr std::array k_selectors = {"labelSelector", "fieldSelector"};

/// Pages grow fourfold until they fit; the next list of the same kind begins with a page that held
/// all of the last one, as far as its asker's limit went, and one more, which is the foreign key
/// that ends the range. What a selector chooses is remembered by itself, whichever it is. While a
/// page comes, the next one is asked for already where it will be wanted: the last list was longer
/// than this one is with this page. Where upstream takes no position of our making (`seek` false)
/// the path is read from its beginning, in upstream's own pages, and what lies before the range is
/// dropped. The path may be one namespace's of the range (`space`, with a slash).
class RangeList final : public List, public translate::FrameHandler {
public:
  RangeList(Upstream& upstream, Caller& caller, ListRequest request, std::string hint, bool seek,
            ListHandler& handler, std::string space = {})
      : upstream_(upstream), caller_(caller), request_(std::move(request)),
        hint_(std::move(hint) + (selects(request_) ? "?selected" : "")), space_(std::move(space)),
        seek_(seek), handler_(handler),
        expected_(space_.empty() ? upstream_.remembered(hint_) : 0) {
    page_ = !seek_ || !space_.empty()       ? k_largest_page
            : !request_.range.start.empty() ? k_inner_page
            : expected_ == 0                ? k_first_page
                             : std::min(expected_ + 1 + expected_ / 8, k_largest_page);
    begin_page(ask(seek_ ? token_of_start() : std::string()));
  }
  ~RangeList() override { (void)holds(0); }

  void pause() override {
    paused_ = true;
    if (current_) current_->call->pause();
  }
  void resume() override {
    paused_ = false;
    if (current_) current_->call->resume();
  }

  /// It failed because who serves the kind does not take a position of our making, an extension API
  /// server for example, and nothing of the range was handed on.
  bool position_refused() const { return position_refused_; }

private:
  struct Metadata {
    std::string next, resource_version;
    std::size_t remaining = 0; ///< behind the page, of everybody's
  };

  /// One page on its way: the one that comes, or one that was asked for ahead.
  struct Page final : CallHandler {
    explicit Page(RangeList& owner) : list(owner) {}
    void on_head(http::ResponseHead head) override { list.on_head(head); }
    void on_data(std::string_view bytes) override { list.on_data(bytes); }
    void on_end() override { list.on_end(); }
    void on_error(Error error) override {
      // It is asked for again if it is wanted: the page that comes has no part in it.
      if (this == list.ahead_.get()) return list.ahead_.reset();
      if (error.code() == Code::unavailable && list.ask_again({})) return;
      list.fail_with(error, 0, {});
    }
    RangeList& list;
    std::string token;
    bool was_ahead = false; ///< its refusal is as old as the page before it took
    std::unique_ptr<Call> call;
  };

  std::string token_of_start() const {
    const auto& range = request_.range;
    if (!space_.empty()) {
      const bool within = range.start.size() > space_.size() + 1 && range.start.starts_with(space_);
      if (!within) return {};
      return translate::upstream_token({request_.revision, range.start.substr(space_.size())});
    }
    if (!range.start.empty()) return translate::upstream_token({request_.revision, range.start});
    return translate::range_start_token(range.prefix, request_.revision);
  }

  std::unique_ptr<Page> ask(const std::string& token) {
    auto head = request_.head;
    auto params = request_.params;
    auto page = page_;
    if (request_.limit != 0 && seek_) {
      // Those that do not count would be asked for one by one.
      const std::size_t least = hidden_ != 0 ? k_hidden_page : 0;
      page = std::min(page, std::max(request_.limit - delivered_ + 1, least));
    }
    translate::set_param(params, "limit", std::to_string(page));
    if (!token.empty()) {
      translate::set_param(params, "continue", token);
    } else if (request_.revision != -1) {
      translate::set_param(params, "resourceVersion", std::to_string(request_.revision));
      translate::set_param(params, "resourceVersionMatch", "Exact");
    }
    head.target += "?" + translate::serialize_query(params);
    auto page_asked = std::make_unique<Page>(*this);
    page_asked->token = token;
    CallOptions options;
    options.encoding = CallOptions::Encoding::gzip;
    page_asked->call = caller_.start(std::move(head), std::move(options), *page_asked);
    return page_asked;
  }

  void begin_page(std::unique_ptr<Page> next) {
    framer_ = std::make_unique<translate::Framer>(translate::Shape::list, k_largest_object, *this,
                                                  request_.table ? "rows" : "items");
    status_ = 0;
    status_body_.clear();
    page_items_ = 0;
    head_of_page_.clear();
    tail_of_page_.clear();
    before_page_ = delivered_;
    current_ = std::move(next);
    if (paused_) current_->call->pause();
  }

  /// A paused call hands nothing on: its answer waits upstream and in the socket. Where more is
  /// expected than this page holds it is one of the largest, and so is the next.
  void ask_ahead(std::string_view head) {
    if (!seek_ || request_.limit != 0 || expected_ <= before_page_ + page_) return;
    if (selects(request_)) return; // what is expected knows none
    const auto meta = metadata_in(std::string(head) + "]}");
    if (!meta || !*meta || (*meta)->next.empty()) return;
    ahead_ = ask((*meta)->next);
    ahead_->call->pause();
    asked_ahead_ = std::chrono::steady_clock::now();
  }

  void on_head(const http::ResponseHead& head) {
    status_ = head.status;
    if (status_ != 200) {
      refused_ = head;
    } else if (request_.heard && !begun_) {
      request_.heard(head);
    }
  }

  /// What this page is of is fixed, and nothing of it was heard.
  bool may_ask_again() const {
    const bool fixed = later_page_ || request_.revision != -1;
    return request_.patience && request_.patience->told && fixed && head_of_page_.empty() &&
           page_items_ == 0 && current_;
  }

  /// False: it may not, or has been refused for too long.
  bool ask_again(std::string_view retry_after) {
    if (!may_ask_again()) return false;
    auto& patience = *request_.patience;
    const auto now = std::chrono::steady_clock::now();
    if (!patience.until) patience.until = now + k_patience;
    std::chrono::milliseconds wait{0};
    if (!std::exchange(current_->was_ahead, false)) {
      unsigned seconds = 0;
      std::from_chars(retry_after.data(), retry_after.data() + retry_after.size(), seconds);
      wait = std::max<std::chrono::milliseconds>(std::chrono::seconds(std::min(seconds, 3600U)),
                                                 k_first_wait * (1U << patience.tries));
      if (++patience.tries > k_most_tries) return false;
    }
    if (now + wait > *patience.until) return false;
    timer_.emplace(patience.loop);
    timer_->start(wait, [this, token = current_->token] { begin_page(ask(token)); });
    current_.reset(); // no connection meanwhile
    return true;
  }

  void on_data(std::string_view bytes) {
    if (status_ != 200) {
      if (status_body_.size() + bytes.size() <= k_max_status) status_body_.append(bytes);
      return;
    }
    if (auto fed = framer_->feed(bytes); !fed) return fail_with(fed.error(), 0, {});
    if (!holds(framer_->held()))
      fail_with(Error(Code::too_many_requests,
                      "an object of the list is large, and the requests of "
                      "this tenant hold as many bytes as they may together; "
                      "try again"),
                0, {});
  }

  void on_end() {
    if (status_ != 200) {
      const bool for_now = status_ == 429 || status_ == 503;
      if (for_now && ask_again(refused_->headers.get("retry-after"))) return;
      if (request_.heard) request_.heard(*refused_);
      return fail_with(Error(code_from_status(status_, ""),
                             fmt::format("the upstream answered {} to a page of a list", status_)),
                       status_, status_body_);
    }
    if (auto finished = framer_->finish(); !finished) return fail_with(finished.error(), 0, {});
    auto meta = read_metadata();
    if (!meta) return fail_with(meta.error(), 0, {});

    if (request_.patience) request_.patience->tries = 0;
    const bool seeks_on = page_items_ != 0; // an empty page ends a range
    if (!meta->next.empty() && !past_end_ && !full_ && (seeks_on || !seek_)) {
      // The page's own token is fixed to its revision: all pages show one moment.
      page_ = std::min(page_ * 4, k_largest_page);
      later_page_ = true;
      auto ahead = std::move(ahead_);
      if (!ahead || std::chrono::steady_clock::now() - asked_ahead_ > k_ahead_lasts)
        return begin_page(ask(meta->next));
      ahead->was_ahead = true;
      begin_page(std::move(ahead));
      if (!paused_) current_->call->resume();
      return;
    }
    ahead_.reset();
    if (seek_ && space_.empty()) learn(*meta);
    ListEnd end{resource_version_, {}};
    if (full_) end.next_start = last_key_ + '\0';
    handler_.on_list_end(end);
  }

  void learn(const Metadata& last) {
    // Of its end alone nobody knows how long a list is; what was cut short is longer.
    if (request_.range.start.empty())
      upstream_.remember(hint_, full_ ? std::max(expected_, delivered_ + 1) : delivered_);
    const auto& path = request_.head.target;
    const bool counted = request_.all_namespaces || path == k_spaces;
    if (!counted || request_.range.prefix.empty()) return;
    if (full_ || selects(request_)) return; // more of its own; and upstream does not count then
    const auto [own, of_all] = behind_keys(path, request_.range.prefix);
    // Each tenant's own only where it may be worth it.
    if (std::max(last.remaining, upstream_.remembered(of_all)) > k_objects_a_space)
      upstream_.remember(own, std::max<std::size_t>(last.remaining, 1)); // 0: not known
    upstream_.remember(of_all, last.remaining);
  }

  // translate::FrameHandler
  void on_frame_head(std::string_view head) override {
    head_of_page_ = head;
    // Whoever has no versions keeps no keys in order either.
    if (seek_ && space_.empty() && !later_page_) {
      const auto meta = metadata_in(std::string(head) + "]}");
      if (meta && *meta && (*meta)->resource_version.empty()) return refuse_position();
    }
    ask_ahead(head);
    begin(head);
  }

  void begin(std::string_view head) {
    if (std::exchange(begun_, true)) return;
    if (request_.patience) request_.patience->told = true;
    handler_.on_list_begin(head);
  }

  /// Where nothing but the key decides; of what counts the handler knows.
  std::size_t on_open_frame(std::string_view rest) override {
    const auto& range = request_.range;
    if (past_end_ || full_ || request_.table) return 0;
    if (request_.limit != 0 && delivered_ == request_.limit) return 0;
    if (!translate::leading_key(rest, request_.all_namespaces, open_key_)) return 0;
    if (open_key_ < range.start || !range.contains(open_key_)) return 0;
    const auto size = handler_.on_list_open_item(open_key_, rest);
    if (size == 0) return 0;
    ++page_items_;
    ++delivered_;
    last_key_.swap(open_key_);
    return size;
  }

  void on_frame(std::string_view item) override {
    ++page_items_;
    if (past_end_ || full_) return;
    auto key = key_of(item);
    if (!key) {
      past_end_ = true;
      broken_ = key.error();
      return;
    }
    const auto& range = request_.range;
    if (*key < range.prefix || *key < range.start) {
      if (!seek_) return;
      return refuse_position(); // it read from somewhere else: nothing of this may pass for a range
    }
    if (!range.contains(*key)) {
      past_end_ = true;
      return;
    }
    const bool counts = !request_.counts || request_.counts(item);
    if (counts && request_.limit != 0 && delivered_ == request_.limit) {
      full_ = true;
      return;
    }
    if (item.size() > request_.max_object) {
      if (request_.shows && !request_.shows(item)) { // somebody else's
        last_key_ = *key;
        return;
      }
      past_end_ = true;
      broken_ = Error(Code::too_large,
                      fmt::format("an object is larger than {} bytes", request_.max_object));
      return;
    }
    (counts ? delivered_ : hidden_) += 1;
    last_key_ = *key;
    handler_.on_list_item(*key, item);
  }

  void refuse_position() {
    past_end_ = true;
    position_refused_ = delivered_ + hidden_ == 0;
    broken_ = Error(Code::unavailable, "the upstream does not take the position of a list; "
                                       "set upstream.range_reads to off");
  }

  void on_frame_tail(std::string_view tail) override {
    tail_of_page_ = tail;
    if (!begun_) head_of_page_.clear();
    begin(tail);
  }

  Result<std::string> key_of(std::string_view item) const {
    std::string leading;
    const bool known = request_.table
                           ? translate::leading_row_key(item, request_.all_namespaces, leading)
                           : translate::leading_key(item, request_.all_namespaces, leading);
    if (known) return leading;
    translate::TableRow row{{}, item};
    if (request_.table) {
      ZOO_TRY(row, translate::split_row(item));
    }
    ZOO_TRY(const auto key, translate::object_key(row.object));
    return request_.all_namespaces ? key.name_space + "/" + key.name : key.name;
  }

  /// The list's metadata stands before the items (built-in kinds) or behind them (custom ones).
  Result<Metadata> read_metadata() {
    if (broken_) return fail(*broken_);
    std::string before = head_of_page_.empty() ? "{}" : head_of_page_ + "]}";
    std::string behind =
        tail_of_page_.starts_with(']') ? "{\"_\":[" + tail_of_page_ : tail_of_page_;
    for (const auto& text : {before, behind}) {
      if (text.empty()) continue;
      ZOO_TRY(auto meta, metadata_in(text));
      if (!meta) continue;
      if (resource_version_.empty()) resource_version_ = std::move(meta->resource_version);
      return std::move(*meta);
    }
    return Metadata{};
  }

  static Result<std::optional<Metadata>> metadata_in(const std::string& text) {
    ZOO_TRY(const auto tree, translate::JsonTree::parse(text));
    const auto metadata = tree.root()["metadata"];
    if (!metadata) return std::nullopt;
    const auto remaining = metadata["remainingItemCount"].integer().value_or(0);
    return Metadata{metadata["continue"].string(), metadata["resourceVersion"].string(),
                    static_cast<std::size_t>(std::max<std::int64_t>(remaining, 0))};
  }

  bool holds(std::size_t bytes) {
    return !request_.room || count_part(bytes, held_, request_.room);
  }

  void fail_with(const Error& error, int http_status, std::string_view body) {
    const auto page = std::move(current_), ahead = std::move(ahead_);
    handler_.on_list_error(error, http_status, body);
  }

  Upstream& upstream_;
  Caller& caller_;
  ListRequest request_;
  std::string hint_, space_;
  bool seek_;
  ListHandler& handler_;
  std::unique_ptr<translate::Framer> framer_;
  std::size_t expected_; ///< how many the last list had
  std::size_t page_ = k_first_page;
  std::size_t before_page_ = 0; ///< delivered before this page
  std::chrono::steady_clock::time_point asked_ahead_;
  std::size_t page_items_ = 0;
  std::size_t delivered_ = 0;
  std::size_t hidden_ = 0; ///< that do not count
  std::size_t held_ = 0;   ///< bytes that `room` knows of
  int status_ = 0;
  std::string status_body_, head_of_page_, tail_of_page_;
  std::string resource_version_, last_key_;
  std::string open_key_; ///< of an item whose end is not known
  std::optional<Error> broken_;
  std::optional<http::ResponseHead> refused_; ///< of a page that was
  bool begun_ = false;
  bool past_end_ = false; ///< the first foreign key was seen
  bool position_refused_ = false;
  bool full_ = false; ///< the limit is reached, and there is more
  bool paused_ = false;
  bool later_page_ = false; ///< by upstream's own token
  std::optional<net::Timer> timer_;
  std::unique_ptr<Page> current_, ahead_; // last: cancelled first
};

} // namespace

std::array<std::string, 2> behind_keys(const std::string& path, const std::string& prefix) {
  return {path + "?behind=" + prefix, path + "?behind"};
}

HeadListener of_refusals(HeadListener listener) {
  if (!listener) return nullptr;
  return [listener = std::move(listener)](const http::ResponseHead& head) {
    if (head.status != 200) listener(head);
  };
}

bool selects(const ListRequest& request) {
  return std::any_of(k_selectors.begin(), k_selectors.end(), [&](const char* selector) {
    return translate::find_param(request.params, selector) != nullptr;
  });
}

std::unique_ptr<List> read_pages(Upstream& upstream, Caller& caller, ListRequest request,
                                 std::string hint, bool seek, ListHandler& handler,
                                 std::string space) {
  return std::make_unique<RangeList>(upstream, caller, std::move(request), std::move(hint), seek,
                                     handler, std::move(space));
}

Result<std::int64_t> revision_of(std::string_view resource_version) {
  std::int64_t out = 0;
  const auto* const last = resource_version.data() + resource_version.size();
  const auto [end, error] = std::from_chars(resource_version.data(), last, out);
  if (error == std::errc() && end == last && out >= 0) return out;
  return fail(Code::unavailable, "the upstream's list has no usable resourceVersion");
}

namespace {

/// What the asker selects by, and this.
void select(translate::Params& params, const char* selector, const std::string& requirement) {
  const auto* asked = translate::find_param(params, selector);
  translate::set_param(params, selector,
                       asked == nullptr ? requirement : *asked + "," + requirement);
}

} // namespace

namespace {

/// Set under this, for a kind that is not read by positions of our making.
std::string unseekable_key(const ListRequest& request) { return request.head.target + "?seeks=no"; }

/// A tenant's range of all namespaces, at once; where who serves the kind takes no position,
/// namespace by namespace, from now on without trying.
class TriedRange final : public List, private ListHandler {
public:
  TriedRange(Upstream& upstream, Caller& caller, ListRequest request, std::string hint,
             ListHandler& handler)
      : upstream_(upstream), caller_(caller), request_(std::move(request)), hint_(std::move(hint)),
        handler_(handler),
        tried_(std::make_unique<RangeList>(upstream, caller, request_, hint_, true,
                                           static_cast<ListHandler&>(*this))) {}

  void pause() override {
    paused_ = true;
    (list_ ? list_.get() : tried_.get())->pause();
  }
  void resume() override {
    paused_ = false;
    (list_ ? list_.get() : tried_.get())->resume();
  }

private:
  void on_list_begin(std::string_view head) override {
    if (!std::exchange(begun_, true)) handler_.on_list_begin(head);
  }
  void on_list_item(std::string_view key, std::string_view item) override {
    handler_.on_list_item(key, item);
  }
  std::size_t on_list_open_item(std::string_view key, std::string_view rest) override {
    return handler_.on_list_open_item(key, rest);
  }
  void on_list_end(const ListEnd& end) override { handler_.on_list_end(end); }
  void on_list_error(const Error& error, int http_status, std::string_view body) override {
    if (list_ || !tried_->position_refused())
      return handler_.on_list_error(error, http_status, body);
    upstream_.remember(unseekable_key(request_), 1);
    list_ =
        fan_out(upstream_, caller_, std::move(request_), std::move(hint_), false, nullptr, *this);
    if (paused_) list_->pause();
  }

  Upstream& upstream_;
  Caller& caller_;
  ListRequest request_;
  std::string hint_;
  ListHandler& handler_;
  bool begun_ = false, paused_ = false;
  std::unique_ptr<List> list_; ///< null: it is still tried
  std::unique_ptr<RangeList> tried_;
};

} // namespace

std::unique_ptr<List> list_range(Upstream& upstream, Caller& caller, ListRequest request,
                                 std::string hint, ListHandler& handler) {
  if (const auto& labels = request.range.labels; !labels.empty())
    select(request.params, "labelSelector", labels);
  // One key is asked for by its name: neither a position nor what lies behind it is looked at.
  if (request.range.exact) {
    select(request.params, "fieldSelector", "metadata.name=" + request.range.prefix);
    return read_pages(upstream, caller, std::move(request), std::move(hint), false, handler);
  }
  const bool seek = upstream.range_reads() &&
                    (!request.all_namespaces || upstream.remembered(unseekable_key(request)) == 0);
  const auto known = request.spaces ? request.spaces : spaces_of_page(upstream, request);
  // A range of everything has no namespaces of its own.
  const bool spaced = request.all_namespaces && !request.range.prefix.empty();
  if (known || (seek ? by_space(upstream, request) : spaced))
    return fan_out(upstream, caller, std::move(request), std::move(hint), seek, known, handler);
  if (seek && spaced) {
    return std::make_unique<TriedRange>(upstream, caller, std::move(request), std::move(hint),
                                        handler);
  }
  return read_pages(upstream, caller, std::move(request), std::move(hint), seek, handler);
}

} // namespace zoo::upstream
