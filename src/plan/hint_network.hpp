// The parameters of hint-network, by name: for the registry.
#pragma once

#include <span>
#include <string_view>

namespace quadrille::plan {

std::span<const std::string_view> network_order_names();
std::span<const std::string_view> network_exchange_names();
std::span<const std::string_view> network_messages_names();

}  // namespace quadrille::plan
