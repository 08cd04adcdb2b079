// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/shares.hpp"

#include <algorithm>
#include <vector>

namespace zoo::quota {
namespace {

using kube::Quantity;

Quantity of_name(const ResourceList& list, std::string_view name) {
  const auto found = list.find(name);
  return found == list.end() ? Quantity{} : found->second;
}

/// CPU is had by the thousandth, all else by the whole: objects, bytes, devices.
bool by_thousandths(std::string_view name) { return name == "cpu" || name.ends_with(".cpu"); }

/// Is it a number of objects? One more of them is room for one more object.
bool counts_objects(std::string_view name) {
  return name.find("cpu") == std::string_view::npos &&
         name.find("memory") == std::string_view::npos &&
         name.find("storage") == std::string_view::npos &&
         name.find("hugepages") == std::string_view::npos;
}

struct Part {
  Quantity used, wanted, hard;
  Quantity target{}; ///< grows from what it uses to what it gets
  Quantity base{};   ///< what it uses, and what it wanted and gets
};

Quantity sum_of(const std::vector<Part>& parts, Quantity Part::* member) {
  Quantity out;
  for (const auto& part : parts)
    out += part.*member;
  return out;
}

/// One name of one owner's limit.
class Sharing {
public:
  Sharing(std::string_view name, const Quantity& limit, std::vector<Part>& parts)
      : unit_(by_thousandths(name) ? *Quantity::parse("1m") : Quantity::of(1)),
        objects_(counts_objects(name)), limit_(limit), parts_(parts),
        count_(static_cast<std::int64_t>(parts.size())) {}

