// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/pki.hpp"
#include "daemon/clusters/plan.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace zoo::clusters {

/// What holds for all virtual clusters of a zood; fixed while it runs.
struct Settings {
  std::filesystem::path directory; ///< DIR/clusters, absolute
  std::filesystem::path binaries;  ///< a directory for each version
  std::string version;             ///< of clusters that name none; "": the newest there is
  AddressRange addresses;
  PortRange ports;            ///< of direct doors
  std::string listen_host;    ///< of direct doors: that of zood's own
  std::string listen;         ///< where zood itself reaches its door: host:port
  std::string advertise_host; ///< what kubeconfigs name
  std::uint16_t advertise_port = 0;
  std::string domain = "vc.zood.internal"; ///< <id>.<domain> is a cluster's server name
  bool domain_resolves = false; ///< clients find it by DNS, and their kubeconfigs name it
  std::string service_range;    ///< "": as the upstream says, else 10.0.0.0/16
  std::string node_ports = "30000-32767";
  unsigned service_limit = 1'000;            ///< of a cluster whose spec says nothing
  unsigned node_port_limit = 50;             ///< likewise
  std::string coredns_image;                 ///< what clusters of spec.dns: coredns run
  std::uint64_t memory = 1ULL << 30;         ///< of one control plane, a wish
  std::uint64_t memory_reserve = 1ULL << 30; ///< that stays free on this machine
  std::uint64_t etcd_quota = 512ULL << 20;   ///< of the database of one cluster's etcd
  std::uint64_t disk_reserve = 1ULL << 30;   ///< that stays free on the disk of `directory`
  std::uint32_t uid_base = 0;                ///< of the users of control planes; 0: they have none
  std::chrono::seconds validity{365 * 24 * 3600};
  unsigned workers = 4;
  std::chrono::milliseconds settled{30'000}; ///< between two looks at one that is as it should be

  std::filesystem::path directory_of(const std::string& id) const { return directory / id; }
  std::string server_name(const std::string& id) const { return id + "." + domain; }
  Entrance entrance(const std::string& id) const;
  /// What a control plane needs to start; less than this free beside the reserve, and it waits.
  static constexpr std::uint64_t k_needed = 350ULL << 20;
  /// What it needs of the disk to start: etcd's log of writes alone takes 128 MiB before the first
  /// write. With less than this free beside the reserve it waits, too.
  static constexpr std::uint64_t k_needed_disk = 256ULL << 20;
};

/// What zood's machine has left.
struct MachineRoom {
  std::uint64_t memory = 0;          ///< bytes; 0: not known
  std::optional<std::uint64_t> disk; ///< bytes; nothing: not known
};
/// Why no control plane is started with so little, in a sentence; "": it is. Pure.
std::string why_full(const Settings& settings, const MachineRoom& room);

/// What zood's user may still write on the disk of that directory; nothing: not known.
std::optional<std::uint64_t> free_disk(const std::filesystem::path& directory);

/// Versions for which `binaries` has all four programs.
std::vector<std::string> present_versions(const std::filesystem::path& binaries);

/// Proportional set size of a process of our user, in bytes; 0 if it cannot be read, as of another
/// user's.
std::uint64_t process_memory(std::int64_t pid);

/// Bytes of a log that one request for what came after a position is answered (docs/limits.md).
inline constexpr std::size_t k_log_part = 1 << 20;

/// A part of a file that others write to.
struct FilePart {
  std::string text;
  std::uint64_t end = 0; ///< the position behind it
};
/// The last bytes of a file, `most` at most. Code::not_found, Code::io.
Result<FilePart> read_end(const std::filesystem::path& path, std::size_t most);
/// Whole lines from that position on, `most` bytes at most; a longer line comes in parts. From the
/// beginning if the file is shorter: it was emptied. Code::not_found, Code::io.
Result<FilePart> read_lines(const std::filesystem::path& path, std::uint64_t from,
                            std::size_t most);

/// The last lines of a text, with the last line's end if it has one.
std::string last_lines(std::string text, std::size_t lines);

} // namespace zoo::clusters
