// SPDX-License-Identifier: Apache-2.0
#include "world_rows.hpp"

#include "common/base/file.hpp"
#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"
#include "daemon/translate/query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <regex>
#include <stdexcept>
#include <thread>

namespace zoo::test {
namespace {

constexpr std::string_view k_row = "=== ";
constexpr std::string_view k_section = "--- ";
constexpr std::string_view k_setting = "with ";
constexpr std::string_view k_asked = "upstream is asked";
constexpr std::string_view k_hex = "hex:";
constexpr std::string_view k_times = "times:";

[[noreturn]] void wrong(const std::string& what) { throw std::runtime_error(what); }

std::string trimmed_end(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (const auto line : text::split(text, '\n'))
    out.emplace_back(line);
  return out;
}

/// A body as a row writes it: as it is; "hex:0a1b" for bytes that are no text; "times:3 ab" for
/// "ababab". What the client was told to continue with stands for ${continue}.
std::string body_of(std::string text, const std::string& next) {
  text = trimmed_end(std::move(text));
  if (text.starts_with(k_hex)) {
    std::string out;
    for (auto at = k_hex.size(); at + 1 < text.size(); at += 2)
      out += static_cast<char>(std::stoi(text.substr(at, 2), nullptr, 16));
    return out;
  }
  if (text.starts_with(k_times)) {
    const auto blank = text.find(' ');
    std::string out;
    for (auto left = std::stoul(text.substr(k_times.size(), blank)); left > 0; --left)
      out += text.substr(blank + 1);
    return out;
  }
  constexpr std::string_view k_next = "${continue}";
  if (const auto at = text.find(k_next); at != std::string::npos)
    text.replace(at, k_next.size(), next);
  return text;
}

std::string printed_body(std::string_view body) {
  const bool binary = !is_utf8(body) || std::any_of(body.begin(), body.end(), [](unsigned char c) {
    return c == 0x7f || (c < 0x20 && c != '\n' && c != '\t' && c != '\r');
  });
  if (!binary) return trimmed_end(std::string(body));
  std::string out(k_hex);
  for (const unsigned char c : body)
    out += fmt::format("{:02x}", c);
  return out;
}

struct Message {
  std::string first; ///< the first line
  http::Headers headers;
  std::string body;
};

Message message_of(const std::string& text, const std::string& next) {
  Message out;
  const auto lines = lines_of(text);
  std::size_t at = 0;
  if (at < lines.size()) out.first = lines[at++];
  for (; at < lines.size() && !lines[at].empty(); ++at) {
    const auto colon = lines[at].find(':');
    if (colon == std::string::npos) wrong("this is no header field: " + lines[at]);
    out.headers.add(lines[at].substr(0, colon), text::trim(lines[at].substr(colon + 1)));
  }
  std::string body;
  for (++at; at < lines.size(); ++at)
    body += lines[at] + '\n';
  out.body = body_of(std::move(body), next);
  return out;
}

std::string printed(std::string text, const http::Headers& headers, std::string_view body,
                    std::initializer_list<std::string_view> hidden) {
  for (const auto& [name, value] : headers) {
    const bool hide = std::any_of(hidden.begin(), hidden.end(), [&](std::string_view prefix) {
      return text::iequals(name.substr(0, prefix.size()), prefix);
    });
    if (!hide) text += fmt::format("\n{}: {}", name, value);
  }
  text = trimmed_end(std::move(text)) + '\n';
  if (!body.empty()) text += '\n' + printed_body(body) + '\n';
  return text;
}

/// Somebody who goes as he is, with all that upstream hears of him.
std::string himself(const http::Headers& headers) {
  std::string out = std::string(headers.get("impersonate-user")) + " himself";
  if (const auto uid = headers.get("impersonate-uid"); !uid.empty())
    out += fmt::format(" of UID {}", uid);
  for (const auto group : headers.all("impersonate-group"))
    out += fmt::format(" of {}", group);
  constexpr std::string_view k_extra = "impersonate-extra-";
  for (const auto& [name, value] : headers) {
    const auto lower = text::lower(name);
    if (lower.starts_with(k_extra))
      out += fmt::format(" with {} {}", lower.substr(k_extra.size()), value);
  }
  return out;
}

/// The person that upstream is asked as: zood itself, or a tenant's user, in whose name.
std::string whom(const http::Headers& headers) {
  std::string out = "zood";
  if (headers.get("authorization") != "Bearer zood") out = "somebody without zood's credential";
  const auto user = headers.get("impersonate-user");
  auto groups = headers.all("impersonate-group");
  if (user.empty() && groups.empty()) return out;
  if (out != "zood") return out;
  if (!headers.has("impersonate-extra-zoo-user")) return himself(headers);
  out = user;
  for (const auto group : groups)
    if (group != "zoo:tenants") out += fmt::format(" and {}", group);
  if (std::find(groups.begin(), groups.end(), "zoo:tenants") == groups.end())
    out += ", who is no tenant,";
  out += fmt::format(" for {}", headers.get("impersonate-extra-zoo-user"));
  for (const auto group : headers.all("impersonate-extra-zoo-group"))
    if (group != "system:authenticated" && group != "system%3Aauthenticated")
      out += fmt::format(" of {}", group);
  return out;
}

/// Positions of zood's making are written as what they say.
std::string readable(const std::string& target) {
  constexpr std::string_view k_continue = "continue=";
  const auto at = target.find(k_continue);
  if (at == std::string::npos) return target;
  const auto begin = at + k_continue.size();
  const auto end = std::min(target.find('&', begin), target.size());
  const auto token = crypto::base64url_decode(target.substr(begin, end - begin));
  if (!token || !token->starts_with('{')) return target;
  return target.substr(0, begin) + *token + target.substr(end);
}

/// What differs from run to run: this moment, identifiers that were made up, upstream's port.
std::string lasting(std::string text, const std::string& given) {
  static const std::regex uuid("[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}");
  static const std::regex port("127\\.0\\.0\\.1:[0-9]+");
  static const std::regex time("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}Z");
  const auto replace = [&](const std::regex& form, const std::string& word) {
    std::string out;
    auto rest = text.cbegin();
    for (std::sregex_iterator at(text.begin(), text.end(), form), end; at != end; ++at) {
      out.append(rest, (*at)[0].first);
      out += given.find(at->str()) == std::string::npos ? word : at->str();
      rest = (*at)[0].second;
    }
    text = out.append(rest, text.cend());
  };
  replace(uuid, "<made up>");
  replace(time, "<now>");
  replace(port, "<upstream>");
  return text;
}

/// Says what zood did, or stands where that will be told.
bool derived(const Section& section) {
  return section.head.starts_with(k_asked) || section.head.ends_with(" is answered") ||
         section.head.ends_with(" is cut off") || section.head.ends_with(" hears") ||
         section.head.ends_with(" hears more");
}

class Play {
public:
  Play(const Row& row, bool as_told) : row_(row), as_told_(as_told), world_(row.settings) {
    for (const auto& section : row.sections)
      given_ += section.text + '\n';
  }

