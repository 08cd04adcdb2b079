// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/selector.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/target.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace zoo::translate {
namespace {

constexpr std::string_view k_namespace_label = "kubernetes.io/metadata.name";

bool alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// [A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?, 1..63 (util/validation qualified names).
bool label_part(std::string_view text) {
  if (text.empty() || text.size() > 63 || !alnum(text.front()) || !alnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t out = 0;
  const auto* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, out);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(out) : std::nullopt;
}

bool subdomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  bool start = true;
  char last = '.';
  for (const char c : text) {
    const bool lower = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (start ? !lower : !(lower || c == '-' || c == '.')) return false;
    if (c == '.' && last == '-') return false;
    start = c == '.';
    last = c;
  }
  return !start && last != '-';
}

Result<void> check_key(std::string_view key) {
  if (valid_label_key(key)) return {};
  return fail(Code::bad_request,
              "unable to parse requirement: <nil>: Invalid value: {}: name part must consist of "
              "alphanumeric characters, '-', '_' or '.', and must start and end with an "
              "alphanumeric character, at most 63 characters, after an optional DNS subdomain "
              "prefix and '/'",
              json_quote(key));
}

Result<void> check_value(std::string_view key, std::string_view value) {
  if (valid_label_value(value)) return {};
  return fail(Code::bad_request,
              "unable to parse requirement: values[0][{}]: Invalid value: {}: a valid label must "
              "be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
              "start and end with an alphanumeric character, at most 63 characters",
              key, json_quote(value));
}

/// The lexer and parser of pkg/labels/selector.go, as one descent.
class LabelParser {
public:
  explicit LabelParser(std::string_view text) { scan(text); }

  Result<std::vector<LabelRequirement>> parse() {
    std::vector<LabelRequirement> out;
    for (;;) {
      const auto& token = tokens_[at_];
      if (token.kind == Kind::end) return out;
      if (token.kind != Kind::word && token.text != "!")
        return fail(Code::bad_request, "found '{}', expected: !, identifier, or 'end of string'",
                    token.text);
      ZOO_TRY(auto requirement, parse_requirement());
      out.push_back(std::move(requirement));
      const auto& behind = tokens_[at_];
      if (behind.kind == Kind::end) return out;
      if (behind.text != "," || behind.kind != Kind::symbol)
        return fail(Code::bad_request, "found '{}', expected: ',' or 'end of string'", behind.text);
      ++at_;
      if (tokens_[at_].kind != Kind::word && tokens_[at_].text != "!")
        return fail(Code::bad_request, "found '{}', expected: identifier after ','",
                    tokens_[at_].text);
    }
  }

private:
  enum class Kind : std::uint8_t { word, symbol, error, end };
  struct Token {
    Kind kind;
    std::string text;
  };

  static bool special(char c) {
    return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
  }
  static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  void scan(std::string_view text) {
    while (!text.empty()) {
      if (blank(text.front())) {
        text.remove_prefix(1);
      } else if (special(text.front())) {
        std::size_t length = text.starts_with("==") || text.starts_with("!=") ? 2 : 1;
        tokens_.push_back({Kind::symbol, std::string(text.substr(0, length))});
        text.remove_prefix(length);
      } else {
        std::size_t length = 0;
        while (length < text.size() && !special(text[length]) && !blank(text[length]))
          ++length;
        tokens_.push_back({Kind::word, std::string(text.substr(0, length))});
        text.remove_prefix(length);
      }
    }
    tokens_.push_back({Kind::end, ""});
  }

  bool symbol(std::string_view text) const {
    return tokens_[at_].kind == Kind::symbol && tokens_[at_].text == text;
  }
  bool ends() const { return tokens_[at_].kind == Kind::end || symbol(","); }

