// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/flows.hpp"

namespace zoo::gateway {
namespace {

class OwnObjectFlow final : public Flow {
public:
  OwnObjectFlow(Exchange& exchange, OwnObject object, Rendering rendering)
      : exchange_(exchange), object_(std::move(object)), rendering_(std::move(rendering)) {}

  void start() override {
    auto body = own_item(rendering_, object_);
    if (rendering_.wanted.representation == translate::Representation::table)
      body = own_table_head(exchange_) + body + "]}";
    body += '\n';
    auto head = list_head(rendering_);
    head.headers.add("content-length", std::to_string(body.size()));
    exchange_.send_head(std::move(head));
    exchange_.send(body);
    exchange_.finish();
  }

private:
  Exchange& exchange_;
  OwnObject object_;
  Rendering rendering_;
};

} // namespace

std::unique_ptr<Flow> own_object(Exchange& exchange, OwnObject object, Rendering rendering) {
  return std::make_unique<OwnObjectFlow>(exchange, std::move(object), std::move(rendering));
}

} // namespace zoo::gateway
