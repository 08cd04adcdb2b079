// SPDX-License-Identifier: Apache-2.0
#include "common/backup/content.hpp"

#include "common/crypto/digest.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::backup {
namespace {

using nlohmann::json;

constexpr std::string_view k_content_format = "zood-state/1";

std::string line_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json header_json(const Content& content) {
  const auto& header = content.header;
  json records = json::object();
  json files = json::array();
  for (const auto& entry : content.records) {
    auto& count = records[entry.kind];
    count = count.is_number() ? count.get<std::size_t>() + 1 : 1;
  }
  for (const auto& each : content.files)
    files.push_back(each.name);
  return {{"format", k_content_format},  {"version", header.version},
          {"created", header.created},   {"upstream", header.upstream},
          {"revision", header.revision}, {"records", std::move(records)},
          {"files", std::move(files)}};
}

tl::unexpected<Error> bad_line(std::size_t number, std::string_view why) {
  return fail(Code::invalid, "line {} of the backup: {}", number, why);
}

Result<std::string> text_at(const json& line, const char* member) {
  const auto found = line.find(member);
  if (found == line.end() || !found->is_string())
    return fail(Code::invalid, "it has no text \"{}\"", member);
  return found->get<std::string>();
}

Result<std::int64_t> number_at(const json& line, const char* member) {
  const auto found = line.find(member);
  if (found == line.end() || !found->is_number_integer())
    return fail(Code::invalid, "it has no number \"{}\"", member);
  return found->get<std::int64_t>();
}

Result<Secret> bytes_at(const json& line, const char* member) {
  ZOO_TRY(const auto text, text_at(line, member));
  ZOO_TRY(auto bytes, crypto::base64_decode(text));
  return Secret(std::move(bytes));
}

Result<File> file_of(const json& line) {
  File out;
  ZOO_TRY(out.name, text_at(line, "file"));
  if (!is_file_name(out.name)) return fail(Code::invalid, "it names a file outside of zood's");
  ZOO_TRY(out.bytes, bytes_at(line, "data"));
  return out;
}

Result<Entry> entry_of(const json& line) {
  Entry out;
  ZOO_TRY(out.kind, text_at(line, "kind"));
  ZOO_TRY(out.key, text_at(line, "key"));
  ZOO_TRY(out.value, bytes_at(line, "value"));
  ZOO_TRY(out.revision, number_at(line, "revision"));
  ZOO_TRY(out.created_revision, number_at(line, "created"));
  return out;
}

/// The counts of the header against what came behind it.
Result<void> check_counts(const Content& content) {
  std::map<std::string, std::size_t> records;
  for (const auto& entry : content.records)
    ++records[entry.kind];
  if (records != content.header.records)
    return fail(Code::invalid, "the backup does not hold as many records as it says");
  const bool same =
      std::equal(content.files.begin(), content.files.end(), content.header.files.begin(),
                 content.header.files.end(),
                 [](const File& file, const std::string& name) { return file.name == name; });
  if (!same) return fail(Code::invalid, "the backup does not hold the files that it names");
  return {};
}

} // namespace

bool is_file_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  return !name.empty() && name.size() <= 128 && name.front() != '/' && name.back() != '/' &&
         name.find("..") == std::string_view::npos && name.find("//") == std::string_view::npos &&
         std::count(name.begin(), name.end(), '/') <= 1 &&
         std::all_of(name.begin(), name.end(), plain);
}

Result<Secret> text_of(const Content& content) {
  std::string out = line_of(header_json(content));
  const auto add = [&out](const json& line) -> Result<void> {
    out += line_of(line);
    if (out.size() <= k_most_bytes) return {};
    return fail(Code::too_large,
                "the state has more than {} MiB, which is as much as one backup may hold: take a "
                "snapshot of the file system instead (docs/backup.md)",
                k_most_bytes >> 20);
  };
  for (const auto& each : content.files) {
    if (!is_file_name(each.name))
      return fail(Code::internal, "a file of zood's has a name that no backup holds");
    ZOO_TRY_VOID(add({{"file", each.name}, {"data", crypto::base64_encode(each.bytes.view())}}));
  }
  for (const auto& entry : content.records) {
    ZOO_TRY_VOID(add({{"kind", entry.kind},
                      {"key", entry.key},
                      {"value", crypto::base64_encode(entry.value.view())},
                      {"revision", entry.revision},
                      {"created", entry.created_revision}}));
  }
  ZOO_TRY_VOID(add({{"end", content.files.size() + content.records.size()}}));
  return Secret(std::move(out));
}

Result<Header> read_header(std::string_view line) {
  const auto object = json::parse(line, nullptr, false);
  if (!object.is_object()) return fail(Code::invalid, "it does not begin with the header of one");
  ZOO_TRY(const auto format, text_at(object, "format"));
  if (format != k_content_format) {
    return fail(Code::invalid,
                "it has the format '{}', and this program reads '{}': take the zood and the zooctl "
                "of the version that made it",
                format, k_content_format);
  }
  Header out;
  ZOO_TRY(out.version, text_at(object, "version"));
  ZOO_TRY(out.created, text_at(object, "created"));
  ZOO_TRY(out.upstream, text_at(object, "upstream"));
  ZOO_TRY(out.revision, number_at(object, "revision"));
  const auto records = object.value("records", json::object());
  for (const auto& [kind, count] : records.items()) {
    if (!count.is_number_unsigned()) return fail(Code::invalid, "its counts are no numbers");
    out.records[kind] = count.get<std::size_t>();
  }
  for (const auto& name : object.value("files", json::array())) {
    if (!name.is_string()) return fail(Code::invalid, "its files have no names");
    out.files.push_back(name.get<std::string>());
  }
  return out;
}

Result<Content> read_content(std::string_view text) {
  Content out;
  bool ended = false;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto stop = text.find('\n', at);
    if (stop == std::string_view::npos) return bad_line(number + 1, "it is cut off");
    const auto line = text.substr(at, stop - at);
    at = stop + 1;
    if (++number == 1) {
      auto header = read_header(line);
      if (!header) return bad_line(number, header.error().message());
      out.header = *std::move(header);
      continue;
    }
    if (ended) return bad_line(number, "there is more behind the end");
    const auto object = json::parse(line, nullptr, false);
    if (!object.is_object()) return bad_line(number, "it is no JSON");
    if (object.contains("end")) {
      const auto count = number_at(object, "end");
      if (!count || *count != static_cast<std::int64_t>(number) - 2)
        return bad_line(number, "lines are missing");
      ended = true;
    } else if (object.contains("file")) {
      auto each = file_of(object);
      if (!each) return bad_line(number, each.error().message());
      out.files.push_back(*std::move(each));
    } else {
      auto entry = entry_of(object);
      if (!entry) return bad_line(number, entry.error().message());
      out.records.push_back(*std::move(entry));
    }
  }
  if (!ended) return fail(Code::invalid, "the backup has no end: it was cut off");
  ZOO_TRY_VOID(check_counts(out));
  return out;
}

} // namespace zoo::backup
