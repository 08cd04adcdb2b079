// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/watch_source.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace zoo::gateway {

class Exchange;

/// The nodes that carry the pods of an exchange's tenant, followed from a moment on by the shared
/// watch of pods: for a watch of nodes where a tenant sees its own alone. What it keeps of each pod
/// is counted among the bytes that the tenant holds. Loop thread; the exchange outlives it.
class PodNodes final : private upstream::ListHandler, private upstream::WatchHandler {
public:
  struct Hears {
    std::function<void()> ready;             ///< carries() is what it was at the beginning; once
    std::function<void()> changed;           ///< a node has come or gone
    std::function<void(const Error&)> ended; ///< it follows no more; nothing comes behind it
  };
  PodNodes(Exchange& exchange, Hears hears);
  ~PodNodes() override;

  /// From this resourceVersion on, which a client has a list of; -1, or where upstream has
  /// forgotten that one: from now on.
  void start(std::int64_t revision);

  using Nodes = std::map<std::string, std::size_t, std::less<>>; ///< and how many pods each carries
  const Nodes& nodes() const { return nodes_; }
  const std::string& version() const { return version_; } ///< of what was heard last

private:
  void read(std::int64_t revision);
  void follow();
  bool put(std::string_view pod, std::string node);
  void take(const std::string& pod);
  bool others(std::string_view pod) const;

  void on_list_begin(std::string_view) override {}
  void on_list_item(std::string_view key, std::string_view item) override;
  void on_list_end(const upstream::ListEnd& end) override;
  void on_list_error(const Error& error, int http_status, std::string_view body) override;
  void on_watch_begin() override {}
  void on_watch_event(std::string_view event) override;
  void on_watch_bookmark(std::string_view version) override { version_ = version; }
  void on_watch_end(const upstream::WatchEnd& end) override;

  static constexpr std::size_t k_pod = 160; ///< bytes that one takes besides its name

  Exchange& exchange_;
  const Hears hears_;
  std::unordered_map<std::string, std::string> pods_; ///< their nodes
  Nodes nodes_;
  std::size_t held_ = 0;
  std::string version_;
  bool at_revision_ = false, ended_ = false;
  std::unique_ptr<upstream::List> list_, retired_list_; // last: cancelled first
  std::unique_ptr<upstream::WatchSubscription> watch_, retired_watch_;
};

} // namespace zoo::gateway
