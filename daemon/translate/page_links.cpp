// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/page_links.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace zoo::translate {
namespace {

/// The attributes of which kube-apiserver takes the value for a URL.
struct Link {
  std::string_view tag, attribute;
};
constexpr Link k_links[] = {
    {"a", "href"},          {"applet", "codebase"},   {"area", "href"},
    {"audio", "src"},       {"base", "href"},         {"blockquote", "cite"},
    {"body", "background"}, {"button", "formaction"}, {"command", "icon"},
    {"del", "cite"},        {"embed", "src"},         {"form", "action"},
    {"frame", "longdesc"},  {"frame", "src"},         {"head", "profile"},
    {"html", "manifest"},   {"iframe", "longdesc"},   {"iframe", "src"},
    {"img", "longdesc"},    {"img", "src"},           {"img", "usemap"},
    {"input", "src"},       {"input", "usemap"},      {"input", "formaction"},
    {"ins", "cite"},        {"link", "href"},         {"object", "classid"},
    {"object", "codebase"}, {"object", "data"},       {"object", "usemap"},
    {"q", "cite"},          {"script", "src"},        {"source", "src"},
    {"video", "poster"},    {"video", "src"},
};

/// Elements whose content is text up to their own end tag.
constexpr std::string_view k_raw[] = {"iframe", "noembed",  "noframes", "noscript", "script",
                                      "style",  "textarea", "title",    "xmp"};
constexpr std::string_view k_script = "script";
constexpr std::size_t k_longest = 16; ///< of the names above, and longer

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f'; }
bool ends_name(char c) { return is_space(c) || c == '/' || c == '>'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

void add_name(std::string& name, char c) {
  if (name.size() <= k_longest) name += lower(c);
}

/// Behind "/proxy": is it the place, and not another name that begins alike?
bool ends_place(char c) { return c == '/' || c == '?' || c == '#'; }

std::array<std::string, 4> starts_of(const ProxyPlace& place) {
  std::array<std::string, 4> out;
  const std::string_view schemes[] = {"", "//", "http://", "https://"};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool hosted = i > 0 && !place.host.empty();
    if (hosted) out[i].append(schemes[i]).append(place.host);
    out[i].append(place.upstream);
  }
  return out;
}

} // namespace

std::optional<std::string> link_out(const ProxyPlace& place, std::string_view url) {
  for (const auto& start : starts_of(place)) {
    if (!url.starts_with(start)) continue;
    const auto rest = url.substr(start.size());
    if (rest.empty() || ends_place(rest.front())) return std::string(place.tenant).append(rest);
  }
  return std::nullopt;
}

PageLinks::PageLinks(ProxyPlace place) : place_(std::move(place)), starts_(starts_of(place_)) {}

void PageLinks::feed(std::string_view html, std::string& out) {
  out_ = &out;
  while (!html.empty()) {
    // The long runs in which one byte alone matters.
    const bool value = state_ == State::value && !matching_ && quote_ != 0;
    if (state_ == State::text || state_ == State::raw || value) {
      const auto run = std::min(html.find(value ? quote_ : '<'), html.size());
      out.append(html.substr(0, run));
      html.remove_prefix(run);
      if (html.empty()) return;
    }
    const char c = html.front();
    html.remove_prefix(1);
    taken_ = false;
    while (!step(c)) {
    }
    if (!taken_) out += c;
  }
}

void PageLinks::finish(std::string& out) {
  out_ = &out;
  settle(false);
}

bool PageLinks::step(char c) {
  switch (state_) {
  case State::text:
    if (c == '<') state_ = State::less_than;
    return true;
  case State::less_than:
    if (is_letter(c)) return begin_tag(true);
    if (c == '/') {
      state_ = State::end_tag_open;
    } else if (c == '!') {
      state_ = State::markup;
      dashes_ = 0;
    } else if (c == '?') {
      state_ = State::bogus_comment;
    } else {
      state_ = State::text;
      return false;
    }
    return true;
  case State::end_tag_open:
    if (is_letter(c)) return begin_tag(false);
    state_ = State::bogus_comment;
    return false;
  case State::markup:
    if (c != '-') {
      state_ = State::bogus_comment;
      return false;
    }
    if (++dashes_ < 2) return true;
    state_ = State::comment;
    dashes_ = 0;
    comment_begins_ = true;
    bang_ = false;
    return true;
  case State::comment:
    return step_comment(c);
  case State::bogus_comment:
    if (c == '>') state_ = State::text;
    return true;
  case State::tag_name:
  case State::before_attribute:
  case State::attribute:
  case State::after_attribute:
  case State::before_value:
  case State::value:
    return step_tag(c);
  case State::raw:
  case State::raw_less_than:
  case State::raw_end_tag:
    return step_raw(c);
  case State::plain:
    return true;
  default:
    return step_script(c);
  }
}

bool PageLinks::step_comment(char c) {
  const bool after_bang = std::exchange(bang_, false);
  if (after_bang) {
    if (c == '>') state_ = State::text;
    dashes_ = c == '-' ? 1 : 0;
    comment_begins_ = false;
    return true;
  }
  if (c == '-') {
    ++dashes_;
    return true;
  }
  if (c == '>' && (dashes_ >= 2 || comment_begins_)) {
    state_ = State::text;
    return true;
  }
  if (c == '!' && dashes_ >= 2) {
    bang_ = true;
    return true;
  }
  dashes_ = 0;
  comment_begins_ = false;
  return true;
}

