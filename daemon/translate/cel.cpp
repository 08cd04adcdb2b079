// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/cel.hpp"

#include "daemon/translate/cel_cuts.hpp"
#include "daemon/translate/cel_tokens.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

namespace zoo::translate {
namespace {

constexpr auto npos = CelTokens::npos;
using Words = std::initializer_list<std::string_view>;

bool among(std::string_view word, Words words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The members of `request` that hold a group.
constexpr std::array<std::string_view, 4> k_requested = {"kind", "resource", "requestKind",
                                                         "requestResource"};
bool holds_group(std::string_view word) {
  return std::find(k_requested.begin(), k_requested.end(), word) != k_requested.end();
}

/// Steps through which a piece that is cut may be reached. What is stored has a step more for each
/// cut on the way, and is read back all the same.
constexpr std::size_t k_longest_chain = 128;
static_assert(CelTokens::k_most_steps >= 3 * k_longest_chain);

/// A piece of the expression, and what stands around it upstream.
struct Cut {
  std::size_t begin, end; ///< offsets of the piece
  std::string_view open, close;
};

/// Is the operand this chain of fields? Question marks between them do not count.
bool operand_is(const CelTokens& tokens, const CelSelect& select, Words chain) {
  auto at = select.first;
  bool first = true;
  for (const auto word : chain) {
    if (!first) {
      if (at >= select.step || !tokens.is_sign(at, '.')) return false;
      ++at;
      if (tokens.is_sign(at, '?')) ++at;
    }
    if (at >= select.step || tokens.text(at) != word) return false;
    ++at;
    first = false;
  }
  return at == select.step;
}

/// Finds the pieces that are cut. The same pieces are found in what the tenant wrote and in what
/// upstream has of it, for no form of a cut holds a piece itself.
class Finder {
public:
  Finder(const CelTokens& tokens, const CelCuts& forms, CelPlace place, std::size_t longest)
      : tokens_(tokens), forms_(forms), place_(place), longest_(longest) {}

  std::vector<Cut> run() {
    if (place_ == CelPlace::api_version || place_ == CelPlace::api_version_optional_old) {
      variables();
      return std::move(cuts_);
    }
    for (const auto& select : tokens_.selects()) {
      if (select.under_has || select.steps > longest_) continue;
      if (place_ == CelPlace::admission) {
        admission(select);
      } else {
        object(select);
      }
    }
    return std::move(cuts_);
  }

private:
  bool optional_old() const {
    return place_ == CelPlace::object_optional_old || place_ == CelPlace::api_version_optional_old;
  }

  void add(const CelSelect& select, std::string_view open, std::string_view close) {
    cuts_.push_back({tokens_[select.first].begin, tokens_[select.last].end, open, close});
  }

  void string(const CelSelect& select) {
    if (select.optional) return add(select, {}, forms_.optional);
    add(select, {}, forms_.string);
  }
  void string_of_any(const CelSelect& select) {
    if (select.optional) return add(select, {}, forms_.optional);
    add(select, k_dyn_open, forms_.string_of_any);
  }
  void any(const CelSelect& select) {
    if (select.optional) return add(select, {}, forms_.optional);
    add(select, k_list_open, forms_.any);
  }
  void list(const CelSelect& select) {
    if (select.optional) return add(select, {}, forms_.optional_list);
    add(select, k_list_open, forms_.list);
  }

  void admission(const CelSelect& select) {
    const auto is = [&](Words chain) { return operand_is(tokens_, select, chain); };
    if (select.field == "namespace") {
      if (is({"request"})) return string(select);
      if (is({"object", "metadata"}) || is({"oldObject", "metadata"}) || is({"params", "metadata"}))
        string_of_any(select);
    } else if (select.field == "name") {
      if (is({"namespaceObject", "metadata"})) string(select);
    } else if (select.field == "group") {
      for (const auto what : k_requested)
        if (is({"request", what})) return string(select);
    } else if (select.field == "apiVersion") {
      if (is({"object"}) || is({"oldObject"}) || is({"params"})) return string_of_any(select);
      any(select);
    } else if (select.field == "apiGroup") {
      any(select);
    } else if (select.field == "apiGroups") {
      list(select);
    }
  }

  void object(const CelSelect& select) {
    if (select.field != "apiVersion") return;
    if (operand_is(tokens_, select, {"self"})) return string(select);
    if (operand_is(tokens_, select, {"oldSelf"})) {
      auto old = select;
      old.optional = old.optional || optional_old();
      return string(old);
    }
    // An object within the object holds what the tenant wrote. Of what else an apiVersion is read,
    // that may be the object itself where an expression hands on self or oldSelf as a whole.
    if (!within(select) && hands_on()) any(select);
  }

  /// Does the operand lead from self by members and indexes alone?
  bool within(const CelSelect& select) const {
    if (!among(tokens_.text(select.first), {"self", "oldSelf"})) return false;
    for (auto at = select.first; at < select.step; ++at)
      if (tokens_.is_sign(at, '(')) return false;
    return true;
  }

  /// Does the expression use self or oldSelf other than to select one of its members?
  bool hands_on() {
    if (hands_on_) return *hands_on_;
    hands_on_ = false;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!among(tokens_.text(i), {"self", "oldSelf"}) || !tokens_.is_variable(i)) continue;
      auto field = i + 2;
      if (tokens_.is_sign(field, '?')) ++field;
      const bool selects = tokens_.is_sign(i + 1, '.') && !tokens_.is_sign(field + 1, '(');
      if (!selects) hands_on_ = true;
    }
    return *hands_on_;
  }

