// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/keyring.hpp"

#include "common/api/sealed.hpp"
#include "common/base/file.hpp"
#include "common/base/text.hpp"
#include "common/crypto/aead.hpp"
#include "common/crypto/digest.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace zoo::store {
namespace {

constexpr std::string_view k_kind = api::sealed::k_keyring_kind;

std::string associated(std::string_view purpose) { return api::sealed::keyring(purpose); }

Result<Secret> new_key() {
  ZOO_TRY(auto bytes, crypto::random_bytes(crypto::Sealer::k_key_size));
  return Secret(std::move(bytes));
}

Result<Secret> read_master(const std::filesystem::path& file) {
  struct stat info{};
  if (::stat(file.c_str(), &info) == 0 && (info.st_mode & 077) != 0) {
    return fail(Code::invalid,
                "others than its owner may read the master key {} (mode {:o}): it may have leaked; "
                "if you are sure it has not, chmod 600 it",
                file.string(), info.st_mode & 0777u);
  }
  ZOO_TRY(const auto text, file::read_secret(file, 1024));
  auto bytes = crypto::base64_decode(text::trim(text.view()));
  if (!bytes || bytes->size() != crypto::Sealer::k_key_size) {
    return fail(Code::invalid,
                "the master key {} is not 32 bytes in base64: restore it from a "
                "backup",
                file.string());
  }
  return Secret(std::move(*bytes));
}

Result<Secret> make_master(Store& store, const std::filesystem::path& file) {
  ZOO_TRY(const auto sealed, store.list(k_kind, {}, {}, 1));
  if (!sealed.records.empty()) {
    return fail(Code::invalid,
                "the master key {} is missing, and the store holds keys that only "
                "it can open: restore it from a backup",
                file.string());
  }
  ZOO_TRY(auto key, new_key());
  const Secret text(crypto::base64_encode(key.view()) + "\n");
  ZOO_TRY_VOID(file::write_secret(file, text.view()));
  return key;
}

} // namespace

class Keyring::Impl {
public:
  Impl(Store& store, Secret master) : store_(store), sealer_(std::move(master)) {}

  Result<Secret> key(std::string_view purpose) {
    const std::lock_guard lock(mutex_);
    if (const auto known = keys_.find(purpose); known != keys_.end()) return known->second.clone();
    ZOO_TRY(auto found, load_or_make(purpose));
    return keys_.emplace(purpose, std::move(found)).first->second.clone();
  }

private:
  Result<Secret> load_or_make(std::string_view purpose) {
    auto record = store_.get(k_kind, purpose);
    if (!record && record.error().code() == Code::not_found) {
      ZOO_TRY(auto made, new_key());
      auto stored =
          store_.put(k_kind, purpose,
                     crypto::base64_encode(sealer_.seal(made.view(), associated(purpose))), 0);
      if (stored) return made;
      if (stored.error().code() != Code::already_exists) return fail(std::move(stored).error());
      record = store_.get(k_kind, purpose); // another replica was first: its key counts
    }
    if (!record) return fail(std::move(record).error());
    auto sealed = crypto::base64_decode(record->value);
    auto opened = sealed ? sealer_.open(*sealed, associated(purpose))
                         : Result<Secret>(fail(Code::invalid, "not base64"));
    if (!opened || opened->view().size() != crypto::Sealer::k_key_size) {
      return fail(Code::invalid,
                  "the stored key '{}' was not sealed with this master key: restore "
                  "master.key and the database from the same backup",
                  purpose);
    }
    return opened;
  }

  Store& store_;
  const crypto::Sealer sealer_;
  std::mutex mutex_;
  std::map<std::string, Secret, std::less<>> keys_;
};

Keyring::Keyring(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Keyring::Keyring(Keyring&&) noexcept = default;
Keyring& Keyring::operator=(Keyring&&) noexcept = default;
Keyring::~Keyring() = default;

Result<Keyring> Keyring::open(Store& store, const std::filesystem::path& directory) {
  const auto file = directory / "master.key";
  auto master = read_master(file);
  if (!master && master.error().code() == Code::not_found) master = make_master(store, file);
  if (!master) return fail(std::move(master).error());
  return Keyring(std::make_unique<Impl>(store, std::move(*master)));
}

Result<Secret> Keyring::key(std::string_view purpose) {
  const bool fits = !purpose.empty() && purpose.size() <= 64 &&
                    std::all_of(purpose.begin(), purpose.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                    });
  if (!fits) return fail(Code::invalid, "a key's purpose is 1 to 64 characters of a-z, 0-9 and -");
  return impl_->key(purpose);
}

} // namespace zoo::store
