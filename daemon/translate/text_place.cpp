// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/text_place.hpp"

#include "common/base/text.hpp"
#include "daemon/translate/known_words.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/target.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

namespace zoo::translate {
namespace {

constexpr auto npos = std::string_view::npos;

/// Words that are no kinds, in front of names.
constexpr std::array k_words = {
    std::pair{"binding", Place::perhaps}, // of a policy, as its refusal names it
    std::pair{"policy", Place::perhaps},
    std::pair{"class", Place::perhaps},
    std::pair{"volume", Place::perhaps}, // a PersistentVolume, or one of a pod's
    std::pair{"in", Place::perhaps},
    std::pair{"value", Place::perhaps}, // Invalid value: "x"
    std::pair{"found", Place::perhaps}, // Not found: "x"
    std::pair{"pv", Place::prefixed},
    std::pair{"group", Place::prefixed},
    std::pair{"apigroup", Place::prefixed},
    std::pair{"pvc", Place::own},
    std::pair{"claim", Place::own},
    std::pair{"quota", Place::own},
    std::pair{"volumes", Place::own},
    std::pair{"container", Place::own},
    std::pair{"containers", Place::own},
    std::pair{"image", Place::own},
    std::pair{"reference", Place::own}, // of an image
    std::pair{"key", Place::own},
    std::pair{"label", Place::own},
    std::pair{"annotation", Place::own},
    std::pair{"taint", Place::own},
    std::pair{"host", Place::own},
    std::pair{"user", Place::own},
};

/// Words that may stand between a kind and a name.
constexpr std::array<std::string_view, 6> k_fillers = {"with",   "name", "named",
                                                       "called", "the",  "of"};

Place place_of_kind(const ResourceRow& row) {
  if (row.namespaced) return Place::own;
  const auto* facts = find_facts(row.group, row.resource);
  if (facts == nullptr) return Place::own;
  switch (facts->names) {
  case NameRule::prefixed:
  case NameRule::overlay:
  case NameRule::crd:
  case NameRule::volume:
  case NameRule::cluster_role:
    return Place::prefixed;
  case NameRule::signer_bundle:
    return Place::perhaps;
  case NameRule::verbatim:
  case NameRule::cluster_role_binding:
  case NameRule::service_address:
  case NameRule::attachment:
    return Place::own;
  }
  return Place::nothing;
}

/// By a kind ("replicaset") or a resource ("replicasets"), in lower case.
const std::map<std::string, Place, std::less<>>& places() {
  static const auto made = [] {
    std::map<std::string, Place, std::less<>> out;
    for (const auto& row : resources()) {
      if (row.resource.find('/') != npos) continue;
      out.emplace(text::lower(row.kind), place_of_kind(row));
      out.emplace(row.resource, place_of_kind(row));
    }
    for (const auto& [word, place] : k_words)
      out.insert_or_assign(word, place);
    return out;
  }();
  return made;
}

/// What stands behind a word such as `pod`, `ReplicaSet`, `deployments.apps` or `image`.
Place place_behind(std::string_view word, std::string_view prefix) {
  const auto dot = word.find('.');
  // Objects of a tenant's own group keep their names: the group has the prefix.
  if (dot != npos && word.substr(dot + 1).starts_with(prefix)) return Place::own;
  const auto known = places().find(text::lower(word.substr(0, dot)));
  return known == places().end() ? Place::nothing : known->second;
}

bool name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

/// The word that `text` ends with; it is cut off, with what stands behind it.
std::string_view take_last_word(std::string_view& text) {
  while (!text.empty() && std::string_view(" \"'([{=:\\<").find(text.back()) != npos)
    text.remove_suffix(1);
  auto begin = text.size();
  while (begin > 0 && name_byte(text[begin - 1]))
    --begin;
  const auto word = text.substr(begin);
  text = text.substr(0, begin);
  return word;
}

Place by_words(std::string_view before, std::string_view prefix) {
  for (std::size_t fillers = 0; fillers < 3; ++fillers) {
    const auto word = take_last_word(before);
    if (word.empty()) return Place::nothing;
    auto rest = before;
    // "replica set"
    const auto both = std::string(take_last_word(rest)) + std::string(word);
    if (both.size() > word.size()) {
      const auto place = places().find(text::lower(both));
      if (place != places().end()) return place->second;
    }
    if (const auto place = place_behind(word, prefix); place != Place::nothing) return place;
    const auto lower = text::lower(word);
    if (std::find(k_fillers.begin(), k_fillers.end(), lower) == k_fillers.end())
      return Place::nothing;
  }
  return Place::nothing;
}

std::string_view without_quote(std::string_view before) {
  if (before.ends_with('"') || before.ends_with('\'')) before.remove_suffix(1);
  if (before.ends_with('\\')) before.remove_suffix(1);
  return before;
}

/// Behind a slash: `namespaces/x`, `deployment/x`, `apis/x`, or the name behind a namespace. If it
/// `goes_on` with another slash, the word behind a resource that begins the path is a namespace:
/// `services/x/web`, though not `namespaces/team/pods/x/log`.
Place behind_slash(std::string_view before, std::string_view prefix, bool goes_on) {
  before = without_quote(before);
  auto begin = before.size();
  while (begin > 0 && name_byte(before[begin - 1]))
    --begin;
  const auto segment = before.substr(begin);
  if (segment.empty()) return Place::nothing; // "https://"
  if (segment == "apis" || segment.find("deviceclass.resource.") != npos) return Place::prefixed;
  const auto place = place_behind(segment, prefix);
  if (place == Place::nothing) return Place::own;
  const bool begins = begin == 0 || before[begin - 1] != '/';
  return goes_on && begins && place == Place::own ? Place::perhaps : place;
}

/// Is it within a key of upstream's storage, as conflicts show it: `Key: /services/specs/x/web`?
bool in_storage_key(std::string_view before) {
  constexpr std::size_t k_longest_key = 1024;
  before = before.substr(before.size() - std::min(before.size(), k_longest_key));
  const auto key = before.rfind("Key: /");
  return key != npos && before.find_first_of(" ,", key + 5) == npos;
}

bool digit(char c) { return c >= '0' && c <= '9'; }

} // namespace

Place place_of(std::string_view text, std::size_t at, std::size_t name) {
  const auto prefix = text.substr(at, name - at);
  const auto word = text.substr(at, word_length(text.substr(at)));
  for (const auto* class_of : {".storageclass.", ".volumeattributesclass.", ".deviceclass."}) {
    if (word.find(class_of) != npos) return Place::prefixed; // of a ResourceQuota
  }
  auto after = text.substr(std::max(at + word.size(), name));
  if (after.starts_with("/v") && after.size() > 2 && digit(after[2])) return Place::prefixed;
  if (after.starts_with('"') || after.starts_with('\'')) after.remove_prefix(1);
  const bool goes_on = after.size() > 1 && after[0] == '/' &&
                       (name_byte(after[1]) || after[1] == '"' || after[1] == '\'');
  const auto before = without_quote(text.substr(0, at));
  // The last part of a key may be a name that the tenant gave, the others are zood's.
  if (before.ends_with('/') && goes_on && in_storage_key(before)) return Place::prefixed;
  if (before.ends_with('/'))
    return behind_slash(before.substr(0, before.size() - 1), prefix, goes_on);
  if (before.ends_with('.') && before.size() > 1 && name_byte(before[before.size() - 2]))
    return Place::perhaps; // `widgets.foofoo-example.com`, `web.foofoo-team.svc`
  if (before.ends_with('_')) return Place::perhaps; // a pod: `web_foofoo-team(uid)`
  if (before.ends_with("system:serviceaccount:") || before.ends_with("system:serviceaccounts:"))
    return Place::prefixed;
  if (before.ends_with(':')) {
    auto rest = before.substr(0, before.size() - 1);
    while (!rest.empty() && name_byte(rest.back()))
      rest.remove_suffix(1);
    if (rest.ends_with("system:serviceaccount:")) return Place::own;
  }
  const auto place = by_words(before, prefix);
  // A namespace and a name in it: `foofoo-team/web`, `"foofoo-team"/"web"`.
  if (goes_on && place != Place::prefixed) {
    auto rest = before;
    const auto last = text::lower(take_last_word(rest));
    return last == "image" || last == "reference" ? Place::own : Place::perhaps;
  }
  // A name that begins with the tenant's ID, with the prefix in front of it.
  const bool twice = text.substr(name).starts_with(prefix) && text.size() > name + prefix.size();
  return twice && place == Place::nothing ? Place::perhaps : place;
}

} // namespace zoo::translate