  Result<LabelRequirement> parse_requirement() {
    LabelRequirement out;
    const bool negated = symbol("!");
    if (negated) ++at_;
    if (tokens_[at_].kind != Kind::word)
      return fail(Code::bad_request,
                  "unable to parse requirement: found '{}', expected: identifier",
                  tokens_[at_].text);
    out.key = tokens_[at_++].text;
    ZOO_TRY_VOID(check_key(out.key));
    if (negated || ends()) {
      out.op = negated ? LabelOperator::not_exists : LabelOperator::exists;
      return out;
    }
    const auto token = tokens_[at_++];
    const bool word = token.kind == Kind::word;
    if (word && (token.text == "in" || token.text == "notin")) {
      out.op = token.text == "in" ? LabelOperator::in : LabelOperator::not_in;
      ZOO_TRY_VOID(parse_values(out));
    } else {
      if (word || !operator_of(token.text, out.op))
        return fail(Code::bad_request,
                    "unable to parse requirement: found '{}', expected: in, notin, =, ==, !=, gt, "
                    "lt",
                    token.text);
      if (ends()) {
        out.values = {""};
      } else if (tokens_[at_].kind == Kind::word) {
        out.values = {tokens_[at_++].text};
      } else {
        return fail(Code::bad_request,
                    "unable to parse requirement: found '{}', expected: identifier",
                    tokens_[at_].text);
      }
    }
    std::sort(out.values.begin(), out.values.end());
    out.values.erase(std::unique(out.values.begin(), out.values.end()), out.values.end());
    const bool ordered = out.op == LabelOperator::greater || out.op == LabelOperator::less;
    for (const auto& value : out.values) {
      ZOO_TRY_VOID(check_value(out.key, value));
      if (ordered && !integer(value))
        return fail(Code::bad_request,
                    "unable to parse requirement: values[0]: Invalid value: {}: for 'Gt', 'Lt' "
                    "operators, the value must be an integer",
                    json_quote(value));
    }
    return out;
  }

  static bool operator_of(std::string_view text, LabelOperator& op) {
    if (text == "=")
      op = LabelOperator::equals;
    else if (text == "==")
      op = LabelOperator::double_equals;
    else if (text == "!=")
      op = LabelOperator::not_equals;
    else if (text == ">")
      op = LabelOperator::greater;
    else if (text == "<")
      op = LabelOperator::less;
    else
      return false;
    return true;
  }

  Result<void> parse_values(LabelRequirement& out) {
    if (!symbol("("))
      return fail(Code::bad_request, "unable to parse requirement: found '{}' expected: '('",
                  tokens_[at_].text);
    ++at_;
    bool empty = true; // no value since the last comma
    for (;; ++at_) {
      if (symbol(")") || symbol(",")) {
        if (empty) out.values.emplace_back();
        empty = true;
        if (symbol(",")) continue;
        ++at_;
        return {};
      }
      if (tokens_[at_].kind != Kind::word || !empty)
        return fail(Code::bad_request,
                    "unable to parse requirement: found '{}', expected: ',', ')' or identifier",
                    tokens_[at_].text);
      out.values.push_back(tokens_[at_].text);
      empty = false;
    }
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

Result<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      if (++i >= text.size() || (text[i] != '\\' && text[i] != ',' && text[i] != '='))
        return fail(Code::bad_request, "invalid field selector: invalid escape sequence: \\{}",
                    i < text.size() ? text.substr(i, 1) : "");
      out += text[i];
    } else if (c == ',' || c == '=') {
      return fail(Code::bad_request, "invalid field selector: unescaped character in value: {}",
                  static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == ',' || c == '=') out += '\\';
    out += c;
  }
  return out;
}

bool event_scope(const SelectorScope& scope) {
  return scope.resource == "events" && (scope.group.empty() || scope.group == "events.k8s.io");
}

/// The value of `key` that the selector demands, if it demands one.
std::optional<std::string> demanded(const std::vector<FieldTerm>& terms, std::string_view key) {
  for (const auto& term : terms) {
    if (term.equal && term.key == key) return term.value;
  }
  return std::nullopt;
}

/// The part behind "involvedObject." or "regarding." in a selector on events, else "".
std::string_view event_reference(const SelectorScope& scope, std::string_view key) {
  if (!event_scope(scope)) return {};
  for (const std::string_view head : {"involvedObject.", "regarding."}) {
    if (key.starts_with(head)) return key.substr(head.size());
  }
  return {};
}

std::string group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : std::string(api_version.substr(0, slash));
}

/// Facts of the kind that an event selector demands its object to have; null if unknown.
const KindFacts* reference_facts(const std::vector<FieldTerm>& terms, std::string_view key) {
  const auto head = key.substr(0, key.find('.') + 1);
  const auto kind = demanded(terms, std::string(head) + "kind");
  if (!kind) return nullptr;
  const auto version = demanded(terms, std::string(head) + "apiVersion");
  return find_facts_of_kind(version ? group_of(*version) : "", *kind);
}

} // namespace

bool valid_label_key(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return label_part(key);
  return subdomain(key.substr(0, slash)) && label_part(key.substr(slash + 1));
}

