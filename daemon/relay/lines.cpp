// SPDX-License-Identifier: Apache-2.0
#include "daemon/relay/lines.hpp"

#include <algorithm>
#include <utility>

namespace zoo::relay {
namespace {

constexpr std::chrono::seconds k_sweep{5};
constexpr int k_tries = 2;

} // namespace

struct Lines::Asking::Job {
  Lines* lines = nullptr; ///< null: it is over, or taken back
  std::string key, owner;
  HookPtr hook;
  std::string request; ///< kept for a second try
  Done done;
  ServicePort wanted;
  int tries = 0;
  std::string avoided; ///< the pod that has failed
  std::weak_ptr<Tunnel> tunnel;
  bool queued = false;
};

Lines::Asking::~Asking() {
  const auto lines = std::exchange(job_->lines, nullptr);
  job_->done = nullptr;
  if (lines != nullptr) lines->take_back(job_);
}

bool Lines::Asking::queued() const { return job_->queued; }

Lines::~Lines() {
  for (auto& [key, line] : lines_) {
    for (auto& kept : line.tunnels)
      kept.tunnel->close();
    for (const auto& job : line.waiting)
      job->lines = nullptr;
  }
}

std::unique_ptr<Lines::Asking> Lines::ask(const std::string& key, const std::string& owner,
                                          HookPtr hook, std::string request, Done done) {
  auto job = std::make_shared<Asking::Job>();
  job->lines = this;
  job->key = key;
  job->owner = owner;
  job->request = std::move(request);
  job->done = std::move(done);
  const auto& target = hook->target;
  job->wanted = {target.name_space, target.service, target.port, hook->as};
  job->hook = std::move(hook);
  loop_.post([this, weak = std::weak_ptr(job)] {
    const auto waits = weak.lock();
    if (waits && waits->lines != nullptr) find_pods(waits);
  });
  return std::unique_ptr<Asking>(new Asking(std::move(job)));
}

void Lines::take_back(const JobPtr& job) {
  const auto tunnel = job->tunnel.lock();
  if (!tunnel) {
    if (const auto line = lines_.find(job->key); line != lines_.end())
      std::erase(line->second.waiting, job);
    return;
  }
  // What it says later would be taken for the answer to the next question.
  tunnel->close();
  drop(job->key, tunnel.get());
  loop_.post([this, lives = std::weak_ptr(lives_), job, keep = tunnel] {
    if (lives.lock()) serve_waiting(job->key);
  });
}

void Lines::find_pods(const JobPtr& job) {
  pods_.find(job->wanted, [this, weak = std::weak_ptr(job), key = job->key,
                           turn = job->queued](const Result<PodPorts>& pods) {
    const auto waits = weak.lock();
    const bool wanted = waits && waits->lines != nullptr;
    if (wanted && pods) return place(waits, *pods);
    if (wanted) settle(waits, fail(pods.error()));
    if (turn) serve_waiting(key); // no tunnel came of this job's turn, and so none will end
  });
}

void Lines::place(const JobPtr& job, const PodPorts& pods) {
  auto& line = lines_[job->key];
  if (use_kept(job, line, *pods)) return;
  if (line.tunnels.size() >= limits_.tunnels_of_hook) {
    job->queued = true;
    line.waiting.push_back(job);
    return;
  }
  if (!make_room_for(job->owner)) {
    settle(job, fail(Code::unavailable,
                     "{} connections to webhooks are open, as many as are allowed: try again",
                     open_of_[job->owner]));
    return serve_waiting(job->key); // the next job's turn; of a line without jobs the end
  }
  // The pod with the fewest tunnels, and not the one that has failed if there is another.
  const PodPort* best = nullptr;
  std::size_t least = 0;
  for (const auto& pod : *pods) {
    auto count = static_cast<std::size_t>(
        std::count_if(line.tunnels.begin(), line.tunnels.end(),
                      [&](const Kept& kept) { return kept.tunnel->way().pod == pod.pod; }));
    if (pod.pod == job->avoided) count += limits_.tunnels;
    if (best == nullptr || count < least) {
      best = &pod;
      least = count;
    }
  }
  open(job, line, *best);
}

bool Lines::use_kept(const JobPtr& job, Line& line, const std::vector<PodPort>& pods) {
  for (auto at = line.tunnels.begin(); at != line.tunnels.end();) {
    const auto& way = at->tunnel->way();
    const bool stands =
        std::find(pods.begin(), pods.end(), PodPort{way.pod, way.port}) != pods.end();
    if (!at->tunnel->idle()) {
      ++at;
    } else if (!stands || at->hook != job->hook || at->tunnel->over()) {
      at->tunnel->close();
      gone(way.owner);
      at = line.tunnels.erase(at);
    } else {
      send(job, *at);
      return true;
    }
  }
  return false;
}

/// One that is idle makes room where there are too many.
bool Lines::make_room_for(const std::string& owner) {
  const auto his = open_of_.find(owner);
  const bool his_own = his != open_of_.end() && his->second >= limits_.tunnels_of_one;
  if (!his_own && open_ < limits_.tunnels) return true;
  Line* where = nullptr;
  std::list<Kept>::iterator longest;
  for (auto& [key, line] : lines_) {
    for (auto at = line.tunnels.begin(); at != line.tunnels.end(); ++at) {
      if (!at->tunnel->idle() || (his_own && at->tunnel->way().owner != owner)) continue;
      if (where != nullptr && longest->idle_since <= at->idle_since) continue;
      where = &line;
      longest = at;
    }
  }
  if (where == nullptr) return false;
  longest->tunnel->close();
  gone(longest->tunnel->way().owner);
  where->tunnels.erase(longest);
  return true;
}

void Lines::open(const JobPtr& job, Line& line, const PodPort& pod) {
  Way way;
  way.name_space = job->wanted.name_space;
  way.pod = pod.pod;
  way.port = pod.port;
  way.owner = job->owner;
  way.as = job->hook->as;
  way.tls = job->hook->tls;
  auto self = std::make_shared<std::weak_ptr<Tunnel>>();
  auto tunnel = Tunnel::open(caller_, std::move(way), limits_.answer, [this, self, key = job->key] {
    if (const auto over = self->lock()) drop(key, over.get());
    serve_waiting(key);
  });
  *self = tunnel;
  ++open_;
  ++open_of_[job->owner];
  tally_.opened();
  tally_.tunnels(open_);
  line.tunnels.push_back({std::move(tunnel), job->hook, Clock::now(), false});
  if (!std::exchange(sweeping_, true)) sweeper_.start(k_sweep, [this] { sweep(); });
  send(job, line.tunnels.back());
}

void Lines::send(const JobPtr& job, Kept& kept) {
  job->queued = false;
  job->tunnel = kept.tunnel;
  ++job->tries;
  auto request = job->tries < k_tries ? job->request : std::move(job->request);
  kept.tunnel->ask(std::move(request),
                   [this, job, tunnel = kept.tunnel.get()](Result<HookAnswer> answer, bool began) {
                     answered(job, tunnel, std::move(answer), began);
                   });
}

void Lines::answered(const JobPtr& job, Tunnel* tunnel, Result<HookAnswer> answer, bool began) {
  const auto keep = tunnel->shared_from_this();
  const auto key = job->key;
  bool used = false;
  if (const auto line = lines_.find(key); line != lines_.end()) {
    for (auto& kept : line->second.tunnels) {
      if (kept.tunnel.get() != tunnel) continue;
      used = std::exchange(kept.used, true);
      kept.idle_since = Clock::now();
    }
  }
  if (tunnel->over()) drop(key, tunnel);
  job->tunnel.reset();
  if (!answer && !began && job->tries < k_tries && job->lines != nullptr) {
    // A kept one may have died of age; a new one says something of its pod.
    if (!used) job->avoided = tunnel->way().pod;
    pods_.doubt(job->wanted);
    find_pods(job);
  } else {
    settle(job, std::move(answer));
  }
  serve_waiting(key);
}

void Lines::settle(const JobPtr& job, Result<HookAnswer> answer) {
  job->lines = nullptr;
  if (const auto done = std::exchange(job->done, nullptr)) done(std::move(answer));
}

void Lines::serve_waiting(const std::string& key) {
  const auto line = lines_.find(key);
  if (line == lines_.end()) return;
  auto& waiting = line->second.waiting;
  if (!waiting.empty()) {
    const auto job = std::move(waiting.front());
    waiting.pop_front();
    find_pods(job);
  } else if (line->second.tunnels.empty()) {
    lines_.erase(line);
  }
}

void Lines::drop(const std::string& key, const Tunnel* tunnel) {
  const auto line = lines_.find(key);
  if (line == lines_.end()) return;
  auto& tunnels = line->second.tunnels;
  const auto at = std::find_if(tunnels.begin(), tunnels.end(),
                               [&](const Kept& kept) { return kept.tunnel.get() == tunnel; });
  if (at == tunnels.end()) return;
  gone(at->tunnel->way().owner);
  tunnels.erase(at); // who calls holds it
  if (tunnels.empty() && line->second.waiting.empty()) lines_.erase(line);
}

void Lines::gone(const std::string& owner) {
  --open_;
  tally_.tunnels(open_);
  const auto his = open_of_.find(owner);
  if (his != open_of_.end() && --his->second == 0) open_of_.erase(his);
}

void Lines::sweep() {
  const auto now = Clock::now();
  for (auto line = lines_.begin(); line != lines_.end();) {
    auto& tunnels = line->second.tunnels;
    for (auto at = tunnels.begin(); at != tunnels.end();) {
      if (!at->tunnel->idle() || now - at->idle_since < limits_.idle) {
        ++at;
        continue;
      }
      at->tunnel->close();
      gone(at->tunnel->way().owner);
      at = tunnels.erase(at);
    }
    const bool empty = tunnels.empty() && line->second.waiting.empty();
    line = empty ? lines_.erase(line) : std::next(line);
  }
  sweeping_ = !lines_.empty();
  if (sweeping_) sweeper_.start(k_sweep, [this] { sweep(); });
}

} // namespace zoo::relay
