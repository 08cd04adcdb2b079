// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/group.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/keeper/port_owner.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <set>
#include <system_error>
#include <tuple>

namespace zoo::keeper {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using Phase = ComponentState::Phase;

/// Does something accept connections there? An address of loopback says so nearly at once.
bool accepts(const std::string& address, std::uint16_t port) {
  constexpr int k_patience = 20; // milliseconds
  const file::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (!socket || ::inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) return false;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd asked{socket.get(), POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof(error);
  return ::poll(&asked, 1, k_patience) == 1 &&
         ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

/// Is what listens there of the process's user? Any user of this machine may listen at the
/// addresses of control planes, and would be taken for their programs. Where the kernel does not
/// say it is.
bool is_listener(pid_t process, const std::string& address, std::uint16_t port) {
  const auto owner = port_owner(address, port);
  const auto user = user_of(process);
  return !owner || !user || owner->user == *user;
}

/// The last bytes of a file of that size, `most` at most, as another one, which is the keeper's
/// alone.
std::error_code copy_end(const std::filesystem::path& from, const std::filesystem::path& to,
                         std::uint64_t size, std::uint64_t most) {
  const auto failure = [] { return std::error_code(errno, std::generic_category()); };
  const file::Fd in(::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!in) return failure();
  const file::Fd out(
      ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) return failure();
  auto left = std::min(size, most);
  auto at = static_cast<off_t>(size - left);
  while (left > 0) {
    const auto sent = ::sendfile(out.get(), in.get(), &at, left);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return failure();
    if (sent == 0) break; // it has become shorter meanwhile
    left -= static_cast<std::uint64_t>(sent);
  }
  return {};
}

} // namespace

Group::Group(std::filesystem::path directory, std::filesystem::path binaries, Patience patience,
             Cgroups& cgroups, const Users& users)
    : directory_(std::move(directory)), binaries_(std::move(binaries)), patience_(patience),
      cgroups_(cgroups), users_(users), user_(users.owner()) {}

void Group::bound() { cgroups_.limit(plan_.id, plan_.limits); }

void Group::enter() {
  cgroups_.make(plan_.id);
  for (const auto& member : members_)
    if (member.process) cgroups_.enter(plan_.id, member.process->identity().pid);
}

Result<void> Group::load() {
  const auto own = directory_ / "keeper";
  ZOO_TRY(const auto plan_text, file::read(own / "plan.json"));
  const auto value = json::parse(plan_text, nullptr, false);
  ZOO_TRY(plan_, plan_of(value));
  if (directory_.filename() != plan_.id)
    return fail(Code::invalid, "the plan in {} is of another cluster", own.string());
  for (const auto& component : plan_.components)
    members_.emplace_back(component);
  const auto state_text = file::read(own / "state.json");
  const auto state = state_text ? json::parse(*state_text, nullptr, false) : json::object();
  // A keeper that knew of no users has said nothing: they are those of zood's.
  if (state.is_object()) user_ = {state.value("user", user_.uid), state.value("group", user_.gid)};
  const auto now = Clock::now();
  for (const auto& each : kube::list_at(state, "/processes")) {
    const auto name = kube::text_at(each, "/name");
    auto found = std::find_if(members_.begin(), members_.end(),
                              [&name](const auto& m) { return m.component.name == name; });
    const auto component = component_of(each.value("component", json()));
    if (!component || component->name != name) continue;
    auto process =
        Process::adopt({each.value("pid", pid_t{0}), each.value("started", std::uint64_t{0}),
                        each.value("device", dev_t{0}), each.value("inode", ino_t{0})});
    if (found == members_.end()) { // it is in the plan no more: it only has to end
      if (!process) continue;
      members_.emplace_back(*component);
      found = members_.end() - 1;
    }
    found->restarts = each.value("restarts", std::uint64_t{0});
    found->since = each.value("since", std::int64_t{0});
    found->ended = each.value("ended", std::string());
    if (!process) continue;
    log::info("keeper", "{}: {} still runs as process {}", plan_.id, name, process->identity().pid);
    found->process = std::move(process);
    found->running = Started{*component, each.value("version", std::string())};
    found->started = now;
  }
  return {};
}

Result<void> Group::save_plan() {
  ZOO_TRY_VOID(file::ensure_private_directory(directory_ / "keeper"));
  return file::write(directory_ / "keeper" / "plan.json", to_json(plan_).dump(), 0600);
}

Result<void> Group::save_state(const Member* starting, const Identity* identity) {
  json processes = json::array();
  for (const auto& member : members_) {
    const auto* who = &member == starting ? identity
                      : member.process    ? &member.process->identity()
                                          : nullptr;
    const auto as = member.running && &member != starting
                        ? *member.running
                        : Started{member.component, plan_.version};
    json entry = {{"name", member.component.name}, {"component", to_json(as.component)},
                  {"version", as.version},         {"restarts", member.restarts},
                  {"since", member.since},         {"ended", member.ended}};
    if (who != nullptr) {
      entry["pid"] = who->pid;
      entry["started"] = who->started;
      entry["device"] = who->device;
      entry["inode"] = who->inode;
    }
    processes.push_back(std::move(entry));
  }
  ZOO_TRY_VOID(file::ensure_private_directory(directory_ / "keeper"));
  const json state = {
      {"processes", std::move(processes)}, {"user", user_.uid}, {"group", user_.gid}};
  return file::write(directory_ / "keeper" / "state.json", kube::text_of(state), 0600);
}

Result<void> Group::put(Plan plan) {
  auto before = std::exchange(plan_, std::move(plan));
  if (auto saved = save_plan(); !saved) {
    plan_ = std::move(before);
    return saved;
  }
  std::vector<Member> next;
  for (const auto& component : plan_.components) {
    const auto found =
        std::find_if(members_.begin(), members_.end(), [&component](const auto& member) {
          return member.component.name == component.name;
        });
    if (found == members_.end()) {
      next.emplace_back(component);
      continue;
    }
    if (found->component != component) { // it deserves a try at once
      found->backoff = milliseconds(0);
      found->failures = 0;
      found->next = {};
    }
    found->component = component;
    next.push_back(std::move(*found));
    members_.erase(found);
  }
  for (auto& member : members_)
    if (member.process) next.push_back(std::move(member));
  members_ = std::move(next);
  if (plan_.limits != before.limits || before.id.empty()) cgroups_.limit(plan_.id, plan_.limits);
  return {};
}

Result<void> Group::wish(bool run) {
  if (plan_.run == run) return {};
  plan_.run = run;
  for (auto& member : members_) {
    member.backoff = milliseconds(0);
    member.failures = 0;
    member.next = {};
  }
  auto saved = save_plan();
  if (!saved) plan_.run = !run;
  return saved;
}

void Group::forget() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_ / "keeper", ignored);
  cgroups_.remove(plan_.id);
  members_.clear();
}