bool PageLinks::begin_tag(bool start) {
  start_tag_ = start;
  tag_.clear();
  state_ = State::tag_name;
  return false;
}

void PageLinks::end_tag() {
  state_ = State::text;
  if (!start_tag_) return;
  if (tag_ == "plaintext") state_ = State::plain;
  if (std::find(std::begin(k_raw), std::end(k_raw), tag_) == std::end(k_raw)) return;
  raw_tag_ = tag_;
  state_ = tag_ == k_script ? State::script : State::raw;
}

bool PageLinks::step_tag(char c) {
  switch (state_) {
  case State::tag_name:
    if (ends_name(c)) {
      state_ = State::before_attribute;
      return is_space(c);
    }
    add_name(tag_, c);
    return true;
  case State::before_attribute:
    if (is_space(c)) return true;
    if (c == '>') {
      end_tag();
      return true;
    }
    name_.clear();
    state_ = State::attribute;
    return false;
  case State::attribute:
    if (ends_name(c) || (c == '=' && !name_.empty())) {
      state_ = State::after_attribute;
      return false;
    }
    add_name(name_, c);
    return true;
  case State::after_attribute:
    if (is_space(c)) return true;
    state_ = c == '=' ? State::before_value : State::before_attribute;
    return c == '=' || c == '/';
  case State::before_value:
    if (is_space(c)) return true;
    if (c == '>') {
      state_ = State::before_attribute;
      return false;
    }
    quote_ = c == '"' || c == '\'' ? c : '\0';
    begin_value();
    return quote_ != 0;
  default: // of a value
    if (quote_ != 0 ? c == quote_ : is_space(c) || c == '>') {
      settle(matching_ && whole());
      state_ = State::before_attribute;
      return c != '>' || quote_ != 0;
    }
    if (matching_) match(c);
    return true;
  }
}

void PageLinks::begin_value() {
  state_ = State::value;
  matching_ =
      start_tag_ && std::any_of(std::begin(k_links), std::end(k_links), [this](const Link& link) {
        return link.tag == tag_ && link.attribute == name_;
      });
}

bool PageLinks::whole() const {
  return std::find(starts_.begin(), starts_.end(), held_) != starts_.end();
}

void PageLinks::match(char c) {
  if (whole()) return settle(ends_place(c));
  held_ += c;
  taken_ = true;
  const bool may_be = std::any_of(starts_.begin(), starts_.end(),
                                  [this](const auto& start) { return start.starts_with(held_); });
  if (!may_be) settle(false);
}

void PageLinks::settle(bool leads) {
  out_->append(leads ? place_.tenant : held_);
  held_.clear();
  matching_ = false;
}

void PageLinks::begin_raw_end(State back) {
  state_ = State::raw_end_tag;
  back_ = back;
  at_ = 0;
}

bool PageLinks::step_raw(char c) {
  if (state_ == State::raw) {
    if (c == '<') state_ = State::raw_less_than;
    return true;
  }
  if (state_ == State::raw_less_than) {
    if (c == '/') {
      begin_raw_end(State::raw);
      return true;
    }
    state_ = State::raw;
    return false;
  }
  if (at_ < raw_tag_.size() && lower(c) == raw_tag_[at_]) {
    ++at_;
    return true;
  }
  if (at_ < raw_tag_.size() || !ends_name(c)) {
    state_ = back_;
    return false;
  }
  if (back_ == State::script_double) { // it ends what is escaped twice
    state_ = State::script_escaped;
    dashes_ = 0;
    return true;
  }
  start_tag_ = false;
  state_ = State::tag_name;
  return false;
}

bool PageLinks::step_script(char c) {
  const bool twice = state_ == State::script_double;
  switch (state_) {
  case State::script:
    if (c == '<') state_ = State::script_less_than;
    return true;
  case State::script_less_than:
    if (c == '/') {
      begin_raw_end(State::script);
      return true;
    }
    state_ = c == '!' ? State::script_escape : State::script;
    return c == '!';
  case State::script_escape:
    state_ = c == '-' ? State::script_escape_dash : State::script;
    return c == '-';
  case State::script_escape_dash:
    state_ = c == '-' ? State::script_escaped : State::script;
    dashes_ = 2;
    return c == '-';
  case State::script_escaped:
  case State::script_double:
    if (c == '-') {
      ++dashes_;
      return true;
    }
    if (c == '<') {
      state_ = twice ? State::script_double_less_than : State::script_escaped_less_than;
    } else if (c == '>' && dashes_ >= 2) {
      state_ = State::script;
    }
    dashes_ = 0;
    return true;
  case State::script_escaped_less_than:
    if (c == '/') {
      begin_raw_end(State::script_escaped);
      return true;
    }
    at_ = 0;
    state_ = is_letter(c) ? State::script_double_start : State::script;
    return false;
  case State::script_double_start:
    if (at_ < k_script.size() && lower(c) == k_script[at_]) {
      ++at_;
      return true;
    }
    if (at_ == k_script.size() && ends_name(c)) {
      state_ = State::script_double;
      return true;
    }
    state_ = State::script_escaped;
    return false;
  default: // "<" in what is escaped twice
    if (c == '/') {
      begin_raw_end(State::script_double);
      return true;
    }
    state_ = State::script_double;
    return false;
  }
}

} // namespace zoo::translate
