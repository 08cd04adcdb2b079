// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"

#include <string>
#include <string_view>

namespace zoo::translate {

class WordSource;

/// Of the webhook by which upstream asks zood about quotas in tenants' namespaces; text_out()
/// leaves it out of its refusals.
inline constexpr std::string_view k_tenant_quota_webhook = "tenants.quota.zoo.kubezoo.io";

/// Words for people (Status messages, conditions, Event messages, warnings, table cells) outward: a
/// word that got the tenant's prefix from zood loses it, and a word that the tenant itself chose
/// stays, though it begins so. Which one it is, is told by its place (text_place.hpp: `namespaces
/// "foofoo-team"` loses it, `pod: foofoo-web` does not) and by the words around the text, which
/// `around` tells (known_words.hpp); without a sign it stays. A prefix behind [A-Za-z0-9-], or with
/// no name behind it, stays as well. Everything else stays byte for byte, but for why a webhook
/// could not be called, for the names of zood's policies upstream and of its ConfigMap for pods
/// (inside.hpp), and for what zood has put into expressions (cel.hpp).
std::string text_out(const Mapping& mapping, std::string_view text, WordSource* around = nullptr);

/// Does a text say that one of zood's policies upstream (packaging/upstream-rbac.yaml) has refused
/// something? text_out() says so without their names.
bool denied_by_platform(std::string_view text);

/// The same for text within an object, which does not get longer outward (wire_list.hpp) but by the
/// name of a ConfigMap: why a webhook could not be called is left out in as many words as there is
/// room for, and a way out that a policy does not tell is added where there is room.
std::string stored_text_out(const Mapping& mapping, std::string_view text,
                            WordSource* around = nullptr);

/// Each `from` by `to`, from left to right; what came of it is not looked at again.
void replace_all(std::string& text, std::string_view from, std::string_view to);

} // namespace zoo::translate
