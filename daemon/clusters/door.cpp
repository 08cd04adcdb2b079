// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/door.hpp"

#include "common/base/log.hpp"
#include "daemon/clusters/plan.hpp"

#include <algorithm>
#include <utility>

namespace zoo::clusters {

using State = DoorEntry::State;

/// What a connection holds while it is there.
class Door::Ticket {
public:
  Ticket(Door& door, std::shared_ptr<Share> share, std::uint64_t number, std::string id)
      : door_(door), share_(std::move(share)), number_(number), id_(std::move(id)) {}
  ~Ticket() {
    share_->guests.erase(number_);
    if (!id_.empty()) door_.leave(id_);
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

private:
  Door& door_;
  std::shared_ptr<Share> share_;
  std::uint64_t number_;
  std::string id_; ///< "": it was not counted
};

Door::Door(Parts parts) : parts_(std::move(parts)), ending_("." + parts_.domain) {
  for (auto* loop : parts_.loops)
    shares_.emplace(loop, std::make_shared<Share>());
}

bool Door::claims(std::string_view server_name) const { return server_name.ends_with(ending_); }

bool Door::enter(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  auto& count = traffic_[id].count;
  if (count.open >= parts_.connections) {
    ++count.refused;
    return false;
  }
  ++count.open;
  ++count.accepted;
  return true;
}

void Door::leave(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  auto& traffic = traffic_[id];
  --traffic.count.open;
  traffic.last = Clock::now();
}

std::shared_ptr<void> Door::admit(net::Loop& loop, std::string_view server_name,
                                  std::function<void(const Decision&)> decide) {
  const auto share = shares_.at(&loop);
  std::string id(server_name.substr(0, server_name.size() - ending_.size()));
  const auto table = parts_.table.load();
  const auto* entry = table->find(id);
  // Counted before the table is read once more, in look(): a controller that puts the cluster to
  // sleep writes the table first and counts then, so that one of both sees the other.
  const bool counted = entry != nullptr && enter(id);
  const auto number = share->next++;
  share->guests.emplace(number, Guest{counted ? id : std::string(),
                                      counted ? entry->uid : std::string(), std::move(decide)});
  auto ticket = std::make_shared<Ticket>(*this, share, number, counted ? std::move(id) : "");
  loop.post([this, share, number, weak = std::weak_ptr(ticket)] {
    if (const auto alive = weak.lock()) look(*share, number);
  });
  return ticket;
}

void Door::look(Share& share, std::uint64_t number) {
  const auto found = share.guests.find(number);
  if (found == share.guests.end()) return;
  auto& guest = found->second;
  const auto table = parts_.table.load();
  const auto* entry = table->find(guest.id);
  // By its decision the guest may go, with all that stands here.
  const auto decide = guest.decide;
  if (entry == nullptr || entry->uid != guest.uid || entry->state == State::closed)
    return decide({});
  if (guest.passed) return; // a process that ends closes its connections itself
  if (entry->state == State::open) {
    guest.passed = true;
    return decide({true, entry->address, k_api_port});
  }
  if (entry->state == State::asleep) parts_.wake(entry->key);
}

void Door::changed() {
  {
    const auto table = parts_.table.load();
    const std::scoped_lock lock(mutex_);
    std::erase_if(traffic_, [&table](const auto& each) {
      return each.second.count.open == 0 && table->find(each.first) == nullptr;
    });
  }
  for (const auto& [loop, share] : shares_)
    loop->post([this, share = share] {
      std::vector<std::uint64_t> all;
      all.reserve(share->guests.size());
      for (const auto& [number, guest] : share->guests)
        all.push_back(number);
      for (const auto number : all)
        look(*share, number);
    });
}

std::optional<std::chrono::milliseconds> Door::idle(const std::string& id) const {
  const std::scoped_lock lock(mutex_);
  const auto& traffic = traffic_[id]; // of one that nobody has asked for, time begins now
  if (traffic.count.open > 0) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - traffic.last);
}

std::map<std::string, Door::Count> Door::counts() const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, Count> out;
  for (const auto& [id, traffic] : traffic_)
    out.emplace(id, traffic.count);
  return out;
}

void DirectDoors::follow(const DoorTable& table, const std::shared_ptr<Door>& door) {
  std::map<std::string, const DoorEntry*> wanted;
  for (const auto& [id, entry] : table.clusters)
    if (entry.port != 0 && entry.state != State::closed) wanted.emplace(entry.uid, &entry);
  std::erase_if(open_, [&](const auto& each) {
    const auto found = wanted.find(each.first);
    if (found != wanted.end() && found->second->port == each.second.port) return false;
    closed_ += each.second.listener->passed();
    return true;
  });
  for (const auto& [uid, entry] : wanted) {
    if (open_.contains(uid)) continue;
    const bool six = host_.find(':') != std::string::npos;
    const auto address =
        fmt::format("{}{}{}:{}", six ? "[" : "", host_, six ? "]" : "", entry->port);
    auto listener = net::Listener::passage(loops_, address, limits_, door,
                                           fmt::format("{}.{}", entry->id, domain_));
    if (!listener) {
      log::warning("clusters", "{}: its direct port: {}", entry->key, listener.error().text());
      continue;
    }
    open_[uid] = {entry->port, entry->id, *std::move(listener)};
  }
}

void DirectDoors::close() {
  for (const auto& [uid, each] : open_)
    closed_ += each.listener->passed();
  open_.clear();
}

net::Listener::Passed DirectDoors::passed() const {
  auto out = closed_;
  for (const auto& [uid, each] : open_)
    out += each.listener->passed();
  return out;
}

} // namespace zoo::clusters
