// SPDX-License-Identifier: Apache-2.0
#include "common/kube/status.hpp"

#include "common/base/error_table.hpp"
#include "common/base/json_text.hpp"

#include <string_view>

namespace zoo::kube {
namespace {

class Fields {
public:
  explicit Fields(std::string& out) : out_(out) {}
  void add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    begin(name);
    append_json_quoted(out_, value);
  }
  void begin(std::string_view name) {
    out_ += first_ ? "" : ",";
    first_ = false;
    append_json_quoted(out_, name);
    out_ += ':';
  }

private:
  std::string& out_;
  bool first_ = true;
};

/// Empty where there is nothing to say.
std::string details_json(const StatusDetails& details) {
  std::string out = "{";
  Fields fields(out);
  fields.add("name", details.name);
  fields.add("group", details.group);
  fields.add("kind", details.kind);
  fields.add("uid", details.uid);
  if (!details.causes.empty()) {
    fields.begin("causes");
    out += '[';
    for (const auto& cause : details.causes) {
      if (&cause != &details.causes.front()) out += ',';
      out += '{';
      Fields each(out);
      each.add("reason", cause.reason);
      each.add("message", cause.message);
      each.add("field", cause.field);
      out += '}';
    }
    out += ']';
  }
  if (details.retry_after_seconds > 0) {
    fields.begin("retryAfterSeconds");
    out += std::to_string(details.retry_after_seconds);
  }
  return out.size() == 1 ? std::string() : out + '}';
}

std::string status(std::string_view outcome, std::string_view message, std::string_view reason,
                   int code, const StatusDetails& details) {
  std::string out = R"({"kind":"Status","apiVersion":"v1","metadata":{},)";
  Fields fields(out);
  fields.add("status", outcome);
  fields.add("message", message);
  fields.add("reason", reason);
  if (const auto json = details_json(details); !json.empty()) {
    fields.begin("details");
    out += json;
  }
  fields.begin("code");
  out += std::to_string(code);
  return out + '}';
}

} // namespace

std::string status_json(const Error& error, const StatusDetails& details) {
  const auto& row = error_row(error.code());
  return status("Failure", error.message(), row.reason, row.http_status, details);
}

std::string success_json(const StatusDetails& details) {
  return status("Success", {}, {}, 200, details);
}

} // namespace zoo::kube
