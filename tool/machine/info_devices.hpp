// What `quadrille info` tells of GPUs: drivers and devices, and whether an MPI says that it takes a device's memory. To
// load and start a driver or an MPI may do anything, so children do it, whose answers are JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace quadrille::tools {

// ---- In a child. ----

// Loads and starts the driver of "cuda" or "hip", and prints what it has.
void describe_driver(const std::string& kind);

// Starts this MPI library alone, and prints what it says of a device's memory.
void describe_support(const std::string& library);

// ---- In the tool itself. ----

// The drivers, and who decides whether an MPI gets a device's memory.
nlohmann::ordered_json describe_devices();
std::string devices_text(const nlohmann::ordered_json& devices);

// "takes_devices": true or false, and who says so; nothing if the library does not start by itself.
nlohmann::ordered_json support_of(const std::string& library);
std::string support_text(const nlohmann::ordered_json& library);

}  // namespace quadrille::tools
