// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/keeper.hpp"

#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "daemon/keeper/system_text.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace zoo::keeper {
namespace {

constexpr std::chrono::seconds k_log_look{5};
constexpr std::chrono::milliseconds k_cgroup_look{200}; ///< while something in one still ends
constexpr int k_client_look = 100;                      ///< milliseconds, while one is to be closed

Result<file::Fd> lock(const std::filesystem::path& path) {
  file::Fd out(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) return fail(Code::io, "cannot open {}: {}", path.string(), reason(errno));
  if (::flock(out.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Code::io, "another keeper has {}: there is one a directory", path.string());
  const auto text = fmt::format("{}\n", ::getpid());
  if (::ftruncate(out.get(), 0) != 0 ||
      ::pwrite(out.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return fail(Code::io, "cannot write {}: {}", path.string(), reason(errno));
  return out;
}

/// Under the lock: a socket file that is there is of a keeper that was killed.
Result<file::Fd> listen_at(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof(address.sun_path))
    return fail(Code::io, "cannot listen on {}: a socket's path has at most {} characters",
                path.string(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  ::unlink(path.c_str());
  file::Fd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // The file has the socket's mode (unix(7)).
  if (!out || ::fchmod(out.get(), 0600) != 0 ||
      ::bind(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(out.get(), 64) != 0)
    return fail(Code::io, "cannot listen on {}: {}", path.string(), reason(errno));
  return out;
}

/// MemAvailable of /proc/meminfo, in bytes; 0 if it cannot be read.
std::int64_t available_memory() {
  std::ifstream in("/proc/meminfo");
  std::string word;
  std::int64_t value = 0;
  while (in >> word)
    if (word == "MemAvailable:" && in >> value) return value * 1024;
  return 0;
}

/// zood wishes a control plane back as soon as one of its processes has ended: what is to end
/// would be started again, and never be over.
Reply refusal_at_end() {
  return {Error(Code::unavailable, "the keeper of control planes ends, with all that it has "
                                   "started: the next one takes the plan"),
          {}};
}

} // namespace

Result<std::unique_ptr<Keeper>> Keeper::open(KeeperOptions options) {
  std::unique_ptr<Keeper> out(new Keeper(std::move(options)));
  ZOO_TRY(out->users_, Users::open(out->options_.directory, out->options_.uid_base));
  if (const auto trouble = out->users_.trouble(); !trouble.empty())
    log::warning("keeper", "control planes have no users of their own: {}", trouble);
  ZOO_TRY(out->lock_, lock(out->options_.directory / "keeper.lock"));
  if (!out->options_.cgroup.empty()) out->cgroups_ = Cgroups(out->options_.cgroup);
  out->adopt_all();
  ZOO_TRY(out->listening_, listen_at(out->options_.directory / "keeper.sock"));
  return out;
}

Keeper::~Keeper() {
  if (listening_) ::unlink((options_.directory / "keeper.sock").c_str());
}

void Keeper::adopt_all() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options_.directory, error)) {
    const auto id = entry.path().filename().string();
    if (!is_id(id)) continue;
    auto group = std::make_unique<Group>(entry.path(), options_.binaries, options_.patience,
                                         cgroups_, users_);
    const auto loaded = group->load();
    if (loaded) {
      groups_.emplace(id, std::move(group));
    } else if (loaded.error().code() != Code::not_found) {
      log::error("keeper", "{}: {}", id, loaded.error().text());
    }
  }
  // Twice: no process may be beside the cgroups to which controllers are handed on, and there are
  // no bounds before they are.
  for (auto& [id, group] : groups_)
    group->enter();
  cgroups_.hand_on();
  for (auto& [id, group] : groups_)
    group->bound();
  clear_cgroups();
}

/// A plan that cannot be read is none of them.
void Keeper::clear_cgroups() {
  std::error_code error;
  for (const auto& id : cgroups_.present()) {
    if (groups_.contains(id) || std::filesystem::exists(options_.directory / id / "keeper", error))
      continue;
    log::info("keeper", "{}: its cgroup is left of a plan that is gone", id);
    cgroups_.remove(id);
  }
}

void Keeper::accept() {
  for (;;) {
    file::Fd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    ucred who{};
    socklen_t size = sizeof(who);
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 ||
        (who.uid != ::geteuid() && who.uid != users_.owner().uid) ||
        clients_.size() >= k_most_connections)
      continue; // closes it
    const int number = socket.get();
    auto client = std::make_unique<Client>();
    client->socket = std::move(socket);
    clients_[number] = std::move(client);
  }
}

Reply Keeper::put(const Plan& plan) {
  if (ending_) return refusal_at_end();
  auto& group = groups_[plan.id];
  if (group && group->removing())
    return {Error(Code::invalid, fmt::format("{} is being removed", plan.id)), {}};
  const bool fresh = !group;
  if (group && group->plan() == plan) return {std::nullopt, {group->state()}};
  if (fresh) {
    const auto directory = options_.directory / plan.id;
    group =
        std::make_unique<Group>(directory, options_.binaries, options_.patience, cgroups_, users_);
  }
  if (auto done = group->put(plan); !done) {
    Reply out{std::move(done).error(), {}};
    if (fresh) groups_.erase(plan.id);
    return out;
  }
  return {std::nullopt, {group->state()}};
}

Reply Keeper::facts() const {
  Reply out;
  out.available = available_memory();
  out.soft = cgroups_.soft();
  out.unfenced = fence_trouble();
  out.uid_base = users_.base();
  out.users = users_.trouble();
  if (!out.users.empty()) return out;
  std::vector<std::string> former;
  for (const auto& [id, group] : groups_)
    if (group->of_former_user()) former.push_back(id);
  if (!former.empty())
    out.users = fmt::format("{} as another user than they would start as now, until they are "
                            "paused and resumed: {}",
                            former.size() == 1 ? "one runs" : fmt::format("{} run", former.size()),
                            fmt::join(former.begin(),
                                      former.begin() + static_cast<std::ptrdiff_t>(
                                                           std::min<std::size_t>(former.size(), 5)),
                                      ", "));
  return out;
}

Reply Keeper::forgotten(const std::string& id) const {
  if (auto done = users_.give_back(id); !done) return {std::move(done).error(), {}};
  return {std::nullopt, {}, true};
}

Reply Keeper::answer(const Request& request, Client& client) {
  using Verb = Request::Verb;
  if (request.verb == Verb::put) return put(request.plan);
  if (request.verb == Verb::watch) {
    client.watches = true;
    for (const auto& [id, group] : groups_)
      client.out += text_of(Reply{std::nullopt, {group->state()}});
    return {};
  }
  if (request.verb == Verb::memory) return facts();
  const auto found = groups_.find(request.id);
  if (found == groups_.end()) {
    if (request.verb == Verb::remove) return forgotten(request.id);
    return {Error(Code::not_found, fmt::format("there is no plan of {}", request.id)), {}};
  }
  Reply out;
  if (request.verb == Verb::run) {
    if (ending_ && request.wish) return refusal_at_end();
    if (auto done = found->second->wish(request.wish); !done) out.error = std::move(done).error();
  }
  if (request.verb == Verb::remove) found->second->remove();
  out.states.push_back(found->second->state());
  return out;
}

void Keeper::serve(Client& client, short events) {
  if ((events & (POLLERR | POLLNVAL)) != 0) {
    client.over = true;
    client.out.clear();
    return;
  }
  if ((events & (POLLIN | POLLHUP)) != 0 && !client.over) {
    char bytes[16 * 1024];
    const auto size = ::recv(client.socket.get(), bytes, sizeof(bytes), 0);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) client.over = true;
    if (size > 0 && !client.lines.add({bytes, static_cast<std::size_t>(size)})) {
      client.out += text_of(Reply{Error(Code::invalid, "the line is too long"), {}});
      client.over = true;
    }
    while (!client.over) {
      const auto line = client.lines.next();
      if (!line) break;
      const auto request = request_of(*line);
      client.out += text_of(request ? answer(*request, client) : Reply{request.error(), {}});
      client.cut_if_much();
    }
  }
  while (!client.out.empty()) {
    const auto size =
        ::send(client.socket.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
    if (size < 0) {
      if (errno != EAGAIN && errno != EINTR) {
        client.over = true;
        client.out.clear();
      }
      break;
    }
    client.out.erase(0, static_cast<std::size_t>(size));
  }
}

int Keeper::turn() {
  const auto now = Group::Clock::now();
  std::optional<Group::Clock::time_point> again = now + k_log_look;
  auto starting = static_cast<std::size_t>(std::count_if(
      groups_.begin(), groups_.end(), [](const auto& each) { return each.second->starting(); }));
  for (auto each = groups_.begin(); each != groups_.end();) {
    auto& group = *each->second;
    const bool before = group.starting();
    // One that has begun goes on: what was started for it waits for the rest.
    const bool may_start = group.begun() || starting < options_.starts;
    // Two turns at once where the first has made something ready that the next one waits for.
    for (int times = 0; times < 2; ++times) {
      const auto next = group.turn(now, may_start);
      if (next) again = std::min(*again, *next);
    }
    if (!before && group.starting()) ++starting;
    const bool over = group.removing() && group.gone();
    if (group.changed() || over) {
      Reply event;
      event.states.push_back(group.state());
      event.removed = over;
      const auto text = text_of(event);
      for (auto& [number, client] : clients_) {
        if (!client->watches || client->over) continue;
        client->out += text;
        client->cut_if_much();
      }
    }
    if (over) {
      group.forget();
      each = groups_.erase(each);
    } else {
      ++each;
    }
  }
  if (cgroups_.clear()) again = std::min(*again, now + k_cgroup_look);
  if (now - logs_looked_ > k_log_look) {
    logs_looked_ = now;
    for (auto& [id, group] : groups_)
      group->rotate_logs();
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*again - Group::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 1, 30'000));
}

bool Keeper::close_clients() {
  const auto now = Group::Clock::now();
  bool left = false;
  std::erase_if(clients_, [&](auto& each) {
    auto& client = *each.second;
    if (!client.over) return false;
    if (!client.until) client.until = now + options_.last_words;
    if (client.out.empty() || now >= *client.until) return true;
    left = true;
    return false;
  });
  return left;
}

void Keeper::end_all() {
  ending_ = true;
  for (auto& [id, group] : groups_)
    if (const auto done = group->wish(false); !done)
      log::error("keeper", "{}: {}", id, done.error().text());
}

void Keeper::run(int signals) {
  for (;;) {
    auto timeout = turn();
    if (close_clients()) timeout = std::min(timeout, k_client_look);
    if (ending_ && std::all_of(groups_.begin(), groups_.end(),
                               [](const auto& each) { return each.second->gone(); }))
      return;
    std::vector<pollfd> asked{{signals, POLLIN, 0}, {listening_.get(), POLLIN, 0}};
    for (const auto& [number, client] : clients_) {
      const auto wanted =
          static_cast<short>((client->over ? 0 : POLLIN) | (client->out.empty() ? 0 : POLLOUT));
      asked.push_back({number, wanted, 0});
    }
    const auto clients_end = asked.size();
    for (const auto& [id, group] : groups_)
      for (const int descriptor : group->descriptors())
        asked.push_back({descriptor, POLLIN, 0});
    if (::poll(asked.data(), asked.size(), timeout) < 0) continue;
    if (asked[0].revents != 0) {
      signalfd_siginfo info{};
      if (::read(signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGTERM) return;
        end_all();
      }
    }
    if (asked[1].revents != 0) accept();
    for (std::size_t i = 2; i < clients_end; ++i) {
      const auto found = clients_.find(asked[i].fd);
      if (found == clients_.end()) continue;
      if (asked[i].revents != 0 || !found->second->out.empty())
        serve(*found->second, asked[i].revents);
    }
  }
}

int run_keeper(KeeperOptions options, const KeeperRole& role) {
  const auto complain = [](const Error& error) {
    log::error("keeper", "{}", error.text());
    return error_row(error.code()).exit_status;
  };
  if (role.release || role.delegated) {
    auto own = own_cgroup();
    if (role.release) { // from its child .control, in which systemd runs it
      if (own) take_back_controllers(own->parent_path());
      return 0;
    }
    if (own)
      options.cgroup = *std::move(own);
    else
      log::warning("keeper", "bounds of control planes are soft: {}", own.error().message());
  }
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const file::Fd signals(::signalfd(-1, &set, SFD_CLOEXEC));
  if (role.detach) {
    const auto child = ::fork();
    if (child < 0) return complain(Error(Code::io, "cannot start the keeper: " + reason(errno)));
    if (child > 0) ::_exit(0);
    ::setsid();
  }
  auto keeper = Keeper::open(std::move(options));
  if (!keeper) return complain(keeper.error());
  log::info("keeper", "the keeper of control planes listens");
  if (const char* path = std::getenv("NOTIFY_SOCKET"); path != nullptr && *path != '\0') {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    const std::string_view name(path);
    if (name.size() < sizeof(to.sun_path)) {
      std::memcpy(to.sun_path, name.data(), name.size());
      if (to.sun_path[0] == '@') to.sun_path[0] = '\0'; // abstract: sd_notify(3)
      const file::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
      ::sendto(socket.get(), "READY=1", 7, MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&to), size);
    }
  }
  (*keeper)->run(signals.get());
  return 0;
}

} // namespace zoo::keeper
