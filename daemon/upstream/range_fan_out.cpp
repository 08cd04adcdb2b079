// SPDX-License-Identifier: Apache-2.0
#include "common/base/error_table.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/upstream/range_parts.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace zoo::upstream {
namespace {

/// Two for the namespaces and one for the version, in place of the one for the range at once.
constexpr std::size_t k_more_requests = 2;
constexpr std::size_t k_most_spaces = 256; ///< one after the other, for one request

/// Under this, how many namespaces there are in the range.
std::string spaces_key(const ListRequest& request) {
  return k_spaces + ("?of=" + request.range.prefix);
}

std::size_t behind(const Upstream& upstream, const std::string& path, const std::string& prefix) {
  const auto keys = behind_keys(path, prefix);
  const auto own = upstream.remembered(keys[0]);
  return own != 0 ? own : upstream.remembered(keys[1]);
}

/// To know the namespaces costs what lies behind them, too, and they are asked for twice.
bool worth_asking_spaces(const Upstream& upstream, const ListRequest& request, std::size_t spaces) {
  const auto& prefix = request.range.prefix;
  return spaces <= k_most_spaces && behind(upstream, request.head.target, prefix) >
                                        2 * behind(upstream, k_spaces, prefix) +
                                            k_objects_a_space * (k_more_requests + spaces);
}

/// The pages of one list are at one version.
std::string list_key(const ListRequest& request, std::int64_t revision) {
  return fmt::format("{}?of={}@{}", request.head.target, request.range.prefix, revision);
}

/// "/api/v1/pods" and "NS/" -> "/api/v1/namespaces/NS/pods"
std::string path_in(std::string_view path, const std::string& space) {
  const auto name = path.rfind('/') + 1;
  return std::string(path.substr(0, name)) + "namespaces/" + space + std::string(path.substr(name));
}

/// A range of an all-namespaces path, namespace by namespace, at one resourceVersion of the kind
/// (DESIGN 6, fan out): where upstream takes no positions, and where so much of others lies behind
/// the range that upstream looks at for longer. The version is asked for between two lists of the
/// range's namespaces: a namespace that has something at that version is in one of them, but for
/// what docs/decisions/138-namespace-by-namespace.md names. Nothing is handed on before both are
/// known. The pages behind the first one know them from it. Where the asker says which namespaces
/// there are (ListRequest::spaces), the first one's list says the version.
class FanOut final : public List, private ListHandler {
public:
  FanOut(Upstream& upstream, Caller& caller, ListRequest request, std::string hint, bool seek,
         const PageSpaces::Spaces& known, ListHandler& handler)
      : upstream_(upstream), caller_(caller), request_(std::move(request)), hint_(std::move(hint)),
        seek_(seek), handler_(handler), revision_(request_.revision) {
    if (known) {
      spaces_ = *known;
      all_found("");
    } else {
      find_spaces(revision_);
    }
  }

  void pause() override {
    paused_ = true;
    list_->pause();
  }
  void resume() override {
    paused_ = false;
    list_->resume();
  }

private:
  enum class Step {
    before,  ///< the namespaces before the version was asked for
    version, ///< the kind's, by a list of a namespace that cannot be
    after,   ///< the namespaces once more
    spaces,  ///< the objects of one namespace after the other
    whole,   ///< the range at once after all
  };

  void on_list_begin(std::string_view head) override {
    if (step_ < Step::spaces || std::exchange(begun_, true)) return;
    handler_.on_list_begin(head);
  }

  void on_list_item(std::string_view key, std::string_view item) override {
    if (step_ == Step::version) return;
    if (step_ < Step::spaces) {
      spaces_.push_back(std::string(key) + "/");
      return;
    }
    if (!request_.counts || request_.counts(item)) ++delivered_;
    handler_.on_list_item(key, item);
  }