  void variables() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto word = tokens_.text(i);
      if (!among(word, {"self", "oldSelf"}) || !tokens_.is_variable(i)) continue;
      const bool optional = word == "oldSelf" && optional_old();
      cuts_.push_back({tokens_[i].begin,
                       tokens_[i].end,
                       {},
                       optional ? std::string_view(forms_.optional) : forms_.string});
    }
  }

  const CelTokens& tokens_;
  const CelCuts& forms_;
  const CelPlace place_;
  const std::size_t longest_; ///< steps
  std::vector<Cut> cuts_;
  std::optional<bool> hands_on_;
};

/// A change of the text at one place.
struct Change {
  std::size_t begin, end;
  std::string_view text;
  std::size_t order; ///< among those that begin at the same place
};

std::string changed(std::string_view text, std::vector<Change> changes) {
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.order < b.order;
  });
  std::string out;
  std::size_t copied = 0;
  for (const auto& change : changes) {
    out += text.substr(copied, change.begin - copied);
    out += change.text;
    copied = change.end;
  }
  out += text.substr(copied);
  return out;
}

/// The tokens from `at` on that are one value: up to the comma or bracket that ends it.
std::size_t value_end(const CelTokens& tokens, std::size_t at) {
  while (at < tokens.size() && !tokens.is_sign(at, ',') && !tokens.is_sign(at, '}')) {
    const auto partner = tokens[at].partner;
    at = (partner != npos && partner > at ? partner : at) + 1;
  }
  return at;
}

/// Is the value that begins at `at` one literal that names no group which gets a prefix?
bool plain_group(const CelTokens& tokens, std::size_t at, bool version) {
  if (value_end(tokens, at) != at + 1) return false;
  const auto literal = tokens.plain_literal(at);
  if (!literal) return false;
  const auto slash = literal->find('/');
  if (version && slash == std::string_view::npos) return true; // v1
  return builtin_group(version ? literal->substr(0, slash) : *literal);
}

