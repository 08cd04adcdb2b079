// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// What a backup of zood's state holds, whatever the store was (docs/backup.md). zood makes it and
/// takes it back, zooctl carries it: both read it by the functions here. Pure; any thread.
namespace zoo::backup {

/// Of a whole backup, open: docs/limits.md.
inline constexpr std::size_t k_most_bytes = 512u << 20;

/// What a backup says of itself; it stands in front of it unencrypted.
struct Header {
  std::string version;                        ///< of the zood that made it
  std::string created;                        ///< RFC 3339
  std::string upstream;                       ///< UID of its namespace kube-system; "": not known
  std::int64_t revision = 0;                  ///< of the store at that moment
  std::map<std::string, std::size_t> records; ///< how many, by kind
  std::vector<std::string> files;             ///< of zood's directory
};

/// A file of zood's directory: "master.key", "pki/ca.key".
struct File {
  std::string name;
  Secret bytes;
};

/// A record of the store (daemon/store/store.hpp).
struct Entry {
  std::string kind, key;
  Secret value;
  std::int64_t revision = 0, created_revision = 0;
};

struct Content {
  Header header; ///< of read_content(): as the backup says it, compared with what follows
  std::vector<File> files;
  std::vector<Entry> records;
};

/// Lines of JSON: the header, a line for each file and each record, and a last one with the number
/// of files and records. Counts and names in the header are those of `content.files` and
/// `content.records`, whatever `content.header` says of them. Code::too_large above k_most_bytes.
Result<Secret> text_of(const Content& content);
/// Code::invalid for what text_of() does not write, with the line.
Result<Content> read_content(std::string_view text);
/// The first line of such a text.
Result<Header> read_header(std::string_view line);

/// Names of files that a backup may hold: relative, of plain characters, at most one folder deep,
/// and never out of the directory.
bool is_file_name(std::string_view name);

} // namespace zoo::backup
