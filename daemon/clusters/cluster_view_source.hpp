// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"
#include "daemon/access/view_source.hpp"

#include <memory>
#include <string>

namespace zoo::access {
class FlowShare;
}
namespace zoo::http {
class FieldLines;
}
namespace zoo::translate {
struct SharedNames;
}
namespace zoo::upstream {
class Upstream;
}

namespace zoo::clusters {

/// Whom the API server of one virtual cluster is for the upstream: the cluster's user there, in
/// whose namespaces its pods run. Who may ask was judged by that API server, which alone reaches
/// the socket behind which this stands. Loop thread.
class ClusterViewSource final : public access::ViewSource {
public:
  struct Parts {
    upstream::Upstream& upstream;
    std::string id; ///< of the cluster: the prefix of its namespaces upstream
    std::string uid;
    api::Flow flow;                           ///< how much may go on at the same time
    std::shared_ptr<access::FlowShare> share; ///< and what does
  };
  explicit ClusterViewSource(Parts parts);

  std::optional<Result<access::Route>>
  by_connection(const http::ConnectionInfo& connection) override;
  Result<access::Route> by_certificate(const http::ConnectionInfo& connection) override;
  void by_token(const http::ConnectionInfo& connection, const std::string& token,
                std::function<void(Result<access::Route>)> done) override;
  bool still(const access::Route&) override { return true; }
  std::shared_ptr<const access::Principal> claimed(const http::ConnectionInfo&) override {
    return who_;
  }
  std::string_view door() const override { return "clusters"; }

private:
  const Parts parts_;
  std::shared_ptr<const access::Principal> who_;
  std::shared_ptr<const translate::SharedNames> names_; ///< of `view_`
  std::shared_ptr<const access::View> view_;
};

/// The header fields by which a request upstream is tenant_user()'s.
std::shared_ptr<const http::FieldLines> cluster_fields(const std::string& id);

} // namespace zoo::clusters
