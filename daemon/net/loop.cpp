// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/loop.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "daemon/net/address.hpp"
#include "daemon/net/resolver.hpp"
#include "daemon/net/socket.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace zoo::net {
namespace {

using Clock = std::chrono::steady_clock;
using Task = std::function<void()>;

constexpr std::size_t k_events = 256; ///< of one turn
constexpr int k_rounds = 8; ///< of tasks that tasks post, before the sockets are looked at again
constexpr std::size_t k_few = 64;                 ///< tasks that run without a look at the clock
constexpr std::chrono::milliseconds k_longest{5}; ///< of tasks, before the sockets have their turn
constexpr std::uint64_t k_wake = ~std::uint64_t{0}; ///< no Socket has it

} // namespace

struct Timer::Impl {
  using Due = std::multimap<Clock::time_point, Impl*>;
  Loop::Impl& loop;
  Due::node_type rest; ///< while it does not run: no allocation at the next start()
  Due::iterator place; ///< while it runs
  Task task;           ///< empty: it does not run

  /// What it would have run, which may hold the last reference to the timer itself: nothing may be
  /// done with the timer after that has gone.
  Task stop();
};

struct Loop::Impl {
  explicit Impl(Loop& owner) : loop(owner) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET; // each write, each expiry is an edge: nobody has to read it
    event.data.u64 = k_wake;
    if (!epoll || !wake || !alarm ||
        ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0 ||
        ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, alarm.get(), &event) != 0)
      throw std::system_error(errno, std::generic_category(), "cannot make an event loop");
  }
  void turn();
  void take_posted();
  void run_tasks();
  void run_timers();
  void run_deferred(Clock::time_point begun);
  void set_alarm();
  void wait();

  Loop& loop;
  const file::Fd epoll{::epoll_create1(EPOLL_CLOEXEC)};
  const file::Fd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  const file::Fd alarm{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  std::atomic<std::thread::id> thread{std::thread::id()};
  std::atomic<bool> stopped{false};

  // An event names a place in `slots` and who had it then: what an earlier event of the same turn
  // has destroyed hears nothing, and neither does who has its place now.
  struct Slot {
    Socket* owner = nullptr;
    std::uint32_t generation = 0;
  };
  std::vector<Slot> slots;
  std::vector<std::uint32_t> free_slots;
  std::array<epoll_event, k_events> events{};
  int event_count = 0, event_next = 0;

  Timer::Impl::Due due;
  Clock::time_point alarm_at; ///< when it comes, or came
  std::deque<Task> tasks;
  std::deque<std::function<bool()>> deferred;
  std::optional<Resolver> resolver;

  std::atomic<bool> woken{false}; ///< `posted` holds something
  std::mutex mutex;
  std::deque<Task> posted; ///< under mutex: by other threads
};

void Loop::Impl::take_posted() {
  if (!woken.load(std::memory_order_relaxed) || !woken.exchange(false)) return;
  const std::scoped_lock lock(mutex);
  if (tasks.empty()) {
    tasks.swap(posted);
    return;
  }
  for (auto& task : posted)
    tasks.push_back(std::move(task));
  posted.clear();
}

void Loop::Impl::run_tasks() {
  Clock::time_point begun;
  for (int round = 0; round < k_rounds && !tasks.empty(); ++round) {
    if (tasks.size() > k_few && begun == Clock::time_point()) begun = Clock::now();
    for (auto left = tasks.size(); left > 0 && !stopped; --left) {
      // Of very many (an event that all hear) the rest waits until the sockets had their turn.
      if (begun != Clock::time_point() && Clock::now() - begun > k_longest) return;
      const auto task = std::move(tasks.front());
      tasks.pop_front();
      task();
    }
  }
}

void Loop::Impl::run_timers() {
  if (due.empty()) return;
  const auto now = Clock::now();
  while (!due.empty() && due.begin()->first <= now && !stopped) {
    auto* timer = due.begin()->second;
    timer->rest = due.extract(due.begin());
    const auto task = std::exchange(timer->task, nullptr);
    task(); // which may start it again, or destroy it
  }
}

/// `begun`: the turn has.
void Loop::Impl::run_deferred(Clock::time_point begun) {
  if (deferred.empty()) return;
  const auto now = Clock::now();
  const auto end = now + (now - begun) / 2;
  while (!deferred.empty() && !stopped) {
    const auto task = std::move(deferred.front());
    deferred.pop_front();
    if (task() && Clock::now() >= end) return;
  }
}