bool Group::wanted(const Member& member) const {
  if (removing_ || !plan_.run) return false;
  return std::any_of(plan_.components.begin(), plan_.components.end(),
                     [&member](const auto& each) { return each.name == member.component.name; });
}

/// In reverse order: nothing of what comes after it runs any more. One that is only started anew
/// does not wait.
bool Group::may_end(const Member& member) const {
  if (wanted(member)) return true;
  for (const auto& other : members_) {
    const auto& after = other.component.after;
    if (other.process &&
        std::find(after.begin(), after.end(), member.component.name) != after.end())
      return false;
  }
  return true;
}

void Group::end(Member& member, Clock::time_point now) {
  if (!member.told_to_end) {
    member.told_to_end = now;
    member.process->terminate();
  } else if (!member.killed && now - *member.told_to_end >= patience_.grace) {
    log::warning("keeper", "{}: {} did not end by itself and is killed", plan_.id,
                 member.component.name);
    member.killed = true;
    member.process->kill_group();
  }
}

bool Group::is_ready(const std::string& name) const {
  return std::any_of(members_.begin(), members_.end(), [&name](const auto& member) {
    return member.component.name == name && member.process && member.ready;
  });
}

void Group::note_end(Member& member, const std::string& how, Clock::time_point now) {
  const bool told = member.told_to_end.has_value();
  member.process.reset();
  member.running.reset();
  member.told_to_end.reset();
  member.ready = member.killed = false;
  if (told) {
    member.next = now;
  } else {
    ++member.restarts;
    member.ended = how;
    if (now - member.started >= patience_.healthy) {
      member.backoff = milliseconds(0);
      member.failures = 0;
    }
    ++member.failures;
    member.backoff = member.backoff.count() == 0 ? patience_.retry
                                                 : std::min(member.backoff * 2, patience_.most);
    member.next = now + member.backoff;
    log::warning("keeper", "{}: {} has ended ({}); next try in {} ms", plan_.id,
                 member.component.name, how, member.backoff.count());
  }
  if (const auto saved = save_state(); !saved)
    log::error("keeper", "{}: {}", plan_.id, saved.error().text());
}

