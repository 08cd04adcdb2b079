// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/metrics.hpp"

#include "daemon/app/door_certificates.hpp"
#include "daemon/app/memory.hpp"
#include "daemon/app/process.hpp"
#include "daemon/audit/log.hpp"
#include "daemon/authz/policy_store.hpp"
#include "daemon/gateway/flow_control.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/store/timed.hpp"
#include "daemon/tenants/pki.hpp"
#include "daemon/upstream/credential.hpp"
#include "daemon/upstream/shared_watches.hpp"
#include "daemon/upstream/upstream.hpp"

#include <chrono>

namespace zoo::app {
namespace {

using Type = MetricText::Type;

double seconds(std::chrono::system_clock::time_point time) {
  return static_cast<double>(std::chrono::system_clock::to_time_t(time));
}

void process(MetricText& out) {
  out.family("zood_build_info", Type::gauge, "1; what runs");
  out.sample(1, {{"version", ZOO_VERSION}});
  if (const auto facts = process_facts()) {
    out.family("process_cpu_seconds_total", Type::counter, "That zood's threads have run");
    out.sample(facts->cpu_seconds);
    out.family("process_start_time_seconds", Type::gauge, "When zood was started, in Unix seconds");
    out.sample(facts->started);
    out.family("process_threads", Type::gauge, "Threads of zood");
    out.sample(static_cast<double>(facts->threads));
    out.family("process_open_fds", Type::gauge, "Descriptors that zood has open");
    out.sample(static_cast<double>(facts->open_files));
    out.family("process_max_fds", Type::gauge, "Descriptors that it may have open");
    out.sample(static_cast<double>(facts->most_files));
  }
  const auto resident = resident_memory();
  if (!resident) return;
  out.family("process_resident_memory_bytes", Type::gauge, "Memory that zood has");
  out.sample(static_cast<double>(resident->all));
}

void flow(MetricText& out, const gateway::FlowControl& flow_control) {
  const auto load = flow_control.total();
  out.family("zood_requests_inflight", Type::gauge, "Requests of tenants that have a place");
  out.sample(load.in_flight);
  out.family("zood_requests_receiving", Type::gauge,
             "Requests of tenants whose body is still to come: they have no place yet");
  out.sample(load.receiving);
  out.family("zood_mutations_inflight", Type::gauge,
             "Of these, and of those that wait or come, writes");
  out.sample(load.mutations);
  out.family("zood_requests_queued", Type::gauge, "Requests of tenants that wait for a place");
  out.sample(load.queued);
  out.family("zood_long_running", Type::gauge, "Watches, logs and tunnels of tenants");
  out.sample(load.long_running);
  out.family("zood_buffered_bytes", Type::gauge,
             "Bodies of requests in progress, and answers that are held whole");
  out.sample(static_cast<double>(load.buffered));
  out.family("zood_flow_refusals_total", Type::counter,
             "Requests answered 429 since their tenant was at a limit of its own");
  out.sample(static_cast<double>(load.refused));
}

void upstream(MetricText& out, upstream::Upstream& upstream,
              const upstream::Credential& credential) {
  const auto connections = upstream.connections();
  out.family("zood_upstream_connections", Type::gauge, "Connections to the upstream");
  out.sample(static_cast<double>(connections.busy), {{"state", "busy"}});
  out.sample(static_cast<double>(connections.idle), {{"state", "idle"}});
  out.family("zood_upstream_connections_opened_total", Type::counter,
             "Connections to the upstream since the start");
  out.sample(static_cast<double>(connections.opened));
  const auto watches = upstream.watches().stats();
  out.family("zood_upstream_watches", Type::gauge, "Watches at the upstream");
  out.sample(static_cast<double>(watches.streams), {{"shared", "true"}});
  out.sample(static_cast<double>(watches.alone), {{"shared", "false"}});
  out.family("zood_watch_subscribers", Type::gauge, "Watches of clients on the shared ones");
  out.sample(static_cast<double>(watches.subscribers));
  upstream.tally().write(out, credential.tally());
}

void controllers(MetricText& out, const std::vector<reconcile::Counts>& all) {
  out.family("zood_controller_queue", Type::gauge,
             "Keys in a controller's queue, those that are due later included");
  for (const auto& each : all)
    out.sample(static_cast<double>(each.waiting), {{"controller", each.name}});
  out.family("zood_reconciles_total", Type::counter, "Looks of a controller");
  for (const auto& each : all) {
    out.sample(static_cast<double>(each.done), {{"controller", each.name}, {"result", "done"}});
    out.sample(static_cast<double>(each.failed), {{"controller", each.name}, {"result", "failed"}});
  }
}

void audit(MetricText& out, const audit::Log& log) {
  const auto counters = log.counters();
  out.family("zood_audit_lines_total", Type::counter, "Lines written to the audit log");
  out.sample(static_cast<double>(counters.written));
  out.family("zood_audit_lost_total", Type::counter, "Lines that found no room, or no disk");
  out.sample(static_cast<double>(counters.lost));
  out.family("zood_audit_refused_total", Type::counter,
             "Requests answered 503 since their line would have found no room");
  out.sample(static_cast<double>(counters.refused));
  out.family("zood_audit_waiting_bytes", Type::gauge, "Lines that wait to be written");
  out.sample(static_cast<double>(counters.waiting));
}

} // namespace

void measure_findings(MetricText& out,
                      const std::optional<tenants::TenantServiceImpl::FindingCounts>& found) {
  if (!found) return;
  out.family("zood_findings", Type::gauge, "What the last zooctl doctor found");
  out.sample(static_cast<double>(found->ok), {{"level", "ok"}});
  out.sample(static_cast<double>(found->warnings), {{"level", "warning"}});
  out.sample(static_cast<double>(found->problems), {{"level", "problem"}});
  out.family("zood_findings_age_seconds", Type::gauge, "Since that was");
  const auto age = std::chrono::steady_clock::now() - found->when;
  out.sample(std::chrono::duration<double>(age).count());
}

void measure(MetricText& out, const Measured& what) {
  process(out);
  what.audit.tally().write(out);
  flow(out, what.flow_control);
  out.family("zood_connections", Type::gauge, "Connections at the tenants' door");
  out.sample(static_cast<double>(what.listener.connections()));
  out.family("zood_tls_handshakes_total", Type::counter, "TLS handshakes at the tenants' door");
  const auto hands = what.listener.handshakes();
  out.sample(static_cast<double>(hands.full), {{"kind", "full"}});
  out.sample(static_cast<double>(hands.resumed), {{"kind", "resumed"}});
  out.sample(static_cast<double>(hands.failed), {{"kind", "failed"}});
  out.family("zood_loop_lag_seconds", Type::gauge,
             "Longest time in the last 10 seconds that a task waited for its event loop");
  out.sample(std::chrono::duration<double>(what.loop_lag).count());
  upstream(out, what.upstream, what.credential);
  out.family("zood_policy_loads_total", Type::counter,
             "Times that the roles and bindings of a tenant were read");
  out.sample(static_cast<double>(what.policies.loads()));
  what.store.measure(out);
  controllers(out, what.controllers);
  out.family("zood_admin_queue", Type::gauge, "Requests at the admin API that wait for a thread");
  out.sample(static_cast<double>(what.admin_waiting));
  out.family("zood_virtual_queue", Type::gauge,
             "Writes of kinds that zood keeps itself that wait for a thread");
  out.sample(static_cast<double>(what.virtual_waiting));
  out.family("zood_tenant_looks_total", Type::counter,
             "Times that what a tenant has upstream was made, looked after or removed");
  out.sample(static_cast<double>(what.looks));
  out.family("zood_drift_heard", Type::gauge,
             "1: what changes of tenants' rooms upstream is heard; 0: it is looked for");
  out.sample(what.hears_drift ? 1 : 0);
  audit(out, what.audit);
  out.family(
      "zood_certificate_expiry_timestamp_seconds", Type::gauge,
      "When zood's own credentials end; all but the CAs and a given certificate are renewed");
  out.sample(seconds(what.pki.ca().not_after()), {{"credential", "tenants-ca"}});
  out.sample(seconds(what.pki.admin_ca().not_after()), {{"credential", "admin-ca"}});
  if (const auto ends = what.certificates.serving_ends())
    out.sample(seconds(*ends), {{"credential", "serving"}});
  if (const auto ends = what.certificates.admin_ends())
    out.sample(seconds(*ends), {{"credential", "admin"}});
  const auto token = what.credential.expires();
  if (token != std::chrono::system_clock::time_point{})
    out.sample(seconds(token), {{"credential", "upstream"}});
}

} // namespace zoo::app