  std::vector<Section> run() {
    for (const auto& section : row_.sections) {
      if (section.head.starts_with(k_asked)) {
        if (as_told_) hear_asked();
      } else if (section.head == "upstream hears") {
        tell_tunnel(section);
      } else if (derived(section)) {
        // In its place also where nothing is known yet of when it comes.
        client_section(section);
      } else {
        act(section);
      }
    }
    end();
    return std::move(out_);
  }

private:
  // ---- what is waited for ----

  bool client_over() const { return client_ && client_->over(); } ///< on the loop
  bool over_now() {
    bool out = false;
    world_.on([&] { out = client_over(); });
    return out;
  }

  /// The next request upstream; false: the client has its answer, and none comes.
  bool hear_asked() {
    bool over = false;
    const auto come = [&] {
      world_.eventually([&] {
        over = client_over();
        return over || world_.upstream().waiting();
      });
    };
    come();
    if (over) world_.settle(); // it may be on its way
    std::optional<Asked> asked;
    world_.on([&] { asked = world_.upstream().next(); });
    if (!asked) return false;
    const auto& head = asked->head;
    out_.push_back({fmt::format("{} as {}", k_asked, whom(head.headers)),
                    lasting(printed(fmt::format("{} {}", head.method, readable(head.target)),
                                    head.headers, asked->body,
                                    {"impersonate-", "authorization", "user-agent",
                                     "content-length", "connection"}),
                            given_)});
    return true;
  }

  bool unanswered() {
    bool out = false;
    world_.on([&] { out = world_.upstream().unanswered(); });
    return out;
  }

