// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/resolver.hpp"

#include "daemon/net/loop.hpp"

#include <netdb.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace zoo::net {
namespace {

std::vector<Address> look_up(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* first = nullptr;
  std::vector<Address> out;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &first) != 0) return out;
  for (const auto* each = first; each != nullptr; each = each->ai_next) {
    Address address;
    address.size = each->ai_addrlen;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    out.push_back(address);
  }
  ::freeaddrinfo(first);
  return out;
}

} // namespace

/// Kept by its threads, too: one may wait for a name server when the resolver goes.
struct Resolver::State {
  struct Question {
    Loop* loop = nullptr;
    std::string host;
    std::uint16_t port = 0;
    Done done;
  };

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Question> questions;
  std::size_t most = 1, threads = 0, idle = 0;
  bool ended = false; ///< no loop is spoken to any more

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      wake.wait(lock, [this] { return ended || !questions.empty(); });
      --idle;
      if (ended) return;
      auto question = std::move(questions.front());
      questions.pop_front();
      lock.unlock();
      auto found = look_up(question.host, question.port);
      lock.lock();
      if (ended) return;
      question.loop->post(
          [done = std::move(question.done), found = std::move(found)] { done(found); });
    }
  }
};

Resolver::Resolver(std::size_t threads) : state_(std::make_shared<State>()) {
  state_->most = threads;
}

Resolver::~Resolver() {
  std::deque<State::Question> left; // what is asked goes outside of the lock
  const std::scoped_lock lock(state_->mutex);
  state_->ended = true;
  left.swap(state_->questions);
  state_->wake.notify_all();
}

void Resolver::ask(Loop& loop, std::string host, std::uint16_t port, Done done) {
  auto& state = *state_;
  const std::scoped_lock lock(state.mutex);
  state.questions.push_back({&loop, std::move(host), port, std::move(done)});
  if (state.idle < state.questions.size() && state.threads < state.most) {
    ++state.threads;
    std::thread([kept = state_] { kept->run(); }).detach();
  }
  state.wake.notify_one();
}

} // namespace zoo::net
