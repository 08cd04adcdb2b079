// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"
#include "common/base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

/// Kubeconfigs on the disk: 0600 from their first byte, replaced in one step.
namespace zoo::cli {

/// Writes to `file`: a regular file is replaced (a symbolic link's target, not the link);
/// a pipe or a device is written to. Code::io.
Result<void> write_kubeconfig_file(const std::filesystem::path& file, std::string_view text);

/// The file that kubectl would change: of $KUBECONFIG's list the first that exists, else its last,
/// else ~/.kube/config. Code::usage if there is no HOME.
Result<std::filesystem::path> default_kubeconfig_file(const Context& context);

/// Merges into `file` under kubectl's own lock (<file>.lock), keeping all else and the owner.
/// Code::conflict if another program holds the lock; whatever fails, the file stays as it was.
Result<void> merge_into_file(const std::filesystem::path& file, std::string_view added);

/// Merges what names one context into `file`, in the same way, and keeps which one was current
/// before it for disconnect_in_file(). Returns the context's name. Code::conflict, too, if a
/// context, a cluster or a user of the same name is there that it has not put there.
Result<std::string> connect_in_file(const std::filesystem::path& file, std::string_view added);
/// Takes away a context that connect_in_file() has put there, with its cluster and its user where
/// no other context has them; if it is the current one, the one before it is current again, if it
/// is still there. Returns the current context then, "" for none. Code::not_found: there is no such
/// context; Code::conflict: it was made in another way, and stays.
Result<std::string> disconnect_in_file(const std::filesystem::path& file, std::string_view context);
Result<std::string> current_context(const std::filesystem::path& file); ///< "": there is none

/// Sets the namespace of a context of `file`, in the same way, and keeps the one before it for
/// previous_namespace(). Code::not_found: there is no such context.
Result<void> set_namespace(const std::filesystem::path& file, std::string_view context,
                           std::string_view name_space);
/// What the context's namespace was before the last set_namespace(); "" if nobody knows.
Result<std::string> previous_namespace(const std::filesystem::path& file, std::string_view context);

} // namespace zoo::cli
