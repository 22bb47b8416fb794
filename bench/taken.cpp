// MPI's own nonblocking and persistent all-to-all under `quadrille run`, beside the functions of the MPI itself and
// beside the C API, in one run and by turns: microseconds of a call, started and completed at once.
//
//   build/bin/quadrille run -- mpirun -n 2 --bind-to core build/openmpi/bin/quadrille_taken_bench [BATCHES [BYTES...]]
//
// First what the completion functions cost a program that has none of these calls: nanoseconds of each on requests of
// the program's own, with Quadrille before it and without. Then a line a block size: the median over the batches of
// each form (of the slowest rank); the ratios, and in microseconds what the MPI's handle costs more than the C API's,
// taken batch by batch, with quartiles. Then the nonblocking calls beside a computation between start and wait that
// takes as long as the MPI's own call: how much of a call it hides, in percent of the call alone. The functions of the
// MPI itself are looked up in its library by their PMPI_ names, where nothing is interposed.
#include <dlfcn.h>
#include <mpi.h>
#include <quadrille.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "by_turns.hpp"

namespace {

using namespace quadrille::measure;

using Ialltoall = decltype(MPI_Ialltoall);
using Init = int(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);

// The MPI's library: nobody interposes MPI_Wtime.
void* mpi_library() {
  Dl_info info;
  void* const found =
      dladdr(dlsym(RTLD_DEFAULT, "MPI_Wtime"), &info) != 0 ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (found == nullptr) std::fprintf(stderr, "the MPI's library was not found\n"), std::abort();
  return found;
}

template <class Function>
Function* look_up(void* scope, const std::string& name, const std::string& older = "") {
  void* symbol = dlsym(scope, name.c_str());
  if (symbol == nullptr && !older.empty()) symbol = dlsym(scope, older.c_str());
  return reinterpret_cast<Function*>(symbol);
}

// By either: what the program finds, or the MPI's own.
struct Functions {
  // `mpi` begins all names.
  Functions(void* scope, const std::string& mpi)
      : ialltoall(look_up<Ialltoall>(scope, mpi + "_Ialltoall")),
        init(look_up<Init>(scope, mpi + "_Alltoall_init", mpi + "X_Alltoall_init")),
        start(look_up<decltype(MPI_Start)>(scope, mpi + "_Start")),
        wait(look_up<decltype(MPI_Wait)>(scope, mpi + "_Wait")),
        test(look_up<decltype(MPI_Test)>(scope, mpi + "_Test")),
        waitall(look_up<decltype(MPI_Waitall)>(scope, mpi + "_Waitall")),
        free(look_up<decltype(MPI_Request_free)>(scope, mpi + "_Request_free")) {}
  Ialltoall* ialltoall;
  Init* init;
  decltype(MPI_Start)* start;
  decltype(MPI_Wait)* wait;
  decltype(MPI_Test)* test;
  decltype(MPI_Waitall)* waitall;
  decltype(MPI_Request_free)* free;
};

bool is_first() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

// Requests that are complete, which is what the functions do least for: null ones, and persistent ones that are not
// active.
void measure_completion(const Functions& seen, const Functions& own, int batches) {
  constexpr int in_a_row = 100;
  MPI_Request idle[4] = {};
  for (MPI_Request& one : idle) MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &one);
  const auto forms_of = [&](const std::string& name, auto call) {
    return std::vector<Form>{{name + " under Quadrille",
                              [=, &seen] {
                                for (int i = 0; i < in_a_row; ++i) call(seen);
                              },
                              {}},
                             {name + " of the MPI",
                              [=, &own] {
                                for (int i = 0; i < in_a_row; ++i) call(own);
                              },
                              {}}};
  };
  int flag = 0;
  const auto wait = [&](const Functions& by) { by.wait(&idle[0], MPI_STATUS_IGNORE); };
  const auto test = [&](const Functions& by) { by.test(&idle[0], &flag, MPI_STATUS_IGNORE); };
  const auto all = [&](const Functions& by) { by.waitall(4, idle, MPI_STATUSES_IGNORE); };
  for (std::vector<Form>& forms :
       std::vector{forms_of("Wait", wait), forms_of("Test", test), forms_of("Waitall", all)}) {
    measure_by_turns(forms, 3 * batches, 200);
    for (Form& form : forms) {
      for (double& time : form.times) time *= 1e3 / in_a_row;
    }
    if (!is_first()) continue;
    std::printf("completion:");
    print_times(forms);
    std::printf("\n   nanoseconds more:");
    print_difference(forms[0].name.substr(0, forms[0].name.find(' ')).c_str(), forms[0], forms[1]);
    std::printf("\n");
  }
  for (MPI_Request& one : idle) MPI_Request_free(&one);
}

