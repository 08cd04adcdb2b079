// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/store/store.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/virtuals/board.hpp"
#include "daemon/virtuals/change.hpp"
#include "daemon/virtuals/validate.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace zoo::virtuals {

/// One write of a tenant's, authorized already. Everything in the tenant's names.
struct Request {
  Owner owner;
  const Kind* kind = nullptr;
  std::string verb; ///< create, update, patch, delete, deletecollection
  std::string name; ///< from the path
  bool status = false;
  translate::BodyFormat format = translate::BodyFormat::json;
  std::string body;
  bool dry_run = false, force = false;
  std::string manager, strictness; ///< fieldManager (or from the user agent), fieldValidation
  Selection selection;             ///< of a deletecollection
  std::vector<ObjectPtr> provided; ///< what stands there without anybody having made it
  translate::Mapping mapping;
  bool may_create = true; ///< what a patch by apply is about, should there be none
  std::size_t limit = 0;  ///< of a deletecollection: at most so many, 0: all
  std::string start{};    ///< the same: names from here on
};

struct Answer {
  int status = 200;
  ObjectPtr object;                  ///< null: `body` is the answer
  std::vector<ObjectPtr> collection; ///< what a deletecollection removed
  std::string body;                  ///< a Status; "" with 403: Request::may_create
  std::vector<std::string> warnings; ///< values of Warning header fields
  std::string next{}; ///< of a deletecollection with a limit: where there is more; "": nowhere
};

struct EngineParts {
  store::Store& store;
  Board& board;
  /// Made on each thread of the engine, for its own use.
  std::function<Validate()> connect;
  std::function<bool(const Owner&)> lives; ///< is the tenant still served?
  /// A revision of upstream's that is nobody else's, for kinds that stand beside upstream's own.
  /// Blocking; called on one thread at a time.
  std::function<Result<std::int64_t>()> next_revision{};
};

/// Ceilings of one tenant, a kind (docs/limits.md).
inline constexpr std::size_t k_max_objects = 256;
inline constexpr std::size_t k_max_object_bytes = 256u << 10;
inline constexpr std::size_t k_max_bytes = 2u << 20;

/// Writes virtual objects: threads "virtual-1", "virtual-2", since the store and upstream block.
/// What it has answered can be read from the board at once. Any thread may submit.
class Engine {
public:
  explicit Engine(EngineParts parts);
  ~Engine(); ///< what waits is answered with Code::unavailable
  Engine(const Engine&) = delete;

  /// `done` comes on a thread of the engine, or at once with Code::too_many_requests.
  void submit(Request request, std::function<void(Result<Answer>)> done);

  std::size_t waiting() const; ///< requests; any thread

  /// The same, blocking; for tests.
  Result<Answer> perform(const Validate& validate, const Request& request);

private:
  struct Job {
    std::unique_ptr<Request> request;
    std::function<void(Result<Answer>)> done;
  };
  void run(const std::stop_token& stop);
  Result<Answer> once(const Validate& validate, const Request& request);
  Result<Answer> create(const Validate& validate, const Request& request, const Writer& writer);
  Result<Answer> change(const Validate& validate, const Request& request, const Writer& writer);
  Result<Answer> remove(const Request& request, const std::string& name, const Writer& writer);
  Result<Answer> collection(const Request& request, const Writer& writer);
  Result<Answer> refusal(Verdict verdict) const;
  struct Found {
    std::optional<nlohmann::json> object; ///< nothing: there is none
    std::int64_t revision = 0;            ///< of its record in the store, be it a grave; 0: none
  };
  Result<Found> find(const Request& request, const std::string& name) const;
  Result<std::int64_t> put(const Request& request, nlohmann::json object, std::int64_t expected);
  Result<std::int64_t> put_in_order(const Request& request, const std::string& key,
                                    nlohmann::json object, std::int64_t expected);
  Result<void> bury(const Request& request, const std::string& name, nlohmann::json object,
                    std::int64_t expected);
  /// Writes it and waits until it can be read.
  Result<Answer> write(const Request& request, const nlohmann::json& object, std::int64_t expected,
                       int status, std::vector<std::string> warnings);
  Result<void> erase(const Request& request, const std::string& name, const nlohmann::json& object,
                     std::int64_t expected);
  /// May `object` be kept in place of `old` (null: anew)?
  Result<void> room_for(const Request& request, const nlohmann::json& old,
                        const nlohmann::json& object) const;
  void complete(const Request& request, nlohmann::json& object, const Writer& writer) const;
  bool has_level(const Owner& owner, const std::string& name) const;
  void refresh_flows(const Request& request, const std::string& level);

  /// What waits of one tenant: the tenants take turns.
  struct Line {
    std::string tenant;
    std::deque<Job> jobs;
  };
  static constexpr std::size_t k_queue = 256;
  static constexpr std::size_t k_line = 32;
  EngineParts parts_;
  mutable std::mutex mutex_;
  std::mutex revising_;
  std::condition_variable_any changed_;
  std::list<Line> queue_; ///< who is served next stands first
  std::size_t queued_ = 0;
  std::vector<std::jthread> threads_; // last: they use the rest
};

} // namespace zoo::virtuals
