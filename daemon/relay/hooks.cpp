// SPDX-License-Identifier: Apache-2.0
#include "daemon/relay/hooks.hpp"

#include "common/base/make_room.hpp"
#include "daemon/access/passage.hpp"
#include "daemon/translate/query.hpp"

#include <fmt/format.h>

#include <utility>

namespace zoo::relay {
namespace {

constexpr std::size_t k_object = std::size_t{10} << 20; ///< beyond what etcd takes
constexpr std::chrono::seconds k_unheard{1};

} // namespace

std::string key_of(const translate::HookName& name) {
  return fmt::format("{}/{}/{}", translate::word_of(name.hook), name.object, name.webhook);
}

std::string path_of(const translate::HookName& name) {
  std::string out(translate::collection_of(name.hook));
  out += '/';
  translate::append_percent_encoded(out, name.object, "");
  return out;
}

void Hooks::find(const translate::Mapping& mapping, const translate::HookName& name, Done done) {
  const auto key = key_of(name);
  auto found = known_.find(key);
  if (found == known_.end()) {
    make_room(known_, key, limits_.hooks);
    found = known_.emplace(key, std::make_shared<Entry>(mapping, name)).first;
  }
  const auto entry = found->second;
  if (entry->hook && (hears_() || Clock::now() - entry->since < k_unheard))
    return done(entry->hook);
  entry->waiting.push_back(std::move(done));
  if (entry->waiting.size() == 1) ask(entry);
}

void Hooks::ask(const EntryPtr& entry) {
  asking_.insert(entry);
  entry->stale = false;
  entry->call = std::make_unique<upstream::BufferedCall>(
      caller_, upstream::get_head(path_of(entry->name), "application/json"),
      upstream::CallOptions{}, k_object,
      [this, weak = std::weak_ptr(entry)](Result<upstream::Answer> answer) {
        const auto asked = weak.lock();
        if (!answer)
          return settle(asked, fail(Error(answer.error()).context("while reading the webhook")));
        if (answer->head.status == 404)
          return settle(asked, fail(Code::not_found, "there is no such webhook any more"));
        if (!answer->ok())
          return settle(asked, fail(Code::unavailable,
                                    "the upstream answered {} to the question for the webhook",
                                    answer->head.status));
        settle(asked, read(*asked, answer->body));
      });
}

Result<HookPtr> Hooks::read(const Entry& entry, std::string_view stored) const {
  auto hook = std::make_shared<Hook>();
  ZOO_TRY(hook->target, reviews_.target(entry.mapping, entry.name, stored));
  const auto& target = hook->target;
  if (target.ca_pem.empty())
    return fail(Code::invalid,
                "its clientConfig has no caBundle: nobody can tell whether {} is the webhook",
                target.server);
  net::TlsClientOptions options;
  options.ca_pem = target.ca_pem;
  options.server_name = target.server;
  auto tls = net::TlsClientContext::create(options);
  if (!tls)
    return fail(Code::invalid, "the caBundle of its clientConfig cannot be used: {}",
                tls.error().message());
  hook->tls = *std::move(tls);
  hook->as = access::as_relay("zoo:" + entry.name.id);
  return hook;
}

void Hooks::settle(const EntryPtr& entry, Result<HookPtr> hook) {
  const auto kept = entry;
  asking_.erase(kept);
  kept->hook = hook && !kept->stale ? *hook : nullptr;
  kept->since = Clock::now();
  const auto waiting = std::exchange(kept->waiting, {});
  for (const auto& done : waiting)
    done(hook);
}

void Hooks::changed(std::string_view object) {
  for (const auto& [key, entry] : known_) {
    if (entry->name.object != object) continue;
    entry->hook = nullptr;
    entry->stale = true;
  }
}

void Hooks::doubt(const translate::HookName& name) {
  const auto found = known_.find(key_of(name));
  if (found != known_.end() && Clock::now() - found->second->since >= limits_.doubted)
    found->second->hook = nullptr;
}

void Hooks::all_changed() {
  for (const auto& [key, entry] : known_) {
    entry->hook = nullptr;
    entry->stale = true;
  }
}

} // namespace zoo::relay
