// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/make_room.hpp"
#include "common/base/result.hpp"
#include "daemon/upstream/buffered_call.hpp"
#include "daemon/upstream/tally.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zoo::upstream {

/// Whom a bearer token was made for.
struct TokenUser {
  std::string user, uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;
  bool for_audience = false; ///< that was asked for; an upstream that knows of none has not looked
};

/// One TokenReview, as zood. On the caller's loop; destroying it cancels.
class TokenReview {
public:
  using Done = std::function<void(Result<TokenUser>)>;
  /// `audience`: that the token must be for; "": whatever upstream itself takes. `done` comes once,
  /// never from inside, and may destroy this. Code::unauthorized: it is nobody's;
  /// Code::unavailable: upstream does not say.
  /// It is counted in `tally`.
  TokenReview(Caller& caller, Tally& tally, std::string_view token, std::string_view audience,
              Done done);

private:
  BufferedCall call_;
};

/// What is being asked, or was asked a moment ago, about tokens: who asks for the same one waits
/// for the same answer. `About` is what its owner keeps with a question; `Value` is what a token
/// comes to. Of one loop.
template <typename Value, typename About>
class TokenMemory {
public:
  using Clock = std::chrono::steady_clock;
  using Done = std::function<void(Result<Value>)>;
  struct Question {
    About about;
    std::vector<Done> waiting;
    std::unique_ptr<TokenReview> review;
  };

  explicit TokenMemory(std::size_t most) : most_(most) {}

  /// The answer that is remembered; null: none. Until the next call.
  const Result<Value>* find(const std::string& key) {
    const auto known = answers_.find(key);
    if (known == answers_.end()) return nullptr;
    if (Clock::now() < known->second.until) return &known->second.value;
    answers_.erase(known);
    return nullptr;
  }
  /// False: nobody asks about it. Else `done` hears the answer, and was taken.
  bool join(const std::string& key, Done& done) {
    const auto found = asked_.find(key);
    if (found == asked_.end()) return false;
    found->second.waiting.push_back(std::move(done));
    return true;
  }
  /// Questions for which `of(about)` is true.
  std::size_t count(const std::function<bool(const About&)>& of) const {
    std::size_t out = 0;
    for (const auto& [key, question] : asked_)
      out += of(question.about) ? 1 : 0;
    return out;
  }
  void ask(const std::string& key, About about, std::unique_ptr<TokenReview> review, Done done) {
    Question question{std::move(about), {}, std::move(review)};
    question.waiting.push_back(std::move(done));
    asked_.emplace(key, std::move(question));
  }
  /// Null: nobody asks about it.
  Question* asked(const std::string& key) {
    const auto found = asked_.find(key);
    return found == asked_.end() ? nullptr : &found->second;
  }
  /// It is answered: nobody joins it any more.
  Question take(const std::string& key) {
    auto node = asked_.extract(key);
    return std::move(node.mapped());
  }
  void remember(const std::string& key, const Result<Value>& value, Clock::duration how_long) {
    if (!answers_.contains(key)) make_room(answers_, key, most_);
    answers_.insert_or_assign(key, Answered{value, Clock::now() + how_long});
  }

private:
  struct Answered {
    Result<Value> value;
    Clock::time_point until;
  };
  const std::size_t most_;
  std::unordered_map<std::string, Answered> answers_; ///< by SHA-256 of the token
  std::unordered_map<std::string, Question> asked_;
};

} // namespace zoo::upstream
