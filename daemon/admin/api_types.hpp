// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/resources/request.hpp"
#include "daemon/resources/scheduler.hpp"
#include "daemon/resources/workers.hpp"

/// What the admin API has of the API room, by the names that it is called here.
namespace zoo::admin {

using resources::Answer;
using resources::failure;
using resources::json_answer;
using resources::Request;
using resources::Scheduler;
using resources::Who;
using resources::Workers;
using resources::wrong_method;

} // namespace zoo::admin
