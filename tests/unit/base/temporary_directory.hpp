// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace zoo::test {

/// A directory of its own for one test case, removed with all in it.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    auto form = (std::filesystem::temp_directory_path() / "zoo-test-XXXXXX").string();
    if (mkdtemp(form.data()) == nullptr) throw std::runtime_error("cannot make " + form);
    path_ = form;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ec;
    std::filesystem::remove_all(path_, ec);
  }
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace zoo::test