  std::size_t on_list_open_item(std::string_view key, std::string_view rest) override {
    if (step_ < Step::spaces) return 0;
    const auto size = handler_.on_list_open_item(key, rest);
    if (size != 0) ++delivered_;
    return size;
  }

  void on_list_end(const ListEnd& end) override {
    switch (step_) {
    case Step::before:
      if (seek_ && !worth_asking_spaces(upstream_, request_, spaces_.size())) return read_whole();
      return revision_ == -1 ? find_version() : find_again();
    case Step::version:
      version_ = end.resource_version;
      return find_again();
    case Step::after:
      return all_found(end.resource_version);
    case Step::spaces:
      return space_read(end);
    case Step::whole:
      return handler_.on_list_end(end);
    }
  }

  void find_spaces(std::int64_t revision) {
    ListRequest spaces;
    spaces.head = request_.head;
    spaces.head.target = k_spaces;
    spaces.head.headers.set("Accept", translate::k_partial_list_accept);
    const auto id = request_.range.prefix.substr(0, request_.range.prefix.find('-'));
    if (!id.empty() && !seek_) {
      spaces.params = {{"labelSelector", std::string(translate::k_tenant_label) + "=" + id}};
    }
    spaces.range.prefix = request_.range.prefix;
    spaces.revision = revision;
    spaces.heard = of_refusals(request_.heard);
    read(std::move(spaces), spaces_key(request_), "");
  }

  /// A list of nothing says at which version there is nothing: the kind's own, as of now.
  void find_version() {
    step_ = Step::version;
    auto request = in_space(nowhere());
    request.range.start.clear();
    request.limit = 1;
    request.patience = nullptr; // nothing is handed on before it is known
    read(std::move(request), "", nowhere());
  }

  void find_again() {
    step_ = Step::after;
    find_spaces(-1);
  }

  void all_found(const std::string& version_of_spaces) {
    step_ = Step::spaces;
    std::sort(spaces_.begin(), spaces_.end()); // "a-b/" comes before "a/"
    spaces_.erase(std::unique(spaces_.begin(), spaces_.end()), spaces_.end());
    if (revision_ != -1) {
      version_ = std::to_string(revision_);
    } else if (request_.spaces) { // the first list says it
    } else if (auto revision = revision_of(version_)) {
      revision_ = *revision;
    } else if (seek_) {
      return read_whole();
    } else {
      // An extension API server may have no versions: it takes any.
      revision = revision_of(version_ = version_of_spaces);
      if (!revision) return handler_.on_list_error(revision.error(), 0, {});
      revision_ = *revision;
    }
    // Those behind us are done: start is "<namespace>/<name>" with a NUL, or the same without name.
    const auto& start = request_.range.start;
    const auto space = start.substr(0, start.find('/') + 1);
    at_ = static_cast<std::size_t>(std::lower_bound(spaces_.begin(), spaces_.end(), space) -
                                   spaces_.begin());
    if (at_ == spaces_.size()) spaces_.push_back(nowhere()); // for the head of a list
    next_space();
  }

  void next_space() {
    const auto& space = spaces_[at_++];
    auto request = in_space(space);
    request.revision = revision_;
    if (request.limit != 0) request.limit -= delivered_;
    read(std::move(request), "", space);
  }

  void space_read(const ListEnd& end) {
    // Not ==: what counts may have changed between the two who ask.
    const bool full = request_.limit != 0 && delivered_ >= request_.limit;
    if (revision_ == -1) { // an extension API server may have no versions: then each is as of now
      revision_ = revision_of(end.resource_version).value_or(-1);
      version_ = end.resource_version;
    }
    if (!end.next_start && !full && at_ != spaces_.size()) return next_space();
    ListEnd mine{version_, end.next_start};
    // A position that ends with a slash is none (DecodeContinue in
    // apiserver/pkg/storage/continue.go).
    if (full && !end.next_start && at_ != spaces_.size()) mine.next_start = spaces_[at_] + '\0';
    if (mine.next_start && !request_.spaces && spaces_.size() <= k_most_spaces) {
      upstream_.page_spaces().keep(list_key(request_, revision_),
                                   std::make_shared<const std::vector<std::string>>(spaces_));
    }
    if (seek_ && !request_.spaces && request_.revision == -1) learn();
    handler_.on_list_end(mine);
  }

