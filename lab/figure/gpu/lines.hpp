// The lines of the figures on GPUs: the paper's names of algorithms, and ours.
#pragma once

#include <string>
#include <vector>

#include "tool/bench/options.hpp"

namespace quadrille::tools {

inline constexpr const char *waitany = "CUDA-aware Waitany", *waitall = "CUDA-aware Waitall",
                            *cuda_pairwise = "CUDA-aware Pairwise",
                            *copy_to_cpu_nonblocking = "Copy-to-CPU Nonblocking",
                            *copy_to_cpu_waitany = "Copy-to-CPU Waitany",
                            *copy_to_cpu_pairwise = "Copy-to-CPU Pairwise", *copy_to_cpu_mpi = "Copy-to-CPU MPI",
                            *own_choice = "Quadrille";
inline constexpr const char *multi_blocking = "multi-pair blocking", *multi_nonblocking = "multi-pair nonblocking",
                            *multi_test = "multi-pair test", *host_pairwise = "pairwise",
                            *host_nonblocking_all = "nonblocking";

// On the memory of GPUs: the seven of the paper's table 1 but the MPI's own, and what Quadrille takes.
std::vector<Variant> paper_lines();
std::vector<Variant> stride_lines();  // 1, 5, 10, 15
std::vector<Variant> buffer_lines();  // kept, fresh, pageable
// On the host's memory.
std::vector<Variant> host_lines();

// Labels. The paper's own lines, without the MPI's and without Quadrille's choice.
std::vector<std::string> optimized_labels();
std::vector<std::string> copy_to_cpu_labels();
std::vector<std::string> host_nonblocking();  // Copy-to-CPU Nonblocking by either of its names
// The paper's lines and "mpi", but these.
std::vector<std::string> all_but(const std::vector<std::string>& labels);
std::vector<std::string> without_mpi(std::vector<std::string> labels);
std::vector<std::string> host_labels_but(const std::vector<std::string>& labels);

}  // namespace quadrille::tools
