// SPDX-License-Identifier: Apache-2.0
#include "fetch.hpp"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace zoo::test {
namespace {

std::size_t append(char* bytes, std::size_t size, std::size_t count, void* out) {
  static_cast<std::string*>(out)->append(bytes, size * count);
  return size * count;
}

void set_blob(CURL* curl, CURLoption option, const std::string& text) {
  if (text.empty()) return;
  curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_COPY};
  curl_easy_setopt(curl, option, &blob);
}

} // namespace

Fetched fetch(const Fetch& what) {
  Fetched result;
  CURL* curl = curl_easy_init();
  curl_easy_setopt(curl, CURLOPT_URL, what.url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
                   what.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &result.body);
  set_blob(curl, CURLOPT_CAINFO_BLOB, what.ca);
  set_blob(curl, CURLOPT_SSLCERT_BLOB, what.client.certificate);
  set_blob(curl, CURLOPT_SSLKEY_BLOB, what.client.key);
  if (!what.unix_socket.empty())
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, what.unix_socket.c_str());
  if (!what.body.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(what.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, what.body.data());
  }
  result.error = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &result.status);
  curl_easy_getinfo(curl, CURLINFO_HTTP_VERSION, &result.version);
  curl_easy_cleanup(curl);
  return result;
}

int port_of(const std::string& address) {
  return std::stoi(address.substr(address.rfind(':') + 1));
}

int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  timeval patience{20, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return socket;
}

std::string talk(int port, const std::string& bytes) {
  const int socket = connect_to(port);
  ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  std::string out;
  char buffer[4'096];
  for (;;) {
    const auto count = ::recv(socket, buffer, sizeof(buffer), 0);
    if (count <= 0) break;
    out.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(socket);
  return out;
}

} // namespace zoo::test