  /// The asker lost the right to one of his namespaces a moment ago: then it has nothing to show.
  void space_refused(const Error& error, int http_status, std::string_view body) {
    const bool forbidden = http_status == error_row(Code::forbidden).http_status;
    const bool last = at_ == spaces_.size();
    if (!forbidden || (last && !begun_)) return handler_.on_list_error(error, http_status, body);
    if (!last) return next_space();
    handler_.on_list_end({version_, std::nullopt});
  }

  void read_whole() {
    step_ = Step::whole;
    read(request_, hint_, "");
  }

  /// A namespace that cannot be: none ends with a dash (RFC 1123 label).
  std::string nowhere() const { return request_.range.prefix + "-/"; }

  ListRequest in_space(const std::string& space) const {
    auto request = request_;
    request.head.target = path_in(request_.head.target, space);
    return request;
  }

  void read(ListRequest request, std::string hint, std::string space) {
    retired_ = std::move(list_);
    list_ = read_pages(upstream_, caller_, std::move(request), std::move(hint), seek_, *this,
                       std::move(space));
    if (paused_) list_->pause();
  }

  /// What lies behind is not seen this way: after some lists it is looked at again. One with
  /// selectors would not see it then either.
  void learn() {
    if (selects(request_)) return;
    const auto& path = request_.head.target;
    const auto known = behind(upstream_, path, request_.range.prefix);
    upstream_.remember(behind_keys(path, request_.range.prefix)[0], known - known / 32);
  }

  void on_list_error(const Error& error, int http_status, std::string_view body) override {
    if (request_.spaces) return space_refused(error, http_status, body);
    // Compacted meanwhile, or not to be had at this version.
    const bool never = http_status == 410 || http_status == 500 || http_status == 504;
    if (never && !begun_ && seek_ && step_ != Step::whole) return read_whole();
    // The asker's version need not be one of namespaces. If it is gone, that is said of the kind.
    if (never && step_ == Step::before && revision_ != -1) return find_again();
    handler_.on_list_error(error, http_status, body);
  }

  Upstream& upstream_;
  Caller& caller_;
  ListRequest request_;
  std::string hint_;
  const bool seek_; ///< upstream takes positions
  ListHandler& handler_;
  Step step_ = Step::before;
  std::vector<std::string> spaces_; ///< each with a slash; once all are found, once, in key order
  std::int64_t revision_;           ///< at which the kind is read; -1: not known yet
  std::string version_;             ///< the same, as upstream said it
  std::size_t at_ = 0;              ///< the next of spaces_
  std::size_t delivered_ = 0;
  bool begun_ = false;
  bool paused_ = false;
  std::unique_ptr<List> retired_, list_; // last: cancelled first
};

} // namespace

bool by_space(const Upstream& upstream, const ListRequest& request) {
  const bool tenant_wide = request.all_namespaces && !request.range.prefix.empty();
  return tenant_wide && request.revision == -1 &&
         worth_asking_spaces(upstream, request, upstream.remembered(spaces_key(request)));
}

PageSpaces::Spaces spaces_of_page(const Upstream& upstream, const ListRequest& request) {
  if (!request.all_namespaces || request.revision == -1) return nullptr;
  return upstream.page_spaces().find(list_key(request, request.revision));
}

std::unique_ptr<List> fan_out(Upstream& upstream, Caller& caller, ListRequest request,
                              std::string hint, bool seek, const PageSpaces::Spaces& known,
                              ListHandler& handler) {
  return std::make_unique<FanOut>(upstream, caller, std::move(request), std::move(hint), seek,
                                  known, handler);
}

} // namespace zoo::upstream
