// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/egress.hpp"
#include "daemon/net/gate.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zoo::clusters {

/// Judges the connections that one cluster's API server asks for: kubelets of its Nodes and
/// zood.internal are served here, its own pods and what is behind its own Services are dialled, and
/// the outside as egress_rules.hpp has it. Of names that
/// have to be looked up one at a time is, so that slow ones hold up this cluster alone. On the
/// cluster's loop.
class EgressGate final : public net::Gate {
public:
  EgressGate(std::shared_ptr<const EgressParts> parts, std::shared_ptr<EgressRoom> room,
             std::shared_ptr<net::TlsServerContext> tls, std::shared_ptr<net::Resolver> names);
  ~EgressGate() override;
  std::shared_ptr<void> ask(net::Loop& loop, const http::ConnectHead& head,
                            std::function<void(Decision)> decide) override;

private:
  struct Question;
  struct Lookups;
  using QuestionPtr = std::shared_ptr<Question>;
  void judge(const QuestionPtr& question);
  void inside(const QuestionPtr& question);
  void outward(const QuestionPtr& question);
  void serve(const QuestionPtr& question);
  void dial(const QuestionPtr& question, const std::vector<net::Address>& found, bool trusted);
  void answer(const QuestionPtr& question, const std::vector<net::Address>& found,
              const EgressPlaces& places);
  void screen(const QuestionPtr& question, std::vector<net::Address> left,
              std::vector<net::Address> good);
  bool own_pod(const net::Address& address) const;
  void refuse(const Question& question, int status, std::string why);

  const std::shared_ptr<const EgressParts> parts_;
  const std::shared_ptr<EgressRoom> room_;
  const std::shared_ptr<net::TlsServerContext> tls_;
  const std::shared_ptr<Lookups> lookups_;
};

/// Of the addresses that a name or a Service was found to have those that may be dialled, in their
/// order: those that `own` knows although they are of the upstream's pods. Code::forbidden, as
/// judge_address() says of the first one.
Result<std::vector<net::Address>> judged(
    const std::vector<net::Address>& found, const EgressAllowed& allowed,
    const EgressPlaces& places, const net::Networks& machine,
    const std::function<bool(const net::Address&)>& own = [](const auto&) { return false; });

} // namespace zoo::clusters
