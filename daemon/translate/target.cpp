// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/target.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "daemon/translate/actions.hpp"
#include "daemon/translate/hidden_names.hpp"
#include "daemon/translate/selector.hpp"
#include "daemon/translate/status_text.hpp"

#include <algorithm>
#include <array>
#include <list>

namespace zoo::translate {
namespace {

constexpr std::size_t k_max_path = 8 * 1024;
constexpr std::size_t k_max_query = 64 * 1024;
/// What Go's url.PathEscape leaves as it is besides unreserved characters.
constexpr std::string_view k_path_keep = "$&+:=@";
constexpr std::string_view k_bad_path =
    "the path of the URL is not canonical: it has an empty segment, \".\" or \"..\", an encoded "
    "slash or percent sign, a backslash, or a control character";

/// What stands for itself in a path and needs no second look.
constexpr auto k_plain = [] {
  std::array<bool, 256> table{};
  for (unsigned c = 0x21; c < 0x7f; ++c)
    table[c] =
        std::string_view("\"#%/<>?\\^`{|}").find(static_cast<char>(c)) == std::string_view::npos;
  return table;
}();

bool plain_segment(std::string_view raw) {
  for (const char c : raw) {
    if (!k_plain[static_cast<unsigned char>(c)]) return false;
  }
  return !raw.empty() && raw != "." && raw != "..";
}

bool segment_ok(std::string_view raw, std::string_view decoded) {
  if (decoded.empty() || decoded == "." || decoded == "..") return false;
  if (!is_utf8(decoded)) return false;
  for (const char c : decoded) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '\\' || c == '/' || c == '%') return false;
  }
  // Raw bytes that must not stand in a request target at all.
  return raw.find_first_of("\"<>^`{|} #?") == std::string_view::npos;
}

/// The segments of a path, decoded.
class Segments {
public:
  /// Of what follows the first slash. False: not canonical.
  bool read(std::string_view path) {
    parts_.reserve(10); // what most paths have
    std::size_t offset = 0;
    for (;;) {
      const auto raw = path.substr(0, path.find('/'));
      const auto text = read_one(raw);
      if (!text) return false;
      parts_.push_back({*text, offset});
      offset += raw.size() + 1;
      if (raw.size() == path.size()) return true;
      path.remove_prefix(raw.size() + 1);
    }
  }
  std::size_t size() const { return parts_.size(); }
  bool empty() const { return parts_.empty(); }
  std::string_view operator[](std::size_t i) const { return parts_[i].text; }
  std::size_t offset(std::size_t i) const { return parts_[i].offset; } ///< of its slash

  std::string path() const {
    if (parts_.empty()) return "/";
    std::string out;
    out.reserve(parts_.back().offset + parts_.back().text.size() + 1);
    for (const auto& part : parts_) {
      out += '/';
      out += part.text;
    }
    return out;
  }

private:
  struct Part {
    std::string_view text; ///< of what was read, or of `decoded_`
    std::size_t offset;    ///< in what was read, and the slash before it
  };

  std::optional<std::string_view> read_one(std::string_view raw) {
    if (plain_segment(raw)) return raw;
    auto decoded = percent_decode(raw, false);
    if (!decoded || !segment_ok(raw, *decoded)) return std::nullopt;
    return decoded_.emplace_back(std::move(*decoded));
  }

  std::vector<Part> parts_;
  std::list<std::string> decoded_;
};

bool discovery_path(const Segments& parts) {
  if (parts.empty()) return true;
  if (parts[0] == "api") return parts.size() <= 2;
  if (parts[0] == "apis") return parts.size() <= 3;
  return parts.size() == 1 && parts[0] == "version"; // the Python client asks with a slash
}

std::string verb_of(std::string_view method) {
  struct Row {
    std::string_view method, verb;
  };
  static constexpr std::array k_rows = {
      Row{"GET", "get"},    Row{"HEAD", "get"},    Row{"POST", "create"},
      Row{"PUT", "update"}, Row{"PATCH", "patch"}, Row{"DELETE", "delete"},
  };
  for (const auto& row : k_rows) {
    if (row.method == method) return std::string(row.verb);
  }
  return "";
}