  void run() {
    const auto used = sum_of(parts_, &Part::used);
    if (used >= limit_) return cut(used);
    free_ = limit_ - used;
    for (auto& part : parts_)
      part.target = part.used;
    grant_wishes();
    for (auto& part : parts_)
      part.base = part.target;
    equal_ = free_.portion(1, 2 * count_).floored(unit_);
    if (settled()) {
      for (auto& part : parts_)
        part.target = part.hard;
      return;
    }
    leave_some_to_each();
    keep_or_take();
    hand_out();
  }

private:
  void cut(const Quantity& used) {
    auto left = limit_;
    for (auto& part : parts_) {
      // A share by size, in thousandths: exact enough for what is too much anyway.
      part.target = std::min(part.used, left);
      if (used > limit_) part.target = std::min(part.target, cut_share(part.used, used));
      left -= part.target;
    }
  }
  Quantity cut_share(const Quantity& mine, const Quantity& used) const {
    constexpr std::int64_t k_parts = 1'000;
    std::int64_t low = 0, high = k_parts;
    // The largest n for which n thousandths of what is used by all is not above what is mine.
    while (low < high) {
      const auto middle = (low + high + 1) / 2;
      if (used.portion(middle, k_parts) <= mine) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return limit_.portion(low, k_parts).floored(unit_);
  }

  /// Equally, where there is not enough for all.
  void grant_wishes() {
    std::vector<Part*> askers;
    for (auto& part : parts_)
      if (part.wanted > Quantity{}) askers.push_back(&part);
    std::stable_sort(askers.begin(), askers.end(),
                     [](const Part* a, const Part* b) { return a->wanted < b->wanted; });
    auto left = static_cast<std::int64_t>(askers.size());
    for (auto* asker : askers)
      give(*asker, std::min(asker->wanted, free_.portion(1, left--).floored(unit_)));
  }

  /// Beyond what it uses and wanted.
  static Quantity idle(const Part& part) { return part.hard - part.target; }
  /// Has it no room for one more? Whoever has used nothing yet does not need to have.
  bool full(const Part& part) const { return idle(part) < unit_ && part.used > Quantity{}; }
  bool poor(const Part& part) const { return full(part) || idle(part) < equal_.portion(1, 2); }

  /// Is it all handed out, and nobody poor, or nobody rich?
  bool settled() const {
    if (sum_of(parts_, &Part::hard) != limit_) return false;
    bool any_poor = false, any_rich = false;
    for (const auto& part : parts_) {
      if (idle(part).negative()) return false;
      any_poor = any_poor || poor(part);
      any_rich = any_rich || (idle(part) > equal_ && idle(part) > unit_);
    }
    return !any_poor || !any_rich;
  }

  /// Half of what is free is for all alike. Before that, who is full gets room for one more object,
  /// or a part of the other half.
  void leave_some_to_each() {
    const auto fulls = std::count_if(parts_.begin(), parts_.end(),
                                     [this](const Part& part) { return full(part); });
    const auto most = free_.portion(1, 2 * std::max<std::int64_t>(4, fulls)).floored(unit_);
    const auto spare = std::max(objects_ ? unit_ : most, equal_);
    for (auto& part : parts_)
      if (full(part)) give(part, spare);
    for (auto& part : parts_)
      if (!full(part)) give(part, poor(part) ? equal_ : std::min(idle(part), equal_));
  }

  /// What a namespace has beyond that it keeps, but for what others need: that is taken from those
  /// who have most, down to where they have the same.
  void keep_or_take() {
    std::vector<Part*> rich;
    Quantity kept;
    for (auto& part : parts_) {
      if (part.hard <= part.target) continue;
      rich.push_back(&part);
      kept += idle(part);
    }
    std::stable_sort(rich.begin(), rich.end(),
                     [](const Part* a, const Part* b) { return idle(*a) > idle(*b); });
    auto level = rich.empty() ? Quantity{} : idle(*rich.front());
    if (kept > free_) {
      Quantity of_these;
      for (std::size_t i = 0; i < rich.size(); ++i) {
        of_these += idle(*rich[i]);
        const auto left = of_these - (kept - free_);
        const auto count = static_cast<std::int64_t>(i) + 1;
        level = left.negative() ? Quantity{} : left.portion(1, count).floored(unit_);
        if (i + 1 == rich.size() || level >= idle(*rich[i + 1])) break;
      }
    }
    for (auto* part : rich)
      give(*part, std::min(idle(*part), level).floored(unit_));
  }

  /// The rest, first to who has least beyond what he needs.
  void hand_out() {
    std::vector<Part*> order;
    for (auto& part : parts_)
      order.push_back(&part);
    std::stable_sort(order.begin(), order.end(), [](const Part* a, const Part* b) {
      return a->target - a->base < b->target - b->base;
    });
    auto left = count_;
    for (auto* part : order) {
      auto each = free_.portion(1, left--).floored(unit_);
      if (each < unit_) each = std::min(unit_, free_.floored(unit_));
      give(*part, each);
    }
  }

  void give(Part& part, const Quantity& amount) {
    const auto given = std::clamp(amount, Quantity{}, std::max(free_, Quantity{}));
    part.target += given;
    free_ -= given;
  }

  const Quantity unit_;
  const bool objects_;
  const Quantity limit_;
  std::vector<Part>& parts_;
  const std::int64_t count_;
  Quantity free_;  ///< not given to anybody yet
  Quantity equal_; ///< of what is free behind the wishes, what each may count on
};

} // namespace

ResourceList taken(const Slice& slice) {
  auto out = slice.spec;
  for (const auto* list : {&slice.hard, &slice.used}) {
    for (const auto& [name, amount] : *list) {
      auto [found, fresh] = out.try_emplace(name, amount);
      if (!fresh) found->second = std::max(found->second, amount);
    }
  }
  return out;
}

ResourceList taken(const Slices& slices) {
  ResourceList out;
  for (const auto& [space, slice] : slices)
    add(out, taken(slice));
  return out;
}

Targets distribute(const ResourceList& limit, const Slices& slices) {
  Targets out;
  if (slices.empty()) return out;
  std::vector<Part> parts;
  for (const auto& [name, most] : limit) {
    parts.clear();
    for (const auto& [space, slice] : slices)
      parts.push_back(
          {of_name(slice.used, name), of_name(slice.wanted, name), of_name(slice.hard, name)});
    Sharing(name, most, parts).run();
    auto part = parts.begin();
    for (const auto& [space, slice] : slices)
      out[space].insert_or_assign(name, (part++)->target);
  }
  return out;
}

} // namespace zoo::quota
