// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/settings.hpp"

#include "daemon/keeper/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <system_error>

namespace zoo::clusters {
namespace {

/// The number of KiB behind "NAME:" in a file of /proc, in bytes.
std::uint64_t kibibytes(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  std::string word;
  while (in >> word) {
    std::uint64_t value = 0;
    if (word == name && in >> value) return value * 1024;
  }
  return 0;
}

Result<std::uint64_t> size_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory)
    return fail(Code::not_found, "there is no {}", path.string());
  if (error) return fail(Code::io, "cannot read {}: {}", path.string(), error.message());
  return std::uint64_t{size};
}

Result<FilePart> read_part(const std::filesystem::path& path, std::uint64_t from,
                           std::size_t most) {
  std::ifstream in(path, std::ios::binary);
  FilePart out;
  out.text.resize(most);
  in.seekg(static_cast<std::streamoff>(from));
  in.read(out.text.data(), static_cast<std::streamsize>(most));
  if (in.bad()) return fail(Code::io, "cannot read {}", path.string());
  out.text.resize(static_cast<std::size_t>(in.gcount())); // it may have been put aside meanwhile
  out.end = from + out.text.size();
  return out;
}

} // namespace

Entrance Settings::entrance(const std::string& id) const {
  const auto name = server_name(id);
  if (domain_resolves) return {fmt::format("https://{}:{}", name, advertise_port), {}};
  const bool six = advertise_host.find(':') != std::string::npos;
  return {fmt::format("https://{}{}{}:{}", six ? "[" : "", advertise_host, six ? "]" : "",
                      advertise_port),
          name};
}

std::string why_full(const Settings& settings, const MachineRoom& room) {
  const auto says = [](std::uint64_t free, std::string_view what, std::uint64_t needed,
                       std::uint64_t reserve, std::string_view key) {
    return fmt::format("{} MiB of {} are free on zood's machine, and a control plane needs {} MiB "
                       "beside the {} MiB that {} keeps: it starts when there are",
                       free >> 20U, what, needed >> 20U, reserve >> 20U, key);
  };
  if (room.memory != 0 && room.memory < settings.memory_reserve + Settings::k_needed)
    return says(room.memory, "memory", Settings::k_needed, settings.memory_reserve,
                "clusters.memory_reserve");
  if (room.disk && *room.disk < settings.disk_reserve + Settings::k_needed_disk)
    return says(*room.disk, "disk", Settings::k_needed_disk, settings.disk_reserve,
                "clusters.disk_reserve");
  return {};
}

std::optional<std::uint64_t> free_disk(const std::filesystem::path& directory) {
  std::error_code error;
  const auto space = std::filesystem::space(directory, error);
  if (error) return std::nullopt;
  return std::uint64_t{space.available};
}

std::vector<std::string> present_versions(const std::filesystem::path& binaries) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(binaries, error)) {
    const auto version = entry.path().filename().string();
    if (!keeper::is_version(version)) continue;
    const auto has = [&entry](const char* name) {
      std::error_code ignored;
      return std::filesystem::exists(entry.path() / name, ignored);
    };
    if (has("etcd") && has("kube-apiserver") && has("kube-controller-manager") &&
        has("kube-scheduler"))
      out.push_back(version);
  }
  std::sort(out.begin(), out.end(), older_version);
  return out;
}

std::uint64_t process_memory(std::int64_t pid) {
  return kibibytes(fmt::format("/proc/{}/smaps_rollup", pid), "Pss:");
}

Result<FilePart> read_end(const std::filesystem::path& path, std::size_t most) {
  ZOO_TRY(const auto size, size_of(path));
  return read_part(path, size - std::min<std::uint64_t>(size, most), most);
}

Result<FilePart> read_lines(const std::filesystem::path& path, std::uint64_t from,
                            std::size_t most) {
  ZOO_TRY(const auto size, size_of(path));
  ZOO_TRY(auto part, read_part(path, from > size ? 0 : from, most));
  const auto end = part.text.rfind('\n');
  const auto whole = end != std::string::npos  ? end + 1
                     : part.text.size() < most ? 0
                                               : part.text.size();
  part.end -= part.text.size() - whole;
  part.text.resize(whole);
  return part;
}

std::string last_lines(std::string text, std::size_t lines) {
  if (lines == 0) return {};
  auto at = text.size();
  if (at > 0 && text.back() == '\n') --at;
  for (auto left = lines; left > 0; --left) {
    if (at == 0) return text;
    at = text.rfind('\n', at - 1);
    if (at == std::string::npos) return text;
  }
  return text.erase(0, at + 1);
}

} // namespace zoo::clusters
