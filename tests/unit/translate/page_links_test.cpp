// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/page_links.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zoo::translate;

namespace {

const std::string k_up = "/api/v1/namespaces/foofoo-team/services/https:web:8443/proxy";
const std::string k_in = "/api/v1/namespaces/team/services/https:web:8443/proxy";

ProxyPlace place() { return {k_up, k_in, "192.0.2.1:6443"}; }

/// What `html` becomes, whatever the pieces in which it comes. In both, UP and IN are the paths.
std::string page(std::string html) {
  for (auto at = html.find("UP"); at != std::string::npos; at = html.find("UP", at))
    html.replace(at, 2, k_up);
  std::string whole;
  for (const std::size_t slice :
       {html.size() + 1, std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
    PageLinks links(place());
    std::string out;
    for (std::size_t at = 0; at < html.size(); at += slice)
      links.feed(std::string_view(html).substr(at, slice), out);
    links.finish(out);
    if (whole.empty()) whole = out;
    CHECK(out == whole);
  }
  for (auto at = whole.find(k_in); at != std::string::npos; at = whole.find(k_in, at))
    whole.replace(at, k_in.size(), "IN");
  for (auto at = whole.find(k_up); at != std::string::npos; at = whole.find(k_up, at))
    whole.replace(at, k_up.size(), "UP");
  return whole;
}

} // namespace

TEST_CASE("page links: those that kube-apiserver rewrites lead by the tenant's path") {
  CHECK(page(R"(<a href="UP/login?a=b">)") == R"(<a href="IN/login?a=b">)");
  CHECK(page(R"(<a class="x" href="UP/">a</a>)") == R"(<a class="x" href="IN/">a</a>)");
  CHECK(page(R"(<img src="UP"/><form action="UP?q"><link href="UP#at">)") ==
        R"(<img src="IN"/><form action="IN?q"><link href="IN#at">)");
  CHECK(page(R"(<script src="UP/app.js"></script><a href="UP/x">)") ==
        R"(<script src="IN/app.js"></script><a href="IN/x">)");
  CHECK(page("<A HREF = 'UP/x'>") == "<A HREF = 'IN/x'>");
  CHECK(page("<a href=UP/x>") == "<a href=IN/x>");
  CHECK(page("<a href=UP>") == "<a href=IN>");
  CHECK(page(R"(<a href="https://192.0.2.1:6443UP/x">)") == R"(<a href="IN/x">)");
  CHECK(page(R"(<a href="//192.0.2.1:6443UP/x">)") == R"(<a href="IN/x">)");
}

TEST_CASE("page links: everything else stays") {
  const std::string same[] = {
      R"(<a href="/elsewhere"><a href="UPx/"><a href="UP-2"><a href="relative/UP/">)",
      R"(<a href="https://other.example:6443UP/"><a href="http://192.0.2.1UP/">)",
      R"(<a title="UP/" data-href="UP/"><div src="UP/"><p href="UP/">)",
      R"(</a href="UP/"> href="UP/" &lt;a href="UP/"&gt;)",
      R"(<!-- <a href="UP/"> --><!DOCTYPE x "UP/"><?xml href="UP/"?>)",
      R"(<!--><b>--<!-- > <a href="UP/"> --!>)",
      R"(<style>a[href="UP/"] <a href="UP/"></style >)",
      R"(<title><a href="UP/"></titles></title><textarea><a href="UP/"></textarea>)",
      R"(<script>w('<a href="UP/">')</script>)",
      R"(<script><!-- <script> </script> <a href="UP/"> --></script>)",
      R"(<script><!-- </scripts> <a href="UP/"></script>)",
      R"(<plaintext><a href="UP/">)",
      R"(1 < 2 <3 <<>)",
      R"(<a href="/api/v1/namesp)",
      R"(<a href="UP)",
  };
  for (const auto& html : same)
    CHECK(page(html) == html);
}

TEST_CASE("page links: what follows a comment, a script or its kin is a page again") {
  const std::string before[] = {
      "<!-- - -- ->-->",
      "<!-->",
      "<!--->",
      "<!---!>-->",
      "<!--x--!>",
      "<!-x>",
      "<!>",
      "<?x?>",
      "</>",
      "</ x>",
      "<style></style>",
      "<STYLE>x</Style>",
      "<script>a < b</script>",
      "<script><!-- <script> </script> --> </script>",
      "<script><!-- <script> </script> </script>",
      "<title></title/>",
      "<noscript></noscript>",
      "<a b='>' c=\">\" d>",
      "<a =x>",
      "<a/b/>",
      "</a b='>'>",
      "1 < 2 ",
      "<<",
  };
  for (const auto& each : before) {
    CAPTURE(each);
    CHECK(page(each + R"(<a href="UP/">)") == each + R"(<a href="IN/">)");
  }
}

TEST_CASE("page links: a long value is not held back") {
  PageLinks links(place());
  std::string out;
  links.feed("<img src=\"data:", out);
  for (int i = 0; i < 1000; ++i)
    links.feed("0123456789", out);
  CHECK(out.size() == 10'015);
  out.clear();
  links.feed("\"><img src=\"" + k_up, out);
  CHECK(out == "\"><img src=\"");
}

TEST_CASE("page links: a Location is one link") {
  CHECK(link_out(place(), k_up + "/login?a=b") == k_in + "/login?a=b");
  CHECK(link_out(place(), k_up) == k_in);
  CHECK(link_out(place(), "https://192.0.2.1:6443" + k_up + "/") == k_in + "/");
  for (const auto& other :
       {std::string("https://login.example.com/?to=") + k_up, "https://login.example.com" + k_up,
        std::string("../login"), std::string("/login"), k_up + "er/",
        std::string("/api/v1/namespaces/barbar-team/services/https:web:8443/proxy/")})
    CHECK_FALSE(link_out(place(), other));
}
