// The parameters of hint-network, by name: for the registry.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace quadrille::plan {

// The kinds of exchanges between nodes. Other ranks may also forward blocks of one size, and those of allgathers, whose
// sizes all ranks know.
enum class NetworkKind : std::uint8_t { uniform, uneven, gather };

std::span<const std::string_view> network_order_names();
std::span<const std::string_view> network_exchange_names(NetworkKind kind);
std::span<const std::string_view> network_messages_names();

}  // namespace quadrille::plan
