// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Links of services that are proxied (pods/x/proxy, services/x/proxy). kube-apiserver puts the
/// path by which it was asked in front of a page's links and of Location, so that they lead through
/// the proxy again (k8s.io/apimachinery pkg/util/proxy/transport.go). It was asked by upstream's
/// path; here that becomes the tenant's (docs/decisions/167). Pure; one thread at a time.
namespace zoo::translate {

/// The path of one proxied service, up to and with "/proxy", without a slash at its end.
struct ProxyPlace {
  std::string upstream; ///< in upstream's names
  std::string tenant;   ///< in the tenant's
  std::string host;     ///< the Host that upstream was asked with: a link to it is one to the proxy
};

/// `url` with the tenant's path, and without a host, if it leads to the place; else none.
std::optional<std::string> link_out(const ProxyPlace& place, std::string_view url);

/// Rewrites an HTML page as it streams: in the attributes that kube-apiserver rewrites, and nowhere
/// else. It tells tags from text, comments and scripts as the tokenizer of golang.org/x/net/html
/// does, which has written what arrives here. Holds back what may be the beginning of a link: less
/// than the upstream path and the host together have bytes, and 16.
class PageLinks {
public:
  explicit PageLinks(ProxyPlace place);

  void feed(std::string_view html, std::string& out); ///< appends what can be said already
  void finish(std::string& out);                      ///< once, last

private:
  enum class State : std::uint8_t {
    text,
    less_than,     ///< "<"
    end_tag_open,  ///< "</"
    markup,        ///< "<!"
    comment,       ///< "<!--" and on
    bogus_comment, ///< up to the next ">"
    tag_name,      ///< of a start tag or an end tag
    before_attribute,
    attribute,       ///< its name
    after_attribute, ///< its name, and white space
    before_value,    ///< "=" and white space
    value,
    raw, ///< inside <style>, <title> and their kin
    raw_less_than,
    raw_end_tag, ///< "</" and a part of the raw element's name
    plain,       ///< behind <plaintext>: up to the end
    script,
    script_less_than,
    script_escape,      ///< "<!" in a script
    script_escape_dash, ///< "<!-"
    script_escaped,
    script_escaped_less_than,
    script_double_start, ///< "<" and a part of "script" in an escaped part
    script_double,       ///< escaped twice: "</script>" ends this only
    script_double_less_than,
  };

  bool step(char c); ///< false: the same byte once more, in the new state
  bool step_comment(char c);
  bool step_tag(char c);
  bool step_raw(char c);
  bool step_script(char c);
  bool begin_tag(bool start);
  void end_tag();
  void begin_value();
  bool whole() const; ///< what is held back is a link to the place, if the right byte follows
  void match(char c);
  void settle(bool leads); ///< decides what is held back
  void begin_raw_end(State back);

  const ProxyPlace place_;
  const std::array<std::string, 4> starts_; ///< how a link to the place can begin
  std::string* out_ = nullptr;
  State state_ = State::text;
  State back_ = State::text; ///< where a raw end tag that is none leads back to
  bool start_tag_ = false;
  bool taken_ = false;    ///< the byte is held back
  bool matching_ = false; ///< the value may still begin with a link to the place
  char quote_ = 0;        ///< of the value; 0: none
  unsigned dashes_ = 0;   ///< in a row, in a comment or an escaped script
  bool comment_begins_ = false, bang_ = false;
  std::string tag_, name_; ///< lower case; cut where they are longer than any that counts
  std::string raw_tag_;    ///< the raw element that is open, or ""
  std::size_t at_ = 0;     ///< bytes of raw_tag_, or of "script", that have come
  std::string held_;
};

} // namespace zoo::translate
