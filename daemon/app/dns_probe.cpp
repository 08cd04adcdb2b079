// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/dns_probe.hpp"

#include "common/base/file.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/net/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

namespace zoo::app {
namespace {

constexpr std::size_t k_head = 12, k_longest_name = 253, k_longest_label = 63;
constexpr std::size_t k_datagram = 4096; ///< more of an answer is not read
constexpr std::uint16_t k_port = 53, k_type_a = 1, k_type_aaaa = 28, k_class_in = 1;
constexpr std::size_t k_records = 64; ///< of an answer, that are looked at

void put16(std::string& out, std::uint16_t value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value & 0xff);
}

/// Of a message, from one place on.
class DnsReader {
public:
  explicit DnsReader(std::string_view bytes) : bytes_(bytes) {}
  std::optional<std::uint16_t> number() {
    const auto two = take(2);
    if (!two) return std::nullopt;
    return static_cast<std::uint16_t>(static_cast<unsigned char>((*two)[0]) << 8 |
                                      static_cast<unsigned char>((*two)[1]));
  }
  std::optional<std::string_view> take(std::size_t count) {
    if (bytes_.size() - at_ < count) return std::nullopt;
    const auto out = bytes_.substr(at_, count);
    at_ += count;
    return out;
  }
  /// Over a name; where it goes on by a pointer it ends here.
  bool skip_name() {
    for (;;) {
      const auto length = take(1);
      if (!length) return false;
      const auto value = static_cast<unsigned char>(length->front());
      if (value == 0) return true;
      if (value >= 0xc0) return take(1).has_value();
      if (value > k_longest_label || !take(value)) return false;
    }
  }

private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

std::string address_text(std::string_view bytes, int family) {
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (::inet_ntop(family, bytes.data(), out.data(), out.size()) == nullptr) return {};
  return out.data();
}

DnsAnswer nothing(std::string why) { return {DnsAnswer::Kind::none, std::move(why)}; }

DnsAnswer failed(std::string_view what) {
  return nothing(fmt::format("{}: {}", what, std::strerror(errno)));
}

} // namespace

std::string dns_question(std::string_view name, bool v6, std::uint16_t id) {
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty() || name.size() > k_longest_name) return {};
  std::string out;
  put16(out, id);
  put16(out, 0x0100); // it may ask others
  for (const std::uint16_t count : {1, 0, 0, 0})
    put16(out, count);
  for (;;) {
    const auto end = name.find('.');
    const auto label = name.substr(0, end);
    if (label.empty() || label.size() > k_longest_label) return {};
    out += static_cast<char>(label.size());
    out += label;
    if (end == std::string_view::npos) break;
    name.remove_prefix(end + 1);
  }
  out += '\0';
  put16(out, v6 ? k_type_aaaa : k_type_a);
  put16(out, k_class_in);
  return out;
}

DnsAnswer read_dns_answer(std::string_view bytes, std::uint16_t id) {
  DnsReader reader(bytes);
  const auto their_id = reader.number(), flags = reader.number(), questions = reader.number(),
             answers = reader.number();
  if (!answers || *their_id != id || (*flags & 0x8000U) == 0 || !reader.take(4))
    return nothing("what came was no answer");
  const unsigned code = *flags & 0xfU;
  if (code == 3) return {DnsAnswer::Kind::no_such_name, {}};
  if (code != 0) return {DnsAnswer::Kind::refused, fmt::format("it answers with code {}", code)};
  for (unsigned i = 0; i < *questions && i < k_records; ++i) {
    if (!reader.skip_name() || !reader.take(4)) return nothing("what came was no answer");
  }
  for (unsigned i = 0; i < *answers && i < k_records; ++i) {
    if (!reader.skip_name()) return nothing("what came was no answer");
    const auto type = reader.number();
    const auto rest = reader.take(6); // class and lifetime
    const auto length = reader.number();
    const auto data = length ? reader.take(*length) : std::nullopt;
    if (!rest || !data) return nothing("what came was no answer");
    if (*type == k_type_a && data->size() == 4)
      return {DnsAnswer::Kind::address, address_text(*data, AF_INET)};
    if (*type == k_type_aaaa && data->size() == 16)
      return {DnsAnswer::Kind::address, address_text(*data, AF_INET6)};
  }
  return {DnsAnswer::Kind::no_such_name, {}};
}

DnsAnswer ask_dns(const std::string& server, std::string_view name, bool v6,
                  std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout;
  const auto addresses = net::numeric_address(server, k_port);
  if (addresses.empty()) return nothing("it is no IP address");
  const auto& address = addresses.front();
  const auto random = crypto::random_bytes(2);
  if (!random) return nothing(random.error().message());
  const auto id = static_cast<std::uint16_t>(static_cast<unsigned char>((*random)[0]) << 8 |
                                             static_cast<unsigned char>((*random)[1]));
  const auto question = dns_question(name, v6, id);
  if (question.empty()) return nothing("it is no name");
  const file::Fd socket(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return failed("no socket");
  if (::connect(socket.get(), address.get(), address.size) != 0 ||
      ::send(socket.get(), question.data(), question.size(), 0) < 0)
    return failed("it cannot be reached");
  std::array<char, k_datagram> buffer{};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{socket.get(), POLLIN, 0};
    const auto ready = left > 0 ? ::poll(&waiting, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return nothing(fmt::format("no answer within {} ms", timeout.count()));
    const auto count = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (count < 0) return failed("it cannot be reached");
    auto answer = read_dns_answer({buffer.data(), static_cast<std::size_t>(count)}, id);
    if (answer.kind != DnsAnswer::Kind::none) return answer;
  }
}

} // namespace zoo::app
