// SPDX-License-Identifier: Apache-2.0
// lookup NAME: IPv4 addresses of a name, a line each, by the resolver of the C library that it is linked with. images.py links
// it with musl, whose rules for search domains are not those of glibc.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

int main(int count, char** words) {
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *first, *one;
  char text[INET_ADDRSTRLEN];
  int error;
  if (count != 2) return 64;
  error = getaddrinfo(words[1], NULL, &hints, &first);
  if (error) {
    fprintf(stderr, "%s: %s\n", words[1], gai_strerror(error));
    return 1;
  }
  for (one = first; one; one = one->ai_next)
    puts(inet_ntop(AF_INET, &((struct sockaddr_in*)one->ai_addr)->sin_addr, text, sizeof text));
  freeaddrinfo(first);
  return 0;
}
