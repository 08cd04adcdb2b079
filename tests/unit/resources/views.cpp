// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/resources/views.hpp"

#include <doctest/doctest.h>

namespace zoo::resources::test {

using nlohmann::json;

namespace {

class Ended final : public Subscription {
public:
  explicit Ended(std::function<void()> end) : end_(std::move(end)) {}
  ~Ended() override { end_(); }

private:
  std::function<void()> end_;
};

Error none(const std::string& name) {
  return Error(Code::not_found, fmt::format("spaces.tenancy.example.io \"{}\" not found", name));
}

json with_version(json object, std::int64_t revision) {
  object["metadata"]["resourceVersion"] = std::to_string(revision);
  return object;
}

Kind row(const char* resource, const char* kind, std::shared_ptr<Backing> backing) {
  Kind out;
  out.group = "tenancy.example.io";
  out.version = "v1alpha1";
  out.resource = resource;
  out.kind = kind;
  out.singular = std::string(resource, std::string_view(resource).size() - 1);
  out.description = std::string(kind) + " is what a member of an account sees of it.";
  out.verbs = {Verb::get, Verb::list, Verb::watch};
  out.metadata = standard_metadata();
  using Type = Field::Type;
  const Field binding{"",
                      Type::object,
                      "Who has which role.",
                      {{"name", Type::text, "Of it."}, {"role", Type::text, "Which."}}};
  out.fields = {{"spec",
                 Type::object,
                 "What it should be.",
                 {{"account", Type::text, "To which it belongs."},
                  {"note", Type::text, "In words."},
                  {"bindings", Type::list, "Roles.", {binding}, "name"}}},
                {"status", Type::object, "What it is.", {{"phase", Type::text, "Active."}}}};
  out.columns = {{"Name", "name", 0, "Of the space.", cell_of("metadata.name")},
                 {"Owner", "", 0, "Its account.", cell_of("spec.account")},
                 {"Age", "", 0, "Since it was made.", age_of()},
                 {"Note", "", 1, "In words.", cell_of("spec.note")}};
  out.backing = std::move(backing);
  return out;
}

} // namespace

bool Spaces::sees(const std::string& user, const std::string& name) const {
  const auto found = rights_.find(user);
  return found != rights_.end() && found->second.contains(name);
}

std::set<std::string> Spaces::seers(const std::string& name) const {
  std::set<std::string> out;
  for (const auto& [user, names] : rights_)
    if (names.contains(name)) out.insert(user);
  return out;
}

void Spaces::tell(Change::Type type, json object, std::set<std::string> users) {
  Told told{std::move(users), {type, make_object(std::move(object)), revision_}};
  for (const auto& [number, watcher] : watchers_)
    if (told.users.contains(watcher.user)) watcher.on_change(told.change);
  told_.push_back(std::move(told));
}

Result<void> Spaces::admit(const Who& caller, Verb verb, const Key& key) {
  const bool reads = verb == Verb::get || verb == Verb::list || verb == Verb::watch;
  const auto& needed = verb == Verb::create ? creators_ : writers_;
  if (reads || needed.contains(caller.name)) return {};
  return fail(Code::forbidden, "user \"{}\" cannot {} space \"{}\"", caller.name, verb_name(verb),
              key.name);
}

Result<ObjectPtr> Spaces::get(const Who& caller, const Key& key) {
  const auto found = spaces_.find(key.name);
  if (found == spaces_.end() || !sees(caller.name, key.name)) return fail(none(key.name));
  return make_object(found->second);
}

Result<Page> Spaces::list(const Who& caller, std::string_view, const Key& after,
                          std::size_t limit) {
  Page page;
  page.revision = revision_;
  for (auto at = spaces_.upper_bound(after.name); at != spaces_.end(); ++at) {
    if (!sees(caller.name, at->first)) continue;
    if (page.items.size() == limit) {
      page.next = key_of(*page.items.back());
      break;
    }
    page.items.push_back(make_object(at->second));
  }
  return page;
}

Result<std::unique_ptr<Subscription>> Spaces::watch(const Who& caller, std::int64_t revision,
                                                    std::function<void(const Change&)> on_change) {
  if (revision < oldest_)
    return fail(Code::expired, "too old resource version: {} ({})", revision, oldest_);
  for (const auto& told : told_)
    if (told.change.revision > revision && told.users.contains(caller.name)) on_change(told.change);
  const int number = ++last_watcher_;
  watchers_[number] = {caller.name, std::move(on_change)};
  return std::make_unique<Ended>([this, number] { watchers_.erase(number); });
}

Result<Written> Spaces::create(const Who& caller, json object, const WriteOptions& options) {
  const auto name = key_of(object).name;
  if (spaces_.contains(name))
    return fail(Code::already_exists, "spaces.tenancy.example.io \"{}\" already exists", name);
  object["metadata"]["uid"] = "uid-" + name;
  object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z";
  object["status"]["phase"] = "Active";
  if (options.dry_run) return Written{make_object(object)};
  object = with_version(object, ++revision_);
  spaces_[name] = object;
  rights_[caller.name].insert(name);
  tell(Change::Type::added, object, seers(name));
  return Written{make_object(object), {"the space is being made"}};
}

Result<Written> Spaces::update(const Who&, json object, const WriteOptions& options) {
  if (auto hook = std::exchange(hook_, nullptr)) hook();
  const auto name = key_of(object).name;
  const auto found = spaces_.find(name);
  if (found == spaces_.end()) return fail(none(name));
  const auto version = text_at(object, "metadata.resourceVersion");
  if (!version.empty() && version != text_at(found->second, "metadata.resourceVersion"))
    return fail(Code::conflict, "the object has been modified");
  if (options.dry_run) return Written{make_object(object)};
  found->second = with_version(std::move(object), ++revision_);
  tell(Change::Type::modified, found->second, seers(name));
  return Written{make_object(found->second)};
}

Result<Written> Spaces::remove(const Who& caller, const Key& key, const Preconditions& expected,
                               const WriteOptions& options) {
  ZOO_TRY(const auto live, get(caller, key));
  if (!expected.uid.empty() && expected.uid != text_at(*live, "metadata.uid"))
    return fail(Code::conflict, "Precondition failed: UID in precondition: {}", expected.uid);
  if (!options.dry_run) erase(key.name);
  return Written{};
}

void Spaces::put(const std::string& name, const std::string& account,
                 std::map<std::string, std::string> labels) {
  const bool made = !spaces_.contains(name);
  spaces_[name] = {{"apiVersion", "tenancy.example.io/v1alpha1"},
                   {"kind", "Space"},
                   {"metadata",
                    {{"name", name},
                     {"uid", "uid-" + name},
                     {"creationTimestamp", "2026-01-01T00:00:00Z"},
                     {"labels", labels},
                     {"resourceVersion", std::to_string(++revision_)}}},
                   {"spec", {{"account", account}}},
                   {"status", {{"phase", "Active"}}}};
  tell(made ? Change::Type::added : Change::Type::modified, spaces_[name], seers(name));
}

void Spaces::erase(const std::string& name) {
  auto gone = spaces_.at(name);
  spaces_.erase(name);
  ++revision_;
  tell(Change::Type::deleted, with_version(gone, revision_), seers(name));
}

void Spaces::grant(const std::string& user, const std::string& name) {
  ++revision_;
  if (!rights_[user].insert(name).second || !spaces_.contains(name)) return;
  tell(Change::Type::added, spaces_[name], {user});
}

void Spaces::revoke(const std::string& user, const std::string& name) {
  ++revision_;
  if (rights_[user].erase(name) == 0 || !spaces_.contains(name)) return;
  tell(Change::Type::deleted, with_version(spaces_[name], revision_), {user});
}

std::vector<json> Watching::lines() {
  std::string text;
  if (!begun_ && feed_->plan().emit_initial)
    for (const auto& object : feed_->plan().initial)
      text += encoder_.initial(*object, 0);
  if (!begun_ && feed_->plan().mark_initial_end) text += encoder_.bookmark(true);
  begun_ = true;
  while (const auto change = feed_->take())
    text += encoder_.change(*change, 0);
  std::vector<json> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    out.push_back(json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

std::vector<std::string> Watching::told() {
  std::vector<std::string> out;
  for (const auto& line : lines()) {
    const auto& object = line["object"];
    out.push_back(line["type"].get<std::string>() + " " + text_at(object, "metadata.name") + "@" +
                  text_at(object, "metadata.resourceVersion"));
  }
  return out;
}

Views::Views() {
  auto space = row("spaces", "Space", spaces);
  space.verbs = {Verb::create, Verb::remove, Verb::get,  Verb::list,
                 Verb::patch,  Verb::update, Verb::watch};
  space.short_names = {"sp"};
  space.selectable = {"spec.account", "status.phase"};
  space.owners = space.strategic = true;
  space.strategy.defaults = [](const Who& caller, json& object, const json* before) {
    if (before == nullptr && text_at(object, "spec.account").empty())
      object["spec"]["account"] = caller.name + "s-account";
  };
  space.strategy.accept = [](const Who&, json object, const json* before,
                             std::vector<std::string>& warnings) -> Result<json> {
    if (text_at(object, "spec.account") == "nobodys")
      return fail(Code::invalid, "spec.account must be somebody's");
    if (before != nullptr && text_at(*before, "spec.account") != text_at(object, "spec.account"))
      warnings.emplace_back("the space changes its owner");
    return object;
  };
  auto account = row("accounts", "Account", spaces);
  auto instance = row("templateinstances", "TemplateInstance", spaces);
  instance.namespaced = true;
  auto core = row("namespaces", "Namespace", spaces);
  core.group = "";
  core.version = "v1";
  std::vector<KindPtr> kinds;
  for (auto* each : {&space, &account, &instance, &core})
    kinds.push_back(std::make_shared<const Kind>(std::move(*each)));
  api.emplace(Api::Parts{.kinds = std::move(kinds),
                         .name = "this API",
                         .title = "views",
                         .later = [](const std::function<void()>& job) { job(); },
                         .now = [] { return std::int64_t{1'767'225'600 + 3600}; }});
}

Answer Views::ask(const std::string& user, const std::string& method, const std::string& target,
                  const std::string& body, const Headers& headers) {
  http::RequestHead head;
  head.method = method;
  head.target = target;
  for (const auto& [name, value] : headers)
    head.headers.add(name, value);
  auto request = parse_request(head);
  REQUIRE(request);
  request->body = body;
  request->who.name = user;
  auto answer = api->handle(*request);
  REQUIRE(answer);
  return *std::move(answer);
}

Watching Views::watch(const std::string& user, const std::string& query) {
  auto answer = ask(user, "GET", k_spaces + "?watch=true" + query);
  REQUIRE(answer.watch);
  return Watching(answer.watch);
}

std::string Views::names(const std::string& user, const std::string& query) {
  const auto list = body_of(ask(user, "GET", k_spaces + "?" + query));
  std::string out;
  for (const auto& item : list["items"])
    out += (out.empty() ? "" : " ") + text_at(item, "metadata.name");
  next = text_at(list, "metadata.continue");
  return next.empty() ? out : out + " ...";
}

json body_of(const Answer& answer) {
  auto out = json::parse(answer.body, nullptr, false);
  CAPTURE(answer.body);
  REQUIRE_FALSE(out.is_discarded());
  return out;
}

} // namespace zoo::resources::test