bool connect_subresource(const Target& target) {
  if (!target.group.empty()) return false;
  const auto& sub = target.subresource;
  if (target.resource == "pods")
    return sub == "exec" || sub == "attach" || sub == "portforward" || sub == "proxy";
  return sub == "proxy" && (target.resource == "services" || target.resource == "nodes");
}

tl::unexpected<Error> no_such(const Target& target, std::string_view resource,
                              std::string_view name) {
  return fail(Code::not_found, "{} {} not found", qualified_resource(target.group, resource),
              json_quote(name));
}

tl::unexpected<Error> refuse(const Target& target, std::string_view reason) {
  const auto resource = qualified_resource(target.group, target.resource);
  if (target.name.empty()) return fail(Code::forbidden, "{} is forbidden: {}", resource, reason);
  return fail(Code::forbidden, "{} {} is forbidden: {}", resource, json_quote(target.name), reason);
}

/// Is it a named volume whose name does not say whose it is?
bool named_as_provisioned(const Target& target, const Mapping& mapping) {
  return target.is("", "persistentvolumes") && target.named() &&
         mapping.volume_in(target.name) == target.name;
}

/// Would upstream delete more than what is the tenant's?
bool deletes_of_others(const Target& target, bool namespaced, const Mapping& mapping) {
  if (target.verb != "deletecollection") return false;
  if (target.is(k_rbac_group, "rolebindings")) return true;
  return !namespaced && !mapping.custom_group(target.group);
}

/// What no right of the tenant's opens: Code::not_found for what is hidden, forbidden for writes.
Result<void> check_treatment(const Target& target, bool namespaced, const KindFacts* facts,
                             const Mapping& mapping) {
  if (target.is("", "nodes") && target.subresource == "proxy")
    return refuse(
        target,
        "the kubelet's API reaches the pods of every tenant (rule nodes-proxy): use pods/log, "
        "pods/exec or pods/portforward");
  // What zood keeps itself is answered before anybody asks for a path.
  if (facts != nullptr &&
      (facts->treatment == Treatment::hidden || facts->treatment == Treatment::kept))
    return no_resource();
  const bool writes = target.writes() || target.connect;
  if (!writes) return {};
  if (facts == nullptr) {
    if (!namespaced && !builtin_group(target.group) && !mapping.custom_group(target.group))
      return refuse(
          target,
          "objects of this kind are the platform's and read-only (rule platform-kinds): ask "
          "the platform for the change");
    return {};
  }
  if (facts->treatment == Treatment::read_only || facts->treatment == Treatment::mixed)
    return refuse(
        target, "objects of this kind are the platform's and read-only (rule platform-kinds): ask "
                "the platform for the change");
  if (facts->treatment == Treatment::create_only && target.verb != "create") return not_allowed();
  if (facts->names == NameRule::cluster_role && system_role(target.name))
    return refuse(target,
                  "this ClusterRole is a copy that the platform provides (rule system-roles): make "
                  "one under another name");
  if (named_as_provisioned(target, mapping))
    return refuse(target, "it was provisioned for a claim and goes with that claim (rule "
                          "claimed-volumes): delete the claim");
  if (facts->overlay && !target.name.empty() && mapping.shared_class(*facts->overlay, target.name))
    return refuse(
        target,
        "it is shared by the platform and read-only (rule shared): make one under another name");
  if (facts->names == NameRule::crd && platforms_definition(mapping, target.name))
    return refuse(
        target,
        "it is shared by the platform and read-only (rule shared): make one under another name");
  return {};
}

/// The name in the path of a legacy watch is a selector of it (ListResource in
/// apiserver/pkg/endpoints/handlers/get.go).
Result<void> select_name(ListOptions& list, const std::string& name) {
  // What is no selector is refused by who translates it.
  const auto terms = parse_field_selector(list.field_selector);
  if (!terms) return {};
  if (terms->empty()) {
    list.field_selector = serialize_field_selector({{"metadata.name", true, name}});
    return {};
  }
  const bool same = std::any_of(terms->begin(), terms->end(), [&](const FieldTerm& term) {
    return term.equal && term.key == "metadata.name" && term.value == name;
  });
  if (!same)
    return fail(Code::bad_request, "fieldSelector metadata.name doesn't match requested name");
  return {};
}