bool valid_label_value(std::string_view value) { return value.empty() || label_part(value); }

Result<std::vector<FieldTerm>> parse_field_selector(std::string_view text) {
  std::vector<FieldTerm> out;
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  bool escaped = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (escaped) {
      escaped = false;
    } else if (text[i] == '\\') {
      escaped = true;
    } else if (text[i] == ',') {
      parts.push_back(text.substr(from, i - from));
      from = i + 1;
    }
  }
  parts.push_back(text.substr(from));
  for (const auto part : parts) {
    if (part.empty()) continue;
    const auto at = part.find_first_of("!=");
    auto split = at;
    // A lone '!' is part of the key.
    while (split != std::string_view::npos && part[split] == '!' &&
           part.substr(split + 1, 1) != "=")
      split = part.find_first_of("!=", split + 1);
    if (split == std::string_view::npos)
      return fail(Code::bad_request, "invalid selector: '{}'; can't understand '{}'", text, part);
    FieldTerm term;
    term.key = part.substr(0, split);
    const auto rest = part.substr(split);
    term.equal = rest.front() == '=';
    const std::size_t length = rest.starts_with("!=") || rest.starts_with("==") ? 2 : 1;
    ZOO_TRY(term.value, unescape(rest.substr(length)));
    out.push_back(std::move(term));
  }
  return out;
}

std::string serialize_field_selector(const std::vector<FieldTerm>& terms) {
  std::string out;
  for (const auto& term : terms) {
    if (!out.empty()) out += ',';
    out += term.key + (term.equal ? "=" : "!=") + escape(term.value);
  }
  return out;
}

Result<std::vector<LabelRequirement>> parse_label_selector(std::string_view text) {
  return LabelParser(text).parse();
}

std::string serialize_label_selector(const std::vector<LabelRequirement>& requirements) {
  std::string out;
  for (const auto& each : requirements) {
    if (!out.empty()) out += ',';
    const auto value = each.values.empty() ? std::string() : each.values.front();
    const auto set = [&] {
      std::string list = "(";
      for (std::size_t i = 0; i < each.values.size(); ++i)
        list += (i > 0 ? "," : "") + each.values[i];
      return list + ")";
    };
    switch (each.op) {
    case LabelOperator::exists:
      out += each.key;
      break;
    case LabelOperator::not_exists:
      out += "!" + each.key;
      break;
    case LabelOperator::equals:
      out += each.key + "=" + value;
      break;
    case LabelOperator::double_equals:
      out += each.key + "==" + value;
      break;
    case LabelOperator::not_equals:
      out += each.key + "!=" + value;
      break;
    case LabelOperator::in:
      out += each.key + " in " + set();
      break;
    case LabelOperator::not_in:
      out += each.key + " notin " + set();
      break;
    case LabelOperator::greater:
      out += each.key + ">" + value;
      break;
    case LabelOperator::less:
      out += each.key + "<" + value;
      break;
    }
  }
  return out;
}

bool fulfils(const LabelRequirement& requirement, std::optional<std::string_view> value) {
  const auto& values = requirement.values;
  const bool among = value && std::find(values.begin(), values.end(), *value) != values.end();
  switch (requirement.op) {
  case LabelOperator::exists:
    return value.has_value();
  case LabelOperator::not_exists:
    return !value;
  case LabelOperator::equals:
  case LabelOperator::double_equals:
  case LabelOperator::in:
    return among;
  case LabelOperator::not_equals:
  case LabelOperator::not_in:
    return !among;
  case LabelOperator::greater:
  case LabelOperator::less: {
    if (!value || values.empty()) return false;
    const auto left = integer(*value);
    const auto right = integer(values.front());
    if (!left || !right) return false;
    return requirement.op == LabelOperator::greater ? *left > *right : *left < *right;
  }
  }
  return false;
}

namespace {

/// The apiVersion of a tenant's own kind, which a definition may name among its selectableFields.
bool own_version(const Mapping& mapping, const SelectorScope& scope, std::string_view key) {
  return key == "apiVersion" && mapping.custom_group(scope.group);
}

} // namespace