bool Group::of_former_user() const {
  if (!begun()) return false;
  const auto now = users_.user_of(plan_);
  return now && !(*now == user_);
}

/// Its files are one user's: while any of it runs it stays that one.
Result<void> Group::choose_user() {
  if (!begun()) {
    ZOO_TRY(const auto now, users_.user_of(plan_));
    ZOO_TRY_VOID(users_.owns_no_other(now, plan_.id));
    user_ = now;
  }
  if (users_.choice() || user_ == users_.owner()) return {};
  return fail(Code::io, "it runs as user {}, and only a keeper that is root can start more of it",
              user_.uid);
}

/// It may read what is its cluster's, write where its plan says, and open nothing of others.
Result<Fence> Group::fence_of(const Component& component) const {
  FenceWish wish;
  wish.reads = {directory_};
  wish.runs = {binaries_ / plan_.version};
  for (const auto& name : component.writes) {
    ZOO_TRY_VOID(file::ensure_private_directory(directory_ / name));
    wish.writes.push_back(directory_ / name);
  }
  return Fence::around(wish);
}

void Group::start(Member& member, Clock::time_point now) {
  Process::Options options;
  options.program = binaries_ / plan_.version / member.component.name;
  options.arguments = {member.component.name};
  options.arguments.insert(options.arguments.end(), member.component.arguments.begin(),
                           member.component.arguments.end());
  options.environment = {"PATH=/usr/bin:/bin", "HOME=" + directory_.string()};
  options.environment.insert(options.environment.end(), member.component.environment.begin(),
                             member.component.environment.end());
  options.directory = directory_;
  options.log = directory_ / "log" / (member.component.name + ".log");
  member.started = now;
  member.since = std::time(nullptr);
  auto made = file::ensure_private_directory(directory_ / "log");
  if (made) made = choose_user();
  const auto fence = fence_of(member.component);
  if (fence) options.fence = fence->descriptor();
  if (made && fence) made = users_.hand_over(plan_, member.component, user_);
  if (users_.choice() && user_.uid != 0) options.user = user_;
  if (!(user_ == users_.owner()))
    for (auto* texts : {&options.arguments, &options.environment})
      for (auto& text : *texts)
        text = from_here(std::move(text), directory_);
  const auto recorded = [&](const Identity& identity) {
    cgroups_.enter(plan_.id, identity.pid);
    return save_state(&member, &identity);
  };
  if (made && !fence) made = fail(fence.error());
  auto process = made ? Process::start(options, recorded) : Result<Process>(fail(made.error()));
  if (!process) {
    ++member.restarts;
    ++member.failures;
    member.ended = process.error().text();
    member.backoff = member.backoff.count() == 0 ? patience_.retry
                                                 : std::min(member.backoff * 2, patience_.most);
    member.next = now + member.backoff;
    log::error("keeper", "{}: {}", plan_.id, member.ended);
    return;
  }
  member.process = *std::move(process);
  member.running = Started{member.component, plan_.version};
  log::info("keeper", "{}: {} runs as process {}", plan_.id, member.component.name,
            member.process->identity().pid);
}