void append_segment(std::string& path, std::string_view segment) {
  path += '/';
  append_percent_encoded(path, segment, k_path_keep);
}

} // namespace

std::string qualified_resource(std::string_view group, std::string_view resource) {
  std::string out(resource);
  if (!group.empty()) {
    out += '.';
    out += group;
  }
  return out;
}

bool Target::writes() const {
  switch (verb.size()) { // asked often
  case 5:
    return verb == "patch";
  case 6:
    return verb == "create" || verb == "update" || verb == "delete";
  default:
    return verb == "deletecollection";
  }
}

std::string Target::authorization_name() const {
  if (!name.empty() || (verb != "list" && verb != "watch")) return name;
  const auto terms = parse_field_selector(list.field_selector);
  if (!terms) return "";
  for (const auto& term : *terms) {
    if (term.equal && term.key == "metadata.name" && term.value != "." && term.value != ".." &&
        term.value.find_first_of("/%") == std::string::npos)
      return term.value;
  }
  return "";
}

Result<Target> parse_target(std::string_view method, std::string_view target) {
  Target out;
  const auto mark = target.find('?');
  auto path = target.substr(0, mark);
  const auto query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  if (path.size() > k_max_path || query.size() > k_max_query)
    return fail(Code::bad_request, "the URL is too long: a path has at most {} bytes, a query {}",
                k_max_path, k_max_query);
  if (path.empty() || path.front() != '/') return fail(Code::bad_request, "{}", k_bad_path);
  ZOO_TRY(out.params, parse_query(query));

  const auto raw_path = path;
  path.remove_prefix(1);
  bool trailing = false;
  if (!path.empty() && path.back() == '/') {
    trailing = true;
    path.remove_suffix(1);
  }
  Segments parts;
  if ((!path.empty() || trailing) && !parts.read(path))
    return fail(Code::bad_request, "{}", k_bad_path);
  out.path = parts.path();

  // A resource needs a version and at least one part behind it.
  std::size_t at = 0;
  const bool core = !parts.empty() && parts[0] == "api";
  const bool grouped = !parts.empty() && parts[0] == "apis";
  if ((!core || parts.size() < 3) && (!grouped || parts.size() < 4)) {
    if (trailing && !discovery_path(parts)) return fail(Code::bad_request, "{}", k_bad_path);
    out.verb = text::lower(method);
    return out;
  }
  out.resource_request = true;
  at = 1;
  if (grouped) out.group = parts[at++];
  out.version = parts[at++];
  if (grouped && out.group.find_first_of(":@ ") != std::string::npos)
    return fail(Code::bad_request, "{}", k_bad_path);
  out.verb = verb_of(method);

  if (parts[at] == "proxy") return fail(Code::not_found, "404 page not found");
  if (parts[at] == "watch") {
    if (at + 1 >= parts.size())
      return fail(Code::bad_request, "unable to determine kind and namespace from url");
    if (out.verb != "get") return not_allowed();
    out.legacy_watch = true;
    ++at;
    // Without the prefix, as zood asks upstream, such a resource would be one of the prefixes.
    if (parts[at] == "watch" || parts[at] == "proxy")
      return fail(Code::not_found, "404 page not found");
  }
  if (parts[at] == "namespaces" && at + 1 < parts.size()) {
    out.name_space = parts[at + 1];
    const bool object =
        at + 2 >= parts.size() || parts[at + 2] == "status" || parts[at + 2] == "finalize";
    if (!object) at += 2;
    out.nested = !object && core && parts[at] == "namespaces";
  }
  out.resource = parts[at];
  if (at + 1 < parts.size()) out.name = parts[at + 1];
  if (at + 2 < parts.size()) {
    // The legacy prefix has no subresources; the server would read them as something else.
    if (out.legacy_watch) return fail(Code::not_found, "404 page not found");
    out.subresource = parts[at + 2];
  }
  out.connect = connect_subresource(out);
  if (at + 3 < parts.size()) out.rest = std::string(raw_path.substr(parts.offset(at + 3)));
  if (trailing && out.rest.empty() && out.connect && out.subresource == "proxy") out.rest = "/";
  if (!out.rest.empty() && out.subresource != "proxy") return no_resource();

  // The API server has routes for GET only; what has a service of its own behind it may be asked.
  if (method == "HEAD" && !out.connect) return not_allowed();
  if (out.verb.empty() && !(out.connect && out.subresource == "proxy")) return not_allowed();
  if (out.legacy_watch) {
    out.verb = "watch";
  } else if (out.verb == "delete" && out.name.empty()) {
    out.verb = "deletecollection";
  }
  const bool listing = out.legacy_watch || out.verb == "deletecollection" ||
                       (out.verb == "get" && out.subresource.empty() && out.name.empty());
  if (listing) {
    ZOO_TRY(out.list, parse_list_options(out.params, out.legacy_watch));
    if (out.named()) ZOO_TRY_VOID(select_name(out.list, out.name));
    if (out.verb == "get") out.verb = out.list.watch ? "watch" : "list";
  } else if (out.verb == "get" && out.subresource.empty()) {
    // `?watch=1` on a named object: a get to authorization, and the server ignores it.
    remove_param(out.params, "watch");
  }
  const bool log = out.is("", "pods") && out.subresource == "log";
  out.long_running = out.verb == "watch" || log || out.connect;
  return out;
}

