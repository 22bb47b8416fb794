// Modules and kernels. The text of a module is read for the names and parameters of its kernels; what they do is what
// their twins on the host do.
#include <cstring>
#include <set>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

struct Module;
struct Function {
  Module* module = nullptr;
  std::string name;
  std::vector<std::size_t> parameter_bytes;
};
struct Module {
  Context* context = nullptr;
  std::map<std::string, Function> functions;
};
std::map<Handle, std::unique_ptr<Module>> modules;
std::map<std::string, Twin> twins;

// "u64" of ".param .u64 name": its bytes.
std::size_t bytes_of_type(const std::string& type) {
  if (type == "u64" || type == "s64" || type == "b64" || type == "f64") return 8;
  if (type == "u32" || type == "s32" || type == "b32" || type == "f32") return 4;
  if (type == "u16" || type == "s16" || type == "b16" || type == "f16") return 2;
  return type == "u8" || type == "s8" || type == "b8" ? 1 : 0;
}

std::string word(const std::string& text, std::size_t& at) {
  const char* const blanks = " \t\r\n";
  at = std::min(text.find_first_not_of(blanks, at), text.size());
  const std::size_t end = std::min(text.find_first_of(" \t\r\n(),{", at), text.size());
  const std::string found = text.substr(at, end - at);
  at = end;
  return found;
}

// One parameter: ".param .align 8 .b8 name[24]". Its bytes; 0 if it is none that we know.
std::size_t read_parameter(const std::string& text) {
  std::size_t at = 0, bytes = 0;
  if (word(text, at) != ".param") return 0;
  for (std::string next = word(text, at); !next.empty(); next = word(text, at)) {
    if (next == ".align") {
      word(text, at);
    } else if (next[0] == '.') {
      if (bytes_of_type(next.substr(1)) != 0) bytes = bytes_of_type(next.substr(1));
    } else if (const std::size_t bracket = next.find('['); bracket != std::string::npos) {
      bytes *= std::strtoul(next.c_str() + bracket + 1, nullptr, 10);
    }
  }
  return bytes;
}

bool read_parameters(const std::string& text, std::size_t at, std::vector<std::size_t>& bytes) {
  at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
  if (at == text.size() || text[at] != '(') return at < text.size() && text[at] == '{';  // none
  const std::size_t end = text.find(')', at);
  if (end == std::string::npos) return false;
  const std::string list = text.substr(at + 1, end - at - 1);
  if (list.find_first_not_of(" \t\r\n") == std::string::npos) return true;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    bytes.push_back(read_parameter(list.substr(begin, comma - begin)));
    if (bytes.back() == 0) return false;
    begin = comma + 1;
  }
  return true;
}

bool read_module(const std::string& text, Module& module) {
  if (text.find(".version") == std::string::npos || text.find(".target") == std::string::npos) return false;
  for (std::size_t at = text.find(".entry"); at != std::string::npos; at = text.find(".entry", at)) {
    at += 6;
    Function function;
    function.module = &module;
    function.name = word(text, at);
    if (function.name.empty() || !read_parameters(text, at, function.parameter_bytes)) return false;
    module.functions[function.name] = function;
  }
  return true;
}

Function* function_of(Handle handle) {
  for (auto& [key, module] : modules) {
    for (auto& [name, function] : module->functions) {
      if (&function == handle) return &function;
    }
  }
  return nullptr;
}

}  // namespace

void set_twin(const char* name, Twin twin) { twins[name] = twin; }

int load_module(Handle* handle, const void* image) {
  if (handle == nullptr || image == nullptr) return invalid_value;
  Context* context = nullptr;
  const int error = current(context);
  if (error != success) return error;
  auto module = std::make_unique<Module>();
  module->context = context;
  if (!read_module(static_cast<const char*>(image), *module)) return invalid_image;
  *handle = module.get();
  modules[*handle] = std::move(module);
  return success;
}

int unload_module(Handle handle) {
  const auto module = modules.find(handle);
  if (module == modules.end()) return invalid_handle;
  wait_for_all(*module->second->context);
  modules.erase(handle);
  return success;
}

int find_function(Handle* function, Handle handle, const char* name) {
  const auto module = modules.find(handle);
  if (function == nullptr || name == nullptr) return invalid_value;
  if (module == modules.end()) return invalid_handle;
  const auto found = module->second->functions.find(name);
  if (found == module->second->functions.end()) return not_found;
  if (twins.find(name) == twins.end()) {
    std::fprintf(stderr, "stand-in driver: the kernel %s has no twin on the host\n", name);
    return not_found;
  }
  *function = &found->second;
  return success;
}

// The parameters are read now, and the kernel runs later.
int launch(Stream& stream, Handle handle, const Launch& launch, void** parameters) {
  const Function* const function = function_of(handle);
  if (function == nullptr || function->module->context != stream.context) return invalid_handle;
  for (int d = 0; d < 3; ++d) {
    if (launch.grid[d] == 0 || launch.block[d] == 0) return invalid_value;
  }
  if (launch.block[0] * launch.block[1] * launch.block[2] > 1024) return invalid_value;
  if (parameters == nullptr && !function->parameter_bytes.empty()) return invalid_value;
  std::vector<std::vector<char>> kept;
  for (std::size_t p = 0; p < function->parameter_bytes.size(); ++p) {
    const char* const value = static_cast<const char*>(parameters[p]);
    kept.emplace_back(value, value + function->parameter_bytes[p]);
  }
  submit(stream, [twin = twins[function->name], launch, kept = std::move(kept)]() mutable {
    std::vector<void*> values;
    for (std::vector<char>& value : kept) values.push_back(value.data());
    twin(&launch, values.data());
    return static_cast<int>(success);
  });
  return success;
}

}  // namespace quadrille::standin