// Both kinds by one's functions, at the numbers of `forms` that are returned last.
void add_forms(std::vector<Form>& forms, const std::string& whose, const Functions& by, const void* from, void* to,
               int count, MPI_Request& kept) {
  forms.push_back({whose + "nonblocking",
                   [=, &by] {
                     MPI_Request request = MPI_REQUEST_NULL;
                     by.ialltoall(from, count, MPI_BYTE, to, count, MPI_BYTE, MPI_COMM_WORLD, &request);
                     by.wait(&request, MPI_STATUS_IGNORE);
                   },
                   {}});
  if (by.init == nullptr) return;
  by.init(from, count, MPI_BYTE, to, count, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &kept);
  forms.push_back({whose + "persistent", [&by, &kept] { by.start(&kept), by.wait(&kept, MPI_STATUS_IGNORE); }, {}});
}

void compute(double microseconds) {
  const double end = MPI_Wtime() + microseconds * 1e-6;
  while (MPI_Wtime() < end) {
  }
}

// What a computation of so many microseconds between start and wait hides of the calls. `alone`: their times without
// it.
void measure_overlap(const Functions& seen, const Functions& own, const Form& seen_alone, const Form& own_alone,
                     const void* from, void* to, int count, int batches) {
  double length = quantile(own_alone.times, 0.5);  // the same on all ranks
  const auto both = [=](const Functions& by) {
    return [=, &by] {
      MPI_Request request = MPI_REQUEST_NULL;
      by.ialltoall(from, count, MPI_BYTE, to, count, MPI_BYTE, MPI_COMM_WORLD, &request);
      compute(length);
      by.wait(&request, MPI_STATUS_IGNORE);
    };
  };
  std::vector<Form> forms = {
      {"both", both(seen), {}}, {"MPI both", both(own), {}}, {"computation", [=] { compute(length); }, {}}};
  measure_by_turns(forms, batches, calls_of(static_cast<std::size_t>(count)));
  if (!is_first()) return;
  std::printf("   overlap:");
  print_times(forms);
  const double computed = quantile(forms[2].times, 0.5);
  const auto print_hidden = [&](const char* name, const Form& beside, const Form& alone) {
    print_pair(name, beside, alone,
               [=](double together, double call) { return 100 * (call + computed - together) / call; });
  };
  print_hidden("hidden", forms[0], seen_alone);
  print_hidden("hidden by the MPI", forms[1], own_alone);
  std::printf("\n");
}

void measure(std::size_t bytes, const Functions& seen, const Functions& own, int batches) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  void *from = nullptr, *to = nullptr;
  Quadrille_Alloc(static_cast<MPI_Aint>(bytes) * ranks, &from);
  Quadrille_Alloc(static_cast<MPI_Aint>(bytes) * ranks, &to);
  const int count = static_cast<int>(bytes);
  Quadrille_Request of_api = QUADRILLE_REQUEST_NULL;
  Quadrille_Alltoall_init(from, count, MPI_BYTE, to, count, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &of_api);
  std::vector<Form> forms = {{"API nonblocking",
                              [=] {
                                Quadrille_Request request;
                                Quadrille_Ialltoall(from, count, MPI_BYTE, to, count, MPI_BYTE, MPI_COMM_WORLD,
                                                    &request);
                                Quadrille_Wait(&request);
                              },
                              {}},
                             {"API persistent", [&of_api] { Quadrille_Start(&of_api), Quadrille_Wait(&of_api); }, {}}};
  MPI_Request of_seen = MPI_REQUEST_NULL, of_own = MPI_REQUEST_NULL;
  add_forms(forms, "", seen, from, to, count, of_seen);
  const std::size_t theirs = forms.size();
  add_forms(forms, "MPI ", own, from, to, count, of_own);
  measure_by_turns(forms, batches, calls_of(bytes));
  if (is_first()) {
    std::printf("%zu bytes:", bytes);
    print_times(forms);
    std::printf("\n   ratios:");
    print_ratio("nonblocking/MPI's", forms[2], forms[theirs]);
    if (own.init != nullptr) print_ratio("persistent/MPI's", forms[3], forms[theirs + 1]);
    std::printf("  microseconds more:");
    print_difference("nonblocking-API's", forms[2], forms[0]);
    if (own.init != nullptr) print_difference("persistent-API's", forms[3], forms[1]);
    std::printf("\n");
  }
  measure_overlap(seen, own, forms[2], forms[theirs], from, to, count, batches);
  std::fflush(stdout);
  if (of_seen != MPI_REQUEST_NULL) seen.free(&of_seen);
  if (of_own != MPI_REQUEST_NULL) own.free(&of_own);
  Quadrille_Request_free(&of_api);
  Quadrille_Free(from), Quadrille_Free(to);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Functions seen(RTLD_DEFAULT, "MPI"), own(mpi_library(), "PMPI");
  if (seen.ialltoall == own.ialltoall || seen.wait == own.wait) {
    std::fprintf(stderr, "nothing is before the MPI's functions: start it under `quadrille run`\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int batches = argc > 1 ? std::atoi(argv[1]) : 15;
  std::vector<std::size_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {8, 64, 512, 2048, 8192, 32768, 131072};
  measure_completion(seen, own, batches);
  for (const std::size_t bytes : sizes) measure(bytes, seen, own, batches);
  MPI_Finalize();
}
