// Modules and kernels. The text of a module is read for the names and parameters of its kernels; what they do is what
// their twins on the host do, or the text itself says it (ptx.hpp).
#include <cstring>
#include <set>

#include "driver.hpp"
#include "ptx.hpp"

namespace quadrille::standin {
namespace {

struct Module;
struct Function {
  Module* module = nullptr;
  std::string name;
  std::vector<std::size_t> parameter_bytes;
  std::vector<std::string> parameter_names;
  std::string body;
  std::shared_ptr<const ptx::Kernel> kernel;  // where it has no twin
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
std::size_t read_parameter(const std::string& text, std::string& name) {
  std::size_t at = 0, bytes = 0;
  if (word(text, at) != ".param") return 0;
  for (std::string next = word(text, at); !next.empty(); next = word(text, at)) {
    if (next == ".align") {
      word(text, at);
    } else if (next[0] == '.') {
      if (bytes_of_type(next.substr(1)) != 0) bytes = bytes_of_type(next.substr(1));
    } else if (const std::size_t bracket = next.find('['); bracket != std::string::npos) {
      bytes *= std::strtoul(next.c_str() + bracket + 1, nullptr, 10);
      name = next.substr(0, bracket);
    } else {
      name = next;
    }
  }
  return bytes;
}

bool read_parameters(const std::string& text, std::size_t at, Function& function) {
  at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
  if (at == text.size() || text[at] != '(') return at < text.size() && text[at] == '{';  // none
  const std::size_t end = text.find(')', at);
  if (end == std::string::npos) return false;
  const std::string list = text.substr(at + 1, end - at - 1);
  if (list.find_first_not_of(" \t\r\n") == std::string::npos) return true;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    std::string name;
    function.parameter_bytes.push_back(read_parameter(list.substr(begin, comma - begin), name));
    function.parameter_names.push_back(name);
    if (function.parameter_bytes.back() == 0) return false;
    begin = comma + 1;
  }
  return true;
}

// What stands between the kernel's braces, which hold others where several registers are written together.
bool read_body(const std::string& text, std::size_t at, std::string& body) {
  const std::size_t begin = text.find('{', at);
  int depth = 0;
  for (std::size_t end = begin; end < text.size(); ++end) {
    depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
    if (depth > 0) continue;
    body = text.substr(begin + 1, end - begin - 1);
    return true;
  }
  return false;
}

bool read_module(const std::string& text, Module& module) {
  if (text.find(".version") == std::string::npos || text.find(".target") == std::string::npos) return false;
  for (std::size_t at = text.find(".entry"); at != std::string::npos; at = text.find(".entry", at)) {
    at += 6;
    Function function;
    function.module = &module;
    function.name = word(text, at);
    if (function.name.empty() || !read_parameters(text, at, function) || !read_body(text, at, function.body))
      return false;
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
  Function& kernel = found->second;
  if (!twins.contains(name) && kernel.kernel == nullptr) {
    ptx::Kernel read;
    std::string problem;
    if (!ptx::read(kernel.body, kernel.parameter_names, read, problem)) {
      std::fprintf(stderr, "stand-in driver: the kernel %s has no twin on the host, and '%s' is not understood\n", name,
                   problem.c_str());
      return not_found;
    }
    kernel.kernel = std::make_shared<const ptx::Kernel>(std::move(read));
  }
  *function = &kernel;
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
  const auto twin = twins.find(function->name);
  if (twin == twins.end()) {
    submit(stream,
           [kernel = function->kernel, launch, kept = std::move(kept)] { return ptx::run(*kernel, launch, kept); });
    return success;
  }
  submit(stream, [twin = twin->second, launch, kept = std::move(kept)]() mutable {
    std::vector<void*> values;
    for (std::vector<char>& value : kept) values.push_back(value.data());
    twin(&launch, values.data());
    return static_cast<int>(success);
  });
  return success;
}

}  // namespace quadrille::standin