/// Does a mutation write the group of a reference between objects other than as the name of a
/// built-in one? In front of it stands a type (Object.metadata.ownerReferences{...}), or a JSON
/// patch names the list.
bool writes_groups(const CelTokens& tokens) {
  bool patches_owners = false;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    patches_owners = patches_owners || (tokens[i].kind == CelToken::Kind::literal &&
                                        tokens.text(i).find("ownerReferences") != npos);
  std::vector<bool> reference; // for each open brace: does it make a reference?
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens.is_sign(i, '{')) {
      const auto type = i > 0 ? tokens.text(i - 1) : std::string_view();
      const bool whole = type == "Object" && tokens.is_variable(i - 1);
      reference.push_back(whole || patches_owners ||
                          among(type, {"ownerReferences", "scaleTargetRef", "describedObject"}));
    } else if (tokens.is_sign(i, '}')) {
      if (!reference.empty()) reference.pop_back();
    } else if (!reference.empty() && reference.back() && tokens.is_sign(i + 1, ':') &&
               (tokens.is_sign(i - 1, '{') || tokens.is_sign(i - 1, ','))) {
      const auto key = tokens.plain_literal(i).value_or(tokens.text(i));
      if (among(key, {"apiVersion", "apiGroup"}) &&
          !plain_group(tokens, i + 2, key == "apiVersion"))
        return true;
    }
  }
  return false;
}

/// Is `request`, or one of its members that hold a group, used as a whole?
bool hands_on_request(const CelTokens& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens.text(i) != "request" || !tokens.is_variable(i) || tokens.under_has(i)) continue;
    if (tokens.is_sign(i + 1, ':') && (tokens.is_sign(i - 1, '{') || tokens.is_sign(i - 1, ',')))
      continue; // a field of that name is set
    if (!tokens.is_sign(i + 1, '.')) return true;
    auto member = i + 2;
    if (tokens.is_sign(member, '?')) ++member;
    if (!holds_group(tokens.text(member))) continue;
    auto field = member + 2;
    if (tokens.is_sign(field, '?')) ++field;
    if (!tokens.is_sign(member + 1, '.') || tokens.is_sign(field + 1, '(')) return true;
  }
  return false;
}

bool asks_authorizer(const CelTokens& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens.text(i) == "authorizer" && tokens.is_variable(i)) return true;
  return false;
}

} // namespace

std::string cel_in(const Mapping& mapping, std::string_view expression, CelPlace place) {
  if (mapping.identity()) return std::string(expression);
  const CelCuts forms(mapping);
  const CelTokens tokens(expression);
  std::vector<Change> changes;
  for (const auto& cut : Finder(tokens, forms, place, k_longest_chain).run()) {
    // What ends at a place stands in front of what begins there; of two that begin there, the
    // longer one is around the other.
    if (!cut.open.empty())
      changes.push_back({cut.begin, cut.begin, cut.open, 1 + expression.size() - cut.end});
    changes.push_back({cut.end, cut.end, cut.close, 0});
  }
  return changed(expression, std::move(changes));
}

std::string cel_out(const Mapping& mapping, std::string_view expression, CelPlace place) {
  if (mapping.identity() || expression.find(mapping.prefix()) == npos)
    return std::string(expression);
  const CelCuts forms(mapping);
  const CelTokens tokens(expression);
  std::vector<Change> changes;
  for (const auto& cut : Finder(tokens, forms, place, CelTokens::k_most_steps).run()) {
    if (!expression.substr(cut.end).starts_with(cut.close) ||
        !expression.substr(0, cut.begin).ends_with(cut.open))
      continue;
    if (!cut.open.empty()) changes.push_back({cut.begin - cut.open.size(), cut.begin, {}, 0});
    changes.push_back({cut.end, cut.end + cut.close.size(), {}, 0});
  }
  return changed(expression, std::move(changes));
}

std::string_view cel_refusal(std::string_view expression, bool mutates) {
  const CelTokens tokens(expression);
  if (asks_authorizer(tokens))
    return "asks 'authorizer', which answers by the platform's roles and not by the tenant's";
  const auto selects = tokens.selects();
  if (std::any_of(selects.begin(), selects.end(),
                  [](const CelSelect& each) { return each.steps > k_longest_chain; }))
    return "selects through more than 128 steps at once (rule expression-groups): name the parts "
           "in variables";
  if (hands_on_request(tokens))
    return "hands on 'request', or a kind or resource of it, as a whole, whose group upstream has "
           "a prefix (rule expression-groups): name the member that you read, such as "
           "request.kind.group";
  if (mutates && writes_groups(tokens))
    return "writes the API group of a reference, which has a prefix upstream (rule "
           "expression-groups): let a controller or a webhook set a reference to a kind of your "
           "own";
  return {};
}

} // namespace zoo::translate
