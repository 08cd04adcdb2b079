// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace zoo {

/// Writes metrics in Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/
/// exposition_formats). The samples of a family follow its family(). A value; no thread's own.
///
///   MetricText text;
///   text.family("zood_connections", MetricText::Type::gauge, "Connections of clients");
///   text.sample(3, {{"door", "tenants"}});
class MetricText {
public:
  enum class Type : std::uint8_t { counter, gauge, histogram };
  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::initializer_list<Label>;

  void family(std::string_view name, Type type, std::string_view help);
  /// `suffix`: "_bucket", "_sum", "_count" of a histogram.
  void sample(double value, Labels labels = {}, std::string_view suffix = {}) {
    sample(value, std::span<const Label>(labels.begin(), labels.size()), suffix);
  }
  void sample(double value, std::span<const Label> labels, std::string_view suffix);

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

private:
  std::string text_, name_;
};

inline constexpr std::string_view k_metric_text = "text/plain; version=0.0.4; charset=utf-8";

} // namespace zoo
