// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"

#include <string>
#include <string_view>

namespace zoo::translate {

/// Words for people (Status messages, conditions, Event messages, warnings, table cells) outward:
/// the tenant's prefix is stripped where a token begins with it - not behind [a-z0-9-] - and goes
/// on, though not with a quote or a space: what behind it is no name is what a refusal speaks of.
/// So `pods.<id>-group.example.com` and `"<id>-default"` lose it, `x-<id>-y` keeps it. Everything
/// else stays byte for byte, but for why a webhook could not be called and for what zood has put
/// into expressions (cel.hpp). `own`: a name that the tenant itself gave and that begins so; it
/// stays, and loses a second one.
std::string text_out(const Mapping& mapping, std::string_view text, std::string_view own = {});

/// The same for text within an object, which is never longer outward (wire_list.hpp): why a webhook
/// could not be called is left out in as many words as there is room for.
std::string stored_text_out(const Mapping& mapping, std::string_view text);

/// Each `from` by `to`, from left to right; what came of it is not looked at again.
void replace_all(std::string& text, std::string_view from, std::string_view to);

} // namespace zoo::translate