std::optional<Group::Clock::time_point> Group::turn(Clock::time_point now, bool may_start) {
  std::optional<Clock::time_point> again;
  const auto sooner = [&again](Clock::time_point at) {
    if (!again || at < *again) again = at;
  };
  for (auto& member : members_) {
    if (!member.process) continue;
    if (const auto how = member.process->ended()) note_end(member, *how, now);
  }
  std::erase_if(members_, [this](const Member& member) {
    return !member.process &&
           std::none_of(plan_.components.begin(), plan_.components.end(),
                        [&](const auto& each) { return each.name == member.component.name; });
  });
  for (auto& member : members_) {
    const bool wish = wanted(member);
    if (member.process) {
      const bool as_wished = wish && member.running == Started{member.component, plan_.version};
      if (!as_wished || member.told_to_end) {
        if (may_end(member)) end(member, now);
        if (member.told_to_end && !member.killed) sooner(*member.told_to_end + patience_.grace);
        continue;
      }
      const auto& [address, port] = std::tie(member.component.address, member.component.port);
      if (!member.ready)
        member.ready =
            accepts(address, port) && is_listener(member.process->identity().pid, address, port);
      if (!member.ready) sooner(now + patience_.look);
      continue;
    }
    if (!wish) continue;
    const auto& after = member.component.after;
    if (!std::all_of(after.begin(), after.end(), [this](const auto& n) { return is_ready(n); }))
      continue; // told by the turn in which that one is ready
    if (now < member.next) {
      sooner(member.next);
    } else if (may_start) {
      start(member, now);
      sooner(now + patience_.look);
    } else {
      sooner(now + patience_.look);
    }
  }
  return again;
}

bool Group::begun() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const auto& member) { return member.process.has_value(); });
}

bool Group::starting() const {
  const auto now = Clock::now();
  return plan_.run && !removing_ &&
         std::any_of(members_.begin(), members_.end(), [&](const auto& member) {
           // One that does not come up in that time holds nobody up.
           return member.process && !member.ready &&
                  now - member.started < std::chrono::seconds(20);
         });
}

PlanState Group::state() const {
  PlanState out{plan_.id, plan_.version, plan_.run && !removing_, {}};
  for (const auto& member : members_) {
    ComponentState each;
    each.name = member.component.name;
    each.pid = member.process ? member.process->identity().pid : 0;
    each.phase = member.process ? (member.told_to_end ? Phase::stopping
                                   : member.ready     ? Phase::running
                                                      : Phase::starting)
                                : (wanted(member) ? Phase::waiting : Phase::stopped);
    each.restarts = member.restarts;
    each.failures = member.failures;
    each.since = member.since;
    each.ended = member.ended;
    out.components.push_back(std::move(each));
  }
  return out;
}

std::vector<int> Group::descriptors() const {
  std::vector<int> out;
  for (const auto& member : members_)
    if (member.process) out.push_back(member.process->descriptor());
  return out;
}

bool Group::changed() {
  auto now = state();
  if (now.run == told_.run && now.version == told_.version && now.components == told_.components)
    return false;
  told_ = std::move(now);
  return true;
}

/// The programs write at the end of their open file, so that it is copied and emptied: a pipe to
/// the keeper would end them with it. Of one that has grown beyond its bound since the last look
/// its end is kept.
void Group::rotate_logs() {
  for (const auto& member : members_) {
    const auto log = directory_ / "log" / (member.component.name + ".log");
    std::error_code error;
    const auto size = std::filesystem::file_size(log, error);
    if (error || size < patience_.log_bytes) continue;
    const auto aside = [&log](unsigned number) {
      return std::filesystem::path(fmt::format("{}.{}", log.string(), number));
    };
    for (unsigned number = patience_.logs - 1; number > 1; --number)
      std::filesystem::rename(aside(number - 1), aside(number), error);
    error = copy_end(log, aside(1), size, patience_.log_bytes);
    if (!error) std::filesystem::resize_file(log, 0, error);
    if (error) log::warning("keeper", "cannot put {} aside: {}", log.string(), error.message());
  }
}

} // namespace zoo::keeper
