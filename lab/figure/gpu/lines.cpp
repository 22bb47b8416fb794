#include "lab/figure/gpu/lines.hpp"

#include <algorithm>
#include <utility>

namespace quadrille::tools {
namespace {

Variant line(std::string label, std::string algorithm) { return {std::move(label), std::move(algorithm), {}}; }

std::vector<std::string> labels_but(const std::vector<Variant>& lines, const std::vector<std::string>& out) {
  std::vector<std::string> labels = {"mpi"};
  for (const Variant& one : lines) labels.push_back(one.label);
  std::erase_if(labels, [&](const std::string& label) {
    return label == own_choice || std::find(out.begin(), out.end(), label) != out.end();
  });
  return labels;
}

}  // namespace

std::vector<Variant> paper_lines() {
  return {line(waitany, "waitany-stride:stride=5"),
          line(waitall, "waitall-stride:stride=5"),
          line(cuda_pairwise, "pairwise"),
          line(copy_to_cpu_nonblocking, "copy-to-cpu:buffers=kept,inner=nonblocking"),
          line(copy_to_cpu_waitany, "copy-to-cpu:buffers=kept,inner=waitany-stride,stride=5"),
          line(copy_to_cpu_pairwise, "copy-to-cpu:buffers=kept,inner=pairwise"),
          line(copy_to_cpu_mpi, "copy-to-cpu:buffers=kept,inner=mpi"),
          line(own_choice, "default")};
}

std::vector<Variant> stride_lines() {
  std::vector<Variant> lines;
  for (const char* stride : {"1", "5", "10", "15"}) {
    lines.push_back(line(std::string("Waitany, stride ") + stride, std::string("waitany-stride:stride=") + stride));
    lines.push_back(line(std::string("Waitall, stride ") + stride, std::string("waitall-stride:stride=") + stride));
  }
  return lines;
}

std::vector<Variant> buffer_lines() {
  std::vector<Variant> lines;
  for (const std::string buffers : {"kept", "fresh", "pageable"}) {
    lines.push_back(line(buffers, "copy-to-cpu:buffers=" + buffers + ",inner=waitany-stride,stride=5"));
  }
  return lines;
}

std::vector<Variant> host_lines() {
  return {line(host_pairwise, "pairwise"),
          line(host_nonblocking_all, "nonblocking"),
          line(multi_blocking, "waitall-stride:stride=5"),
          line(multi_nonblocking, "waitany-stride:stride=5"),
          line(multi_test, "testany-stride:stride=5"),
          line(own_choice, "default")};
}

std::vector<std::string> optimized_labels() { return without_mpi(all_but({})); }

std::vector<std::string> copy_to_cpu_labels() {
  return {copy_to_cpu_nonblocking, copy_to_cpu_waitany, copy_to_cpu_pairwise, copy_to_cpu_mpi};
}

std::vector<std::string> host_nonblocking() { return {copy_to_cpu_nonblocking, copy_to_cpu_waitany}; }

std::vector<std::string> all_but(const std::vector<std::string>& labels) { return labels_but(paper_lines(), labels); }

std::vector<std::string> without_mpi(std::vector<std::string> labels) {
  std::erase(labels, "mpi");
  return labels;
}

std::vector<std::string> host_labels_but(const std::vector<std::string>& labels) {
  return labels_but(host_lines(), labels);
}

}  // namespace quadrille::tools
