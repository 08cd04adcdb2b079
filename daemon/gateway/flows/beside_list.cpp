// SPDX-License-Identifier: Apache-2.0
#include "common/kube/age.hpp"
#include "daemon/gateway/continue_token.hpp"
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/gateway/flows/virtual.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/upstream/upstream.hpp"

namespace zoo::gateway {
namespace {

/// Upstream's objects as they stream, and between them, by name, what zood keeps of the tenant's.
/// The tenant's are known as of a revision, which upstream tells at the end of a list: where there
/// are any, and the plan has none, it is asked for first, by a list of one object. Where there were
/// none at the beginning, those that came meanwhile stand at the end.
class BesideList final : public Flow, private upstream::ListHandler {
public:
  BesideList(Exchange& exchange, ListPlan plan)
      : exchange_(exchange), plan_(std::move(plan)), beside_(*plan_.beside),
        writer_(exchange, plan_.rendering), timer_(exchange.gateway().loop()) {}

  void start() override {
    const auto& options = exchange_.target().list;
    limit_ = static_cast<std::size_t>(options.limit);
    auto selection =
        virtuals::Selection::parse(*beside_.kind, options.label_selector, options.field_selector);
    if (!selection) return exchange_.fail(selection.error());
    selection_ = *std::move(selection);
    if (!options.continue_token.empty()) {
      auto position = open_continue(exchange_, options.continue_token);
      if (!position) return exchange_.fail(position.error());
      revision_ = position->revision;
      start_ = position->start;
    } else if (options.match == translate::VersionMatch::exact) {
      revision_ = std::stoll(options.resource_version);
    }
    const auto reading = read();
    if (revision_ == -1) {
      if (!all_by(*reading.set, plan_.revision)) read_whole(plan_);
      revision_ = plan_.revision;
    }
    if (revision_ == -1 && reading.set->objects.empty() && reading.settled) return stream();
    if (revision_ == -1) return find_now();
    when_settled(exchange_, beside_, timer_, [this] { begin(); });
  }

  void on_drained() override {
    if (list_) list_->resume();
  }

private:
  virtuals::Board::Reading read() const {
    return exchange_.gateway().shared().board->read(beside_.owner, *beside_.kind);
  }

  void find_now() {
    finding_ = true;
    auto request = list_request(exchange_, plan_);
    request.range = plan_.ranges.front();
    request.limit = 1;
    list_ = read_range(exchange_, plan_, std::move(request), "#now", *this);
  }

  /// The revision is known, and everything up to it can be read.
  void begin() {
    const auto reading = read();
    auto state = reading.set->at(revision_);
    if (!state) {
      if (begin_whole()) return;
      if (start_.empty()) {
        return exchange_.fail(
            Error(Code::expired, fmt::format("The provided resource version is too old: {} ({})",
                                             revision_, reading.set->floor)));
      }
      return exchange_.send_status(410, expired_with_token(seal_continue(exchange_, -1, start_)));
    }
    for (auto& [name, object] : *state)
      if (name >= start_ && selection_.matches(*object)) own_.emplace(name, std::move(object));
    stream();
  }

  /// At the plan's revision it is not to be had: again, of everybody's as they are now. False: it
  /// was of these already, or is half told.
  bool begin_whole() {
    if (exchange_.head_sent() || !read_whole(plan_)) return false;
    exchange_.later([this] { exchange_.run(beside_list(exchange_, std::move(plan_))); });
    return true;
  }

  void stream() {
    auto request = list_request(exchange_, plan_);
    request.patience = std::make_shared<upstream::ListPatience>(exchange_.gateway().loop());
    request.range = plan_.ranges[at_];
    if (!start_.empty()) request.range.start = start_;
    request.revision = revision_;
    request.limit = limit_;
    if (limit_ != 0 && plan_.rendering.shown)
      request.counts = [this](std::string_view item) { return shows(plan_.rendering, item); };
    retired_ = std::move(list_);
    const auto part = plan_.revision == -1 ? std::string() : "#" + request.range.prefix;
    list_ = read_range(exchange_, plan_, std::move(request), part, *this);
  }

  void on_list_begin(std::string_view head) override {
    if (finding_ || at_ != 0 || refuse_future(exchange_, head)) return;
    if (auto begun = writer_.begin(head, out_); !begun) return exchange_.abort(begun.error());
  }

  bool full() const { return limit_ != 0 && written_ >= limit_; }

  void write_own(const virtuals::Object& object) {
    std::string item;
    if (beside_.table()) {
      virtuals::write_object(object, beside_.shape(), kube::unix_now(), item);
    } else {
      item = render_one(beside_, object, false);
    }
    writer_.own_item(item, out_);
    last_ = object.name;
    ++written_;
  }