  /// What has been asked upstream and nobody has told of.
  void hear_rest() {
    world_.settle();
    for (;;) {
      bool more = false;
      world_.on([&] { more = world_.upstream().waiting(); });
      if (!more) return;
      hear_asked();
    }
  }

  // ---- what the client has ----

  std::string client_text() {
    std::string out;
    world_.on([&] {
      if (!client_->head_came) return;
      auto body = client_->body.substr(told_);
      static const std::regex sealed(R"re("continue":"([^"]+)")re");
      if (std::smatch found; std::regex_search(body, found, sealed)) {
        next_ = found[1];
        body = std::regex_replace(body, sealed, R"("continue":"<sealed>")");
      }
      if (told_head_) {
        out = printed_body(body) + '\n';
      } else {
        out = printed(std::to_string(client_->head.status), client_->head.headers, body,
                      {"content-length"});
      }
    });
    return lasting(std::move(out), given_);
  }

  void client_section(const Section& section) {
    if (!client_) wrong(fmt::format("in '{}' nobody has asked yet", row_.title));
    const bool stays = section.head.ends_with(" hears") || section.head.ends_with(" hears more");
    if (as_told_ && stays) {
      const auto until = std::chrono::steady_clock::now() + GatewayWorld::k_patience;
      while (client_text() != section.text && std::chrono::steady_clock::now() < until)
        world_.settle();
    } else if (as_told_) {
      world_.eventually([&] { return client_over(); });
    } else {
      quiet();
      hear_rest();
    }
    tell_client();
  }

  /// Nothing has happened for a while; for who writes a row, and does not know what will.
  void quiet() {
    std::string before = "?";
    for (auto now = state(); !over_now() && now != before; now = state()) {
      before = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    world_.settle();
  }
  std::string state() {
    std::string out;
    world_.on([&] {
      out = fmt::format("{} {} {}", world_.upstream().requests(),
                        client_ ? client_->body.size() : 0, client_ && client_->head_came);
    });
    return out;
  }

  void tell_client() {
    const auto text = client_text();
    const char* what = told_head_ ? "hears more" : "hears";
    bool over = false;
    world_.on([&] {
      if (client_->cut_off) {
        what = "is cut off";
      } else if (client_->ended) {
        what = "is answered";
      }
      over = client_->over();
      told_head_ = client_->head_came;
      told_ = client_->body.size();
    });
    out_.push_back({fmt::format("{} {}", who_, what), text});
    told_over_ = over;
  }

  /// Before another one asks, and at the end.
  void end() {
    if (client_ && !as_told_ && !told_over_) {
      quiet();
      hear_rest();
      if (!told_over_ && (told_ == 0 || over_now())) tell_client();
    }
    hear_rest();
  }

  // ---- what the row does ----

  void act(const Section& section) {
    out_.push_back(section);
    const auto& head = section.head;
    if (head.ends_with(" asks")) return ask(section);
    if (head.ends_with(" goes away")) {
      world_.on([&] {
        if (!client_->over()) client_->handler->on_reset();
        client_->cut_off = true;
      });
      told_over_ = true;
      return;
    }
    if (head.ends_with(" sends")) {
      return world_.on([&] { client_->handler->on_data(body_of(section.text, next_)); });
    }
    if (head == "john is let into team-c") return world_.change_rights({"team-c", ""});
    if (head == "john loses team-b") return world_.change_rights({"", "team-b"});
    if (head == "john is let in everywhere") return world_.change_rights({"", "", true});
    if (head == "john is let in there no more") return world_.change_rights({});
    if (head == "upstream is away") return world_.on([&] { world_.upstream().go_away(); });
    if (head == "upstream closes the stream" || head == "upstream goes on" ||
        head == "upstream breaks the stream") {
      Said said;
      said.body = body_of(section.text, next_);
      if (!said.body.empty()) said.body += '\n';
      said.then = head.ends_with("on") ? Said::Then::open : Said::Then::end;
      if (head.starts_with("upstream breaks")) said.then = Said::Then::reset;
      bool heard = false;
      world_.on([&] { heard = world_.upstream().say_more(said); });
      if (!heard) wrong(fmt::format("in '{}' nobody listens to '{}'", row_.title, head));
      return;
    }
    answer(section);
  }

  void ask(const Section& section) {
    const auto mine = std::move(out_.back());
    out_.pop_back();
    end();
    out_.push_back(mine);
    who_ = section.head.substr(0, section.head.find(' '));
    auto message = message_of(section.text, next_);
    const auto blank = message.first.find(' ');
    http::RequestHead head;
    head.method = message.first.substr(0, blank);
    head.target = body_of(message.first.substr(blank + 1), next_);
    head.authority = "zood.example:7443";
    head.headers = std::move(message.headers);
    head.upgrade = head.headers.has("upgrade");
    if (!message.body.empty())
      head.headers.add("content-length", std::to_string(message.body.size()));
    told_ = 0;
    told_head_ = told_over_ = false;
    client_ = world_.ask(who_, std::move(head), message.body);
  }

  void answer(const Section& section) {
    if (!as_told_ && !unanswered()) {
      const auto mine = std::move(out_.back());
      out_.pop_back();
      hear_asked();
      hear_rest();
      out_.push_back(mine);
    }
    Said said;
    const auto& head = section.head;
    if (head != "upstream hangs up") {
      auto message = message_of(section.text, next_);
      said.status = std::stoi(message.first);
      said.headers = std::move(message.headers);
      said.body = std::move(message.body);
    }
    if (head == "upstream begins to answer") {
      said.then = Said::Then::open;
      if (!said.body.empty()) said.body += '\n';
    } else if (head == "upstream breaks off" || head == "upstream hangs up") {
      said.then = Said::Then::reset;
    } else if (head != "upstream answers") {
      wrong(fmt::format("in '{}': no row says '{}'", row_.title, head));
    }
    bool heard = false;
    world_.on([&] { heard = world_.upstream().say(said); });
    if (!heard) out_.push_back({"nobody waits for this answer", ""});
  }

  void tell_tunnel(const Section& section) {
    std::string heard;
    const auto wanted = body_of(section.text, next_);
    world_.eventually([&] {
      heard += world_.upstream().take_heard();
      return heard.size() >= wanted.size();
    });
    out_.push_back({section.head, printed_body(heard) + '\n'});
  }

  const Row& row_;
  const bool as_told_;
  GatewayWorld world_;
  std::string given_; ///< all that the row says
  std::vector<Section> out_;
  std::string who_, next_;
  std::shared_ptr<WorldClient> client_;
  std::size_t told_ = 0;
  bool told_head_ = false, told_over_ = false;
};

} // namespace

RowFile read_rows(const std::filesystem::path& path) {
  auto text = file::read(path);
  if (!text) wrong(text.error().text());
  RowFile out;
  std::string* into = &out.comment;
  for (const auto& line : lines_of(trimmed_end(*text))) {
    if (line.starts_with(k_row)) {
      out.rows.push_back({line.substr(k_row.size()), {}, {}});
      into = nullptr;
    } else if (!out.rows.empty() && line.starts_with(k_section)) {
      out.rows.back().sections.push_back({line.substr(k_section.size()), ""});
      into = &out.rows.back().sections.back().text;
    } else if (into != nullptr) {
      *into += line + '\n';
    } else if (line.starts_with(k_setting) && line.find(": ") != std::string::npos) {
      const auto colon = line.find(": ");
      out.rows.back().settings[line.substr(k_setting.size(), colon - k_setting.size())] =
          line.substr(colon + 2);
    } else if (!line.empty()) {
      wrong(fmt::format("{}: '{}' belongs to no section", path.string(), line));
    }
  }
  out.comment = trimmed_end(std::move(out.comment)) + '\n';
  for (auto& row : out.rows) {
    for (auto& section : row.sections) {
      section.text = trimmed_end(std::move(section.text));
      if (!section.text.empty()) section.text += '\n';
    }
  }
  return out;
}

std::string text_of(const Section& section) {
  const auto text = trimmed_end(section.text);
  return fmt::format("{}{}\n{}{}", k_section, section.head, text, text.empty() ? "" : "\n");
}

std::string text_of(const RowFile& file) {
  auto out = file.comment;
  for (const auto& row : file.rows) {
    out += fmt::format("\n{}{}\n", k_row, row.title);
    for (const auto& [name, value] : row.settings)
      out += fmt::format("{}{}: {}\n", k_setting, name, value);
    for (const auto& section : row.sections)
      out += text_of(section);
  }
  return out;
}

std::vector<Section> play(const Row& row, bool as_told) {
  auto out = Play(row, as_told).run();
  for (auto& section : out) {
    section.text = trimmed_end(std::move(section.text));
    if (!section.text.empty()) section.text += '\n';
  }
  return out;
}

} // namespace zoo::test