Result<std::string> field_selector_in(const Mapping& mapping, const SelectorScope& scope,
                                      std::string_view text) {
  ZOO_TRY(const auto terms, parse_field_selector(text));
  if (mapping.identity()) return std::string(text);
  const auto* facts = scope.namespaced ? nullptr : find_facts(scope.group, scope.resource);
  std::vector<FieldTerm> out;
  for (auto term : terms) {
    const auto reference = event_reference(scope, term.key);
    if (term.key == "metadata.name" || (term.key == "name" && scope.resource == "namespaces")) {
      term.value = object_name_in(mapping, facts, term.value);
    } else if (term.key == "metadata.namespace") {
      term.value = mapping.name_in(term.value);
    } else if (term.key == "spec.signerName" && scope.group == "certificates.k8s.io") {
      term.value = mapping.signer_in(term.value);
    } else if (reference == "namespace") {
      // Upstream, an event about a cluster-scoped object names the event's own namespace there
      // (the server refuses anything else outside `default`); to the tenant it is empty.
      if (term.value.empty()) {
        if (!term.equal)
          return fail(Code::bad_request,
                      "field selector {}!= cannot be served: events about cluster-scoped objects "
                      "are stored with a namespace",
                      term.key);
        if (scope.name_space.empty()) continue;
        term.value = mapping.name_in(scope.name_space);
      } else {
        term.value = mapping.name_in(term.value);
      }
    } else if (reference == "name") {
      term.value = object_name_in(mapping, reference_facts(terms, term.key), term.value);
    } else if (reference == "apiVersion" || own_version(mapping, scope, term.key)) {
      term.value = mapping.api_version_in(term.value);
    }
    out.push_back(std::move(term));
  }
  return serialize_field_selector(out);
}

Result<std::string> field_selector_out(const Mapping& mapping, const SelectorScope& scope,
                                       std::string_view text) {
  ZOO_TRY(auto terms, parse_field_selector(text));
  if (mapping.identity()) return std::string(text);
  const auto* facts = scope.namespaced ? nullptr : find_facts(scope.group, scope.resource);
  const auto view = [](std::optional<std::string_view> value) {
    return std::string(value.value_or(std::string_view()));
  };
  const auto original = terms;
  for (auto& term : terms) {
    if (term.value.empty()) continue;
    const auto reference = event_reference(scope, term.key);
    if (term.key == "metadata.name" || (term.key == "name" && scope.resource == "namespaces")) {
      term.value = object_name_out(mapping, facts, term.value).value_or("");
    } else if (term.key == "metadata.namespace" || reference == "namespace") {
      term.value = view(mapping.name_out(term.value));
    } else if (term.key == "spec.signerName" && scope.group == "certificates.k8s.io") {
      term.value = view(mapping.signer_out(term.value));
    } else if (reference == "name") {
      term.value =
          object_name_out(mapping, reference_facts(original, term.key), term.value).value_or("");
    } else if (reference == "apiVersion" || own_version(mapping, scope, term.key)) {
      term.value = mapping.api_version_out(term.value).value_or("");
    }
  }
  return serialize_field_selector(terms);
}

Result<std::string> label_selector_in(const Mapping& mapping, const SelectorScope& scope,
                                      std::string_view text) {
  ZOO_TRY(auto requirements, parse_label_selector(text));
  if (mapping.identity()) return std::string(text);
  const bool namespaces = scope.group.empty() && scope.resource == "namespaces";
  for (auto& each : requirements) {
    if (each.key == k_tenant_label)
      return fail(Code::forbidden, "the label {} is reserved and cannot be selected by",
                  k_tenant_label);
    if (!namespaces || each.key != k_namespace_label) continue;
    for (auto& value : each.values) {
      if (value.size() > k_max_namespace)
        return fail(Code::bad_request,
                    "unable to parse requirement: values[0][{}]: Invalid value: {}: must be no "
                    "more than {} characters",
                    each.key, json_quote(value), k_max_namespace);
      value = mapping.name_in(value);
    }
  }
  if (namespaces)
    requirements.push_back({std::string(k_tenant_label), LabelOperator::equals, {mapping.id()}});
  return serialize_label_selector(requirements);
}

Result<std::string> label_selector_out(const Mapping& mapping, const SelectorScope& scope,
                                       std::string_view text) {
  ZOO_TRY(auto requirements, parse_label_selector(text));
  if (mapping.identity()) return std::string(text);
  std::erase_if(requirements, [](const auto& each) { return each.key == k_tenant_label; });
  if (scope.group.empty() && scope.resource == "namespaces") {
    for (auto& each : requirements) {
      if (each.key != k_namespace_label) continue;
      for (auto& value : each.values)
        value = std::string(mapping.name_out(value).value_or(std::string_view()));
    }
  }
  return serialize_label_selector(requirements);
}

} // namespace zoo::translate