Result<std::string> upstream_path(const Target& target, bool namespaced, const Viewer& viewer) {
  const auto& mapping = viewer.mapping;
  const auto* facts = namespaced ? nullptr : find_facts(target.group, target.resource);
  if (viewer.fenced()) {
    ZOO_TRY_VOID(check_treatment(
        target, namespaced, facts ? facts : find_facts(target.group, target.resource), mapping));
    if (deletes_of_others(target, namespaced, mapping))
      return refuse(target, "a collection of this kind cannot be deleted as a whole");
  }
  if (namespaced && target.name_space.empty()) {
    if (target.writes()) return not_allowed();
    if (target.named()) return no_resource();
  }
  const auto max_namespace = mapping.identity() ? std::size_t{63} : k_max_namespace;
  const auto max_name = mapping.identity() ? std::size_t{253} : k_max_name;
  if (!target.in_place(namespaced)) return no_resource();
  // What is applied may be made: whether it may be called so is told with the body.
  const bool applied = target.is("", "namespaces") && target.verb == "patch";
  if (target.name_space.size() > max_namespace && !applied)
    return no_such(target.is("", "namespaces") ? target : Target{}, "namespaces",
                   target.name_space);
  if (target.group.size() > max_name) return no_resource();
  if (viewer.fenced() && target.named() &&
      hidden_object(target.group, target.resource, target.name)) {
    const bool shown = hidden_names(target.group, target.resource)->shown;
    if (!target.writes() && !shown) return no_such(target, target.resource, target.name);
    if (target.writes())
      return refuse(target,
                    "this name is reserved (rule reserved-names): the platform keeps it for an "
                    "object of its own, choose another name");
  }

  std::string path;
  path.reserve(target.path.size() + 64);
  if (target.group.empty()) {
    path = "/api";
  } else {
    path = "/apis";
    append_segment(path, mapping.group_in(target.group));
  }
  append_segment(path, target.version);
  if (facts != nullptr && facts->names == NameRule::cluster_role_binding && !mapping.identity()) {
    path += "/namespaces";
    append_segment(path, mapping.name_in("kube-system"));
    path += "/rolebindings";
  } else {
    if (namespaced && !target.name_space.empty()) {
      path += "/namespaces";
      append_segment(path, mapping.name_in(target.name_space));
    }
    append_segment(path, target.resource);
  }
  if (target.name.empty() || target.legacy_watch) return path;
  append_segment(path, namespaced ? target.name : object_name_in(mapping, facts, target.name));
  if (!target.subresource.empty()) append_segment(path, target.subresource);
  path += target.rest;
  return path;
}

} // namespace zoo::translate
