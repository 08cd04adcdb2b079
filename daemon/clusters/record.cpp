// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/record.hpp"

#include "common/api/tenant.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"
#include "common/kube/json_reads.hpp"

namespace zoo::clusters {
namespace {

using nlohmann::json;

constexpr int k_tries = 20;

json place_json(const Place& place) {
  return {{"id", place.id},
          {"number", place.number},
          {"port", place.port},
          {"version", place.version},
          {"epoch", place.epoch},
          {"mark", place.mark},
          {"rotation", place.rotation},
          {"authority", stage_name(place.authority)},
          {"authorityTurn", place.authority_turn},
          {"asleep", place.asleep},
          {"upstream", place.upstream},
          {"nodes", place.nodes},
          {"exclusive", place.exclusive},
          {"ownStore", place.own_store},
          {"upstreamStore", place.upstream_store},
          {"apiAddress", place.api_address}};
}

} // namespace

std::string Record::space() const { return kube::text_at(object, "/metadata/namespace"); }
std::string Record::name() const { return kube::text_at(object, "/metadata/name"); }
std::string Record::key() const { return key_of(space(), name()); }
std::string Record::uid() const { return kube::text_at(object, "/metadata/uid"); }
std::string Record::phase() const { return kube::text_at(object, "/status/phase"); }
bool Record::deleting() const {
  return !kube::text_at(object, "/metadata/deletionTimestamp").empty();
}

std::string key_of(std::string_view space, std::string_view name) {
  return fmt::format("{}/{}", space, name);
}

std::string now_text() { return api::rfc3339(kube::unix_now()); }

Result<std::string> random_mark() {
  constexpr std::size_t k_mark_bytes = 16;
  ZOO_TRY(const auto bytes, crypto::random_bytes(k_mark_bytes));
  return crypto::hex_encode(bytes);
}

Result<Record> record_of(const store::Record& record) {
  const auto value = json::parse(record.value, nullptr, false);
  if (!value.is_object() || !value.contains("object") || !value.contains("place"))
    return fail(Code::internal, "the record of virtual cluster {} cannot be read", record.key);
  Record out;
  out.object = value["object"];
  const auto& place = value["place"];
  out.place.id = place.value("id", std::string());
  out.place.number = place.value("number", 0U);
  out.place.port = place.value("port", std::uint16_t{0});
  out.place.version = place.value("version", std::string());
  out.place.epoch = place.value("epoch", 1U);
  out.place.mark = place.value("mark", std::string());
  out.place.rotation = place.value("rotation", 0U);
  out.place.authority =
      authority_stage(place.value("authority", "")).value_or(AuthorityStage::settled);
  out.place.authority_turn = place.value("authorityTurn", 0U);
  out.place.asleep = place.value("asleep", false);
  out.place.own_store = place.value("ownStore", std::string());
  out.place.upstream_store = place.value("upstreamStore", std::string());
  out.place.api_address = place.value("apiAddress", std::string());
  out.place.upstream = place.value("upstream", std::string());
  for (const auto& node : kube::list_at(place, "/nodes"))
    if (node.is_string()) out.place.nodes.push_back(node.get<std::string>());
  out.place.exclusive = place.value("exclusive", false);
  out.revision = record.revision;
  out.object["metadata"]["resourceVersion"] = std::to_string(record.revision);
  return out;
}

Result<Record> read_record(store::Store& store, std::string_view key) {
  const auto record = store.get(k_record_kind, key);
  if (!record && record.error().code() == Code::not_found)
    return fail(Code::not_found, "virtualclusters.kosmos.io \"{}\" not found",
                key.substr(key.find('/') + 1));
  if (!record) return fail(record.error());
  return record_of(*record);
}

Result<std::vector<Record>> all_records(store::Store& store) {
  std::vector<Record> out;
  ZOO_TRY(const auto page, store.list(k_record_kind));
  for (const auto& each : page.records) {
    if (auto record = record_of(each))
      out.push_back(*std::move(record));
    else
      log::error("clusters", "{} is left out: {}", each.key, record.error().text());
  }
  return out;
}

Result<Record> write_record(store::Store& store, Record record) {
  auto object = record.object;
  object["metadata"].erase("resourceVersion"); // the store's revision is the truth
  const json value = {{"object", std::move(object)}, {"place", place_json(record.place)}};
  ZOO_TRY(const auto written,
          store.put(k_record_kind, record.key(), kube::text_of(value), record.revision));
  record.revision = written.revision;
  record.object["metadata"]["resourceVersion"] = std::to_string(written.revision);
  return record;
}

Result<Record> change_record(store::Store& store, std::string_view key, std::string_view uid,
                             const std::function<bool(Record&)>& change) {
  for (int tries = 1;; ++tries) {
    ZOO_TRY(auto record, read_record(store, key));
    if (!uid.empty() && record.uid() != uid)
      return fail(Code::conflict, "virtual cluster {} is another one by now", key);
    if (!change(record)) return record;
    auto written = write_record(store, std::move(record));
    if (written || written.error().code() != Code::conflict || tries == k_tries) return written;
  }
}

bool holds(const Record& record, std::string_view type) {
  const json::json_pointer at("/status/conditions");
  if (!record.object.contains(at) || !record.object.at(at).is_array()) return false;
  for (const auto& each : record.object.at(at))
    if (each.value("type", std::string()) == type)
      return each.value("status", std::string()) == "True";
  return false;
}

bool set_condition(json& object, std::string_view type, bool holds, std::string_view reason,
                   std::string_view message) {
  auto& conditions = object["status"]["conditions"];
  if (!conditions.is_array()) conditions = json::array();
  const std::string status = holds ? "True" : "False";
  for (auto& each : conditions) {
    if (each.value("type", std::string()) != type) continue;
    const bool other = each.value("status", std::string()) != status;
    if (!other && each.value("reason", std::string()) == reason &&
        each.value("message", std::string()) == message)
      return false;
    if (other) each["lastTransitionTime"] = now_text();
    each["status"] = status;
    each["reason"] = reason;
    each["message"] = message;
    return true;
  }
  conditions.push_back({{"type", type},
                        {"status", status},
                        {"reason", reason},
                        {"message", message},
                        {"lastTransitionTime", now_text()}});
  return true;
}

} // namespace zoo::clusters
