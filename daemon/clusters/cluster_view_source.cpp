// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/cluster_view_source.hpp"

#include "daemon/access/authorizer.hpp"
#include "daemon/access/passage.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/upstream/upstream.hpp"

#include <utility>

namespace zoo::clusters {
namespace {

constexpr std::string_view k_user = "kube-apiserver";

/// Everything inside: the cluster's own API server has asked its own RBAC.
class Judged final : public access::Authorizer {
public:
  void authorize(const access::Principal&, const access::Attributes&,
                 std::function<void(Result<access::Decision>)> done) const override {
    done(decision());
  }
  std::optional<access::Decision> decide_now(const access::Principal&,
                                             const access::Attributes&) const override {
    return decision();
  }
  void rules(const access::Principal&, const std::string&,
             std::function<void(Result<authz::Policy::Rules>)> done) const override {
    done(fail(Code::unavailable, "the rules of a virtual cluster are in its own API server"));
  }
  void policy(std::function<void(Result<authz::PolicyPtr>)> done) const override {
    done(fail(Code::unavailable, "the rules of a virtual cluster are in its own API server"));
  }
  authz::PolicyPtr known() const override { return nullptr; }
  bool super_user(const access::Principal&) const override { return true; }

private:
  static access::Decision decision() {
    return {true, "judged by the API server of the virtual cluster"};
  }
};

access::Principal principal_of(const std::string& id) {
  access::Principal out;
  out.id = id;
  out.user = k_user;
  out.credential = "cluster";
  return out;
}

} // namespace

std::shared_ptr<const http::FieldLines> cluster_fields(const std::string& id) {
  return access::as_tenant_user(tenant_user(id), principal_of(id));
}

ClusterViewSource::ClusterViewSource(Parts parts) : parts_(std::move(parts)) {
  auto who = principal_of(parts_.id);
  who.upstream_fields = cluster_fields(parts_.id);
  who_ = std::make_shared<const access::Principal>(std::move(who));
}

std::optional<Result<access::Route>> ClusterViewSource::by_connection(const http::ConnectionInfo&) {
  auto names = parts_.upstream.shared_names();
  if (!view_ || names_ != names) {
    access::View view{access::k_tenant_answers,
                      translate::Mapping(parts_.id, names),
                      parts_.uid,
                      "",
                      std::make_shared<const Judged>(),
                      tenant_user(parts_.id),
                      std::nullopt,
                      {},
                      {},
                      parts_.flow,
                      parts_.share,
                      {}};
    view_ = std::make_shared<const access::View>(std::move(view));
    names_ = std::move(names);
  }
  return access::Route{parts_.upstream, view_, who_};
}

Result<access::Route> ClusterViewSource::by_certificate(const http::ConnectionInfo&) {
  return fail(Code::unauthorized, "Unauthorized: certificates are not asked for here");
}

void ClusterViewSource::by_token(const http::ConnectionInfo&, const std::string&,
                                 std::function<void(Result<access::Route>)> done) {
  done(fail(Code::unauthorized, "Unauthorized: tokens are not asked for here"));
}

} // namespace zoo::clusters
