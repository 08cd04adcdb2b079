// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zoo::gateway {

/// A link of a ring that costs no allocation: a Gateway's ring begins and ends at its own Live, and
/// an Exchange in progress is one of its links, until it is destroyed. Loop thread.
class Live {
public:
  Live() = default;
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;
  ~Live() { leave(); }

  /// Becomes the last one of `ring`; once.
  void join(Live& ring) {
    before_ = ring.before_;
    next_ = &ring;
    before_->next_ = this;
    ring.before_ = this;
  }
  Live* next() const { return next_; }
  /// Goes to stand behind `other`, wherever it stood.
  void move_behind(Live& other) {
    leave();
    before_ = &other;
    next_ = other.next_;
    next_->before_ = this;
    other.next_ = this;
  }
  void leave() {
    before_->next_ = next_;
    next_->before_ = before_;
    before_ = next_ = this;
  }

private:
  Live* before_ = this;
  Live* next_ = this;
};

} // namespace zoo::gateway
