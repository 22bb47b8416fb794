// Buffers on the stack of the main thread, where programs have local arrays.
#pragma once

#include <cstddef>
#include <functional>

namespace quadrille::tools {

// Linux leaves at least 128 MiB below the stack free, whatever the limit was at the start.
constexpr std::size_t most_on_stack = std::size_t{64} << 20;

// Whether a frame of so many bytes fits. Raises the process's own limit if needed.
bool stack_holds(std::size_t bytes);

// Calls `body` with a frame of so many bytes, which begins at a page.
void on_stack(std::size_t bytes, const std::function<void(std::byte* frame)>& body);

}  // namespace quadrille::tools