/// The alarm comes with the first timer that is due, or before. A timeout of each epoll_wait would
/// have the kernel set and clear a timer of its own each time, which is dear in virtual machines.
void Loop::Impl::set_alarm() {
  if (due.empty()) return;
  const auto now = Clock::now();
  const auto first = due.begin()->first;
  if (alarm_at > now && alarm_at <= first) return;
  alarm_at = std::max(first, now + std::chrono::nanoseconds(1));
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(alarm_at - now).count();
  itimerspec when{};
  when.it_value.tv_sec = left / 1'000'000'000;
  when.it_value.tv_nsec = left % 1'000'000'000;
  ::timerfd_settime(alarm.get(), 0, &when, nullptr);
}

void Loop::Impl::wait() {
  set_alarm();
  event_next = 0;
  event_count = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()),
                             tasks.empty() && deferred.empty() ? -1 : 0);
}

void Loop::Impl::turn() {
  const auto begun = Clock::now();
  while (event_next < event_count && !stopped) { // what is left of a turn in which one threw, too
    const auto& event = events[static_cast<std::size_t>(event_next++)];
    if (event.data.u64 == k_wake) continue;
    const auto& slot = slots[static_cast<std::uint32_t>(event.data.u64)];
    if (slot.owner != nullptr && slot.generation == event.data.u64 >> 32)
      slot.owner->announce(event.events);
  }
  take_posted();
  run_tasks();
  run_timers();
  run_deferred(begun);
  take_posted();
  if (!stopped) wait();
}

Loop::Loop() : impl_(std::make_unique<Impl>(*this)) {}

Loop::~Loop() {
  impl_->resolver.reset();
  // What goes with a task may post another one, or cancel a timer.
  for (impl_->stopped = true;;) {
    impl_->take_posted();
    if (impl_->tasks.empty() && impl_->deferred.empty()) return;
    const auto last = std::exchange(impl_->tasks, {});
    const auto waiting = std::exchange(impl_->deferred, {});
  }
}

void Loop::run() {
  impl_->thread = std::this_thread::get_id();
  while (!impl_->stopped) {
    try {
      impl_->turn();
    } catch (const std::exception& error) {
      log::error("net", "an exception reached the event loop: {}", error.what());
    } catch (...) {
      log::error("net", "an unknown exception reached the event loop");
    }
  }
  impl_->thread = std::thread::id();
}

void Loop::stop() {
  impl_->stopped = true;
  ::eventfd_write(impl_->wake.get(), 1);
}

void Loop::post(Task task) {
  auto& impl = *impl_;
  if (on_thread()) return impl.tasks.push_back(std::move(task));
  {
    const std::scoped_lock lock(impl.mutex);
    impl.posted.push_back(std::move(task));
  }
  if (!impl.woken.exchange(true)) ::eventfd_write(impl.wake.get(), 1);
}

void Loop::defer(std::function<bool()> task) { impl_->deferred.push_back(std::move(task)); }

bool Loop::on_thread() const { return impl_->thread.load() == std::this_thread::get_id(); }

bool Loop::running() const { return impl_->thread.load() != std::thread::id(); }

void Loop::resolve(std::string host, std::uint16_t port, Resolved done) {
  if (!impl_->resolver) impl_->resolver.emplace(1);
  impl_->resolver->ask(*this, std::move(host), port, std::move(done));
}

void run_and_wait(Loop& loop, const std::function<void()>& task) {
  if (!loop.running() || loop.on_thread()) return task();
  // Exactly one of the two sides runs it, should the loop stop in between.
  const auto taken = std::make_shared<std::atomic<bool>>(false);
  const auto done = std::make_shared<std::promise<void>>();
  auto finished = done->get_future();
  loop.post([task, taken, done] {
    if (taken->exchange(true)) return;
    try {
      task();
      done->set_value();
    } catch (...) {
      done->set_exception(std::current_exception());
    }
  });
  while (finished.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (!loop.running() && !taken->exchange(true)) return task();
  }
  finished.get();
}

// ---- Timer ----

Task Timer::Impl::stop() {
  if (task) rest = loop.due.extract(place);
  return std::exchange(task, nullptr);
}

Timer::Timer(Loop& loop) : impl_(new Impl{*loop.impl_, {}, {}, {}}) {}
Timer::~Timer() {
  if (impl_) cancel();
}
Timer::Timer(Timer&&) noexcept = default;