  /// Own objects up to, and without, `name`; "" is all of them.
  void write_own_before(std::string_view name) {
    while (!own_.empty() && (name.empty() || own_.begin()->first < name)) {
      if (full()) return void(left_out_ = true);
      write_own(*own_.begin()->second);
      own_.erase(own_.begin());
    }
  }

  /// Those that came while the page was read, and belong before its end: no page behind it has
  /// them, be it one more than was asked for.
  void write_passed() {
    const auto last = last_;
    while (!own_.empty() && own_.begin()->first < last) {
      write_own(*own_.begin()->second);
      own_.erase(own_.begin());
    }
    last_ = last;
  }

  void on_list_item(std::string_view key, std::string_view item) override {
    if (exchange_.done() || finding_ || ended_) return;
    write_own_before(key);
    if (full()) return end_early();
    if (shows(plan_.rendering, item)) {
      own_.erase(std::string(key)); // the platform's came later under that name, and counts
      if (auto written = writer_.item(item, out_); !written)
        return exchange_.abort(written.error());
      last_ = key;
      ++written_;
    }
    if (out_.size() >= k_flush) flush();
  }

  /// What follows is of the next page, and may be everybody's.
  void end_early() {
    left_out_ = true;
    if (revision_ == -1) return; // the end says it
    ended_ = true;
    exchange_.later([this] {
      list_.reset();
      finish(revision_, std::nullopt);
    });
  }

  void on_list_end(const upstream::ListEnd& end) override {
    if (exchange_.done() || ended_) return;
    const auto revision = upstream::revision_of(end.resource_version);
    if (!revision) return exchange_.abort(revision.error());
    if (finding_) {
      finding_ = false;
      revision_ = *revision;
      return exchange_.later(
          [this] { when_settled(exchange_, beside_, timer_, [this] { begin(); }); });
    }
    if (!left_out_ && at_ + 1 < plan_.ranges.size()) {
      ++at_;
      return exchange_.later([this] { stream(); });
    }
    if (revision_ != -1) return finish(*revision, end.next_start);
    when_settled(exchange_, beside_, timer_, [this, revision = *revision, next = end.next_start] {
      if (const auto state = read().set->at(revision)) {
        for (const auto& [name, object] : *state)
          if (selection_.matches(*object)) own_.emplace(name, object);
      }
      write_passed();
      finish(revision, next);
    });
  }

  void finish(std::int64_t revision, const std::optional<std::string>& next) {
    std::string from;
    write_own_before(next ? std::string_view(*next) : std::string_view());
    if (left_out_) {
      from = last_ + '\0';
    } else if (next) {
      from = *next;
    }
    writer_.end(std::to_string(revision),
                from.empty() ? std::string() : seal_continue(exchange_, revision, from), out_);
    flush();
    exchange_.finish();
  }

  void on_list_error(const Error& error, int http_status, std::string_view body) override {
    if (exchange_.done() || ended_) return;
    const bool begun = exchange_.head_sent() || !out_.empty();
    exchange_.take_back_head();
    if (http_status == 0 || exchange_.head_sent()) return exchange_.abort(error);
    if (http_status == 410 && !begun && begin_whole()) return;
    refuse_page(exchange_, http_status, body, start_, begun);
  }

  void flush() {
    if (!exchange_.head_sent()) exchange_.send_head(list_head(plan_.rendering));
    exchange_.send(out_);
    out_.clear();
    if (!exchange_.writable() && list_) list_->pause();
  }

  static constexpr std::size_t k_flush = 16 * 1024;
  Exchange& exchange_;
  ListPlan plan_;
  const VirtualTarget& beside_;
  virtuals::Selection selection_;
  ListWriter writer_;
  virtuals::Set::Objects own_; ///< still to be written
  std::string out_, start_, last_;
  std::int64_t revision_ = -1;
  std::size_t at_ = 0; ///< of the plan's ranges, which come in the order of their names
  std::size_t limit_ = 0, written_ = 0;
  bool finding_ = false, ended_ = false; ///< the page was full
  bool left_out_ = false;                ///< the limit is reached, and there is more
  net::Timer timer_;
  std::unique_ptr<upstream::List> retired_, list_; // last: cancelled first
};

} // namespace

std::unique_ptr<Flow> beside_list(Exchange& exchange, ListPlan plan) {
  return std::make_unique<BesideList>(exchange, std::move(plan));
}

} // namespace zoo::gateway
