// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <tl/expected.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo {

/// What kind of failure. One table (error_table.hpp) maps it to zooctl's exit status, to a
/// Kubernetes Status (code and reason) and to a log level. The names follow metav1.StatusReason
/// (k8s.io/apimachinery/pkg/apis/meta/v1/types.go).
enum class Code {
  bad_request,
  unauthorized,
  forbidden,
  not_found,
  method_not_allowed,
  not_acceptable,
  already_exists,
  conflict,
  expired,
  too_large,
  unsupported_media_type,
  invalid,
  too_many_requests,
  timeout,
  unavailable,
  internal,
  usage,     ///< a command line or a configuration file is wrong (zooctl, start-up only)
  io,        ///< file system: read-only directory, full disk, missing file
  cancelled, ///< the asker went away
};

/// A failure with its kind, one sentence for people, and the frames it came through (innermost
/// first). A value: no allocation shared, no thread affinity. As large as a pointer, for every
/// Result carries one and nearly none is a failure. One that another was made of says so, as
/// Code::internal; one that was moved onto another has what that one was.
class [[nodiscard]] Error {
public:
  [[gnu::cold]] Error(Code code, std::string message);
  [[gnu::cold]] Error(const Error& other);
  [[gnu::cold]] Error& operator=(const Error& other);
  Error(Error&& other) noexcept : parts_(std::exchange(other.parts_, nullptr)) {}
  Error& operator=(Error&& other) noexcept {
    std::swap(parts_, other.parts_);
    return *this;
  }
  ~Error() {
    if (parts_ != nullptr) [[unlikely]]
      destroy();
  }

  Code code() const;
  const std::string& message() const;
  const std::vector<std::string>& frames() const;

  /// Adds "while ..." around what is already known: `error.context("while reading {}", path)`.
  template <class... Args>
  [[gnu::cold]] Error&& context(fmt::format_string<Args...> form, Args&&... args) && {
    add_frame(fmt::format(form, std::forward<Args>(args)...));
    return std::move(*this);
  }

  /// The whole as one line: message, then the frames, outermost last.
  std::string text() const;

private:
  struct Parts;
  const Parts& parts() const;
  [[gnu::cold]] void destroy() noexcept;
  void add_frame(std::string frame);

  Parts* parts_;
};

template <class T>
using Result = tl::expected<T, Error>;

/// `return fail(Code::not_found, "no tenant named {}", id);` - converts to any Result.
template <class... Args>
[[gnu::cold, gnu::noinline]] tl::unexpected<Error> fail(Code code, fmt::format_string<Args...> form,
                                                        Args&&... args) {
  return tl::unexpected<Error>(Error(code, fmt::format(form, std::forward<Args>(args)...)));
}

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

} // namespace zoo

#define ZOO_CONCAT_(a, b) a##b
#define ZOO_CONCAT(a, b) ZOO_CONCAT_(a, b)

/// `ZOO_TRY(auto key, load_key(path));` declares key, or returns the error from this function.
#define ZOO_TRY(declaration, ...) ZOO_TRY_(ZOO_CONCAT(zoo_try_, __LINE__), declaration, __VA_ARGS__)
#define ZOO_TRY_(temporary, declaration, ...)                                                      \
  auto temporary = (__VA_ARGS__);                                                                  \
  if (!temporary) [[unlikely]]                                                                     \
    return tl::unexpected<::zoo::Error>(std::move(temporary).error());                             \
  declaration = *std::move(temporary)

/// `ZOO_TRY_VOID(write_file(path, bytes));` for a Result<void>.
#define ZOO_TRY_VOID(...)                                                                          \
  do {                                                                                             \
    if (auto zoo_try_void = (__VA_ARGS__); !zoo_try_void) [[unlikely]]                             \
      return tl::unexpected<::zoo::Error>(std::move(zoo_try_void).error());                        \
  } while (false)
