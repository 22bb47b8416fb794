// `quadrille list`: the registry.
#pragma once

namespace quadrille::tools {

// Prints all algorithms, as text or as JSON: an array of objects with name, collectives, engine,
// needs, parameters, line and source. Returns 0.
int list_command(bool json);

}  // namespace quadrille::tools