void Timer::start(std::chrono::microseconds after, Task task) {
  const auto before = impl_->stop();
  auto& due = impl_->loop.due;
  const auto when = Clock::now() + after;
  if (impl_->rest) {
    impl_->rest.key() = when;
    impl_->place = due.insert(std::move(impl_->rest));
  } else {
    impl_->place = due.emplace(when, impl_.get());
  }
  impl_->task = std::move(task);
}

void Timer::cancel() { impl_->stop(); }

// ---- Socket ----

bool Socket::open(file::Fd socket) {
  close();
  auto& loop = *loop_.impl_;
  if (loop.free_slots.empty()) {
    loop.free_slots.push_back(static_cast<std::uint32_t>(loop.slots.size()));
    loop.slots.emplace_back();
  }
  const auto place = loop.free_slots.back();
  slot_ = place;
  if (!watch(EPOLL_CTL_ADD, socket.get())) {
    slot_ = k_nowhere;
    return false;
  }
  loop.free_slots.pop_back();
  loop.slots[place].owner = this;
  fd_ = std::move(socket);
  return true;
}

bool Socket::watch(int how, int fd) {
  auto& loop = *loop_.impl_;
  epoll_event event{};
  event.events = (hears_ ? EPOLLIN : 0u) | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = std::uint64_t{loop.slots[slot_].generation} << 32 | slot_;
  return ::epoll_ctl(loop.epoll.get(), how, fd, &event) == 0;
}

void Socket::hear(bool what_comes) {
  if (hears_ == what_comes || slot_ == k_nowhere) return;
  hears_ = what_comes;
  if (!watch(EPOLL_CTL_MOD, fd_.get())) hears_ = true; // woken in vain, then
}

void Socket::wake_at(int bytes) {
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

file::Fd Socket::take() {
  if (slot_ == k_nowhere) return {};
  ::epoll_ctl(loop_.impl_->epoll.get(), EPOLL_CTL_DEL, fd_.get(), nullptr);
  auto out = std::move(fd_);
  close();
  return out;
}

void Socket::close() {
  if (slot_ == k_nowhere) return;
  auto& loop = *loop_.impl_;
  loop.slots[slot_].owner = nullptr;
  ++loop.slots[slot_].generation;
  loop.free_slots.push_back(std::exchange(slot_, k_nowhere));
  fd_ = file::Fd(); // which is the end of it for epoll, too
  readable_ = writable_ = ended_ = more_ = false;
  hears_ = true;
}

void Socket::announce(std::uint32_t events) {
  const bool gone = (events & (EPOLLERR | EPOLLHUP)) != 0;
  ended_ = ended_ || gone || (events & EPOLLRDHUP) != 0;
  readable_ = readable_ || ended_ || (events & EPOLLIN) != 0;
  writable_ = writable_ || gone || (events & EPOLLOUT) != 0;
  handler_.on_ready();
}

bool Socket::discard(char* scratch, std::size_t size) {
  for (;;) {
    const auto count = receive(scratch, size);
    if (count <= 0) return count < 0 && errno == EAGAIN;
  }
}

bool Socket::gone() const {
  char byte = 0;
  return readable() && ::recv(number(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

std::ptrdiff_t Socket::receive(char* bytes, std::size_t size) {
  errno = EAGAIN;
  if (!readable_) return -1;
  std::ptrdiff_t count = 0;
  do {
    count = ::recv(fd_.get(), bytes, size, 0);
  } while (count < 0 && errno == EINTR);
  // What comes after a short read is a change that will be told; an end that has come is not
  // (epoll(7), questions and answers, 9).
  const bool all =
      count < 0 ? errno == EAGAIN : count > 0 && static_cast<std::size_t>(count) < size && !ended_;
  if (all) readable_ = false;
  return count;
}

std::ptrdiff_t Socket::send(const char* bytes, std::size_t size) {
  errno = EAGAIN;
  if (!writable_) return -1;
  std::ptrdiff_t count = 0;
  do {
    count = ::send(fd_.get(), bytes, size, MSG_NOSIGNAL | (more_ ? MSG_MORE : 0));
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) writable_ = false;
  return count;
}

file::Fd Socket::accept() {
  errno = EAGAIN;
  if (!readable_) return {};
  file::Fd out;
  do {
    out = file::Fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  } while (!out && (errno == EINTR || errno == ECONNABORTED));
  if (!out && errno == EAGAIN) readable_ = false;
  return out;
}

} // namespace zoo::net
