// The tables of record_file.hpp while they are written, and what this process knows beside them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "choose/registry.hpp"
#include "mpi/mpi.hpp"
#include "team/neighbors.hpp"
#include "team/record_file.hpp"

namespace quadrille::record {

// Of the tables and all that belongs to them, where several threads may call. Never held in the MPI.
std::unique_lock<std::mutex> held();

// A communicator that is there.
struct CommunicatorHere {
  int number = -1;          // in the file
  int ranks = 0, rank = 0;  // of an intercommunicator: those of the other side
  std::uint64_t* sent = nullptr;
  std::shared_ptr<MpiComm> comm;  // MPI_COMM_NULL when the program has freed it; for who may outlive it
  std::shared_ptr<const team::Neighbors> neighbors;  // null: not asked for yet
  bool neighbors_are_told = false;                   // those that the file has are these
};

// Under the lock of who records, but for what asks the MPI: that takes the lock itself, and never holds it in the MPI,
// which may call us under a lock of its own.
class Tables {
 public:
  static Tables& here();

  // Collective over MPI_COMM_WORLD: makes the file of this rank in a folder; none without a folder, or if rank 0 found
  // the file of another program there. What was in the way as in errno: EEXIST, if another program has left its files;
  // 0: nothing.
  int make(const std::string& folder, int rank, int ranks, int node);
  File& file() { return *file_; }

  // Without the lock. Null if the MPI cannot tell.
  CommunicatorHere* communicator_of(MpiComm comm);
  // Without the lock. Asked of the MPI, and written down, once.
  const team::Neighbors& neighbors_of(CommunicatorHere& communicator);
  // Without the lock. -1 if there is no room.
  int site_of(const void* address);
  // Where there is no room, that of the others.
  Entry* entry_of(Collective collective, Form form, const CommunicatorHere* communicator, int site,
                  std::uint8_t size_class);
  // -1 if there is no room.
  int name_of(const choose::Choice& choice);
  int name_of(std::string_view text);
  // Names that make() has given.
  static constexpr int name_of_mpi = 0, name_of_inbox = 1, name_of_exchange = 2;
  // Null if there is no room.
  Way* way_of(Entry& entry, int name);
  // An array of numbers behind the tables, made when `offset` is 0; null if there is no room.
  std::uint64_t* array(std::uint64_t& offset, int numbers);

 private:
  int make_file(const std::string& folder, int rank, int ranks);
  CommunicatorHere* add_communicator(MpiComm comm);
  static std::uint64_t group_of(MpiComm comm, bool inter, const std::vector<int>& world_ranks);
  int number_of_group(std::uint64_t group);
  void describe(CommunicatorHere& communicator, bool inter, const char* name, const std::vector<int>& world_ranks);
  bool tell(Communicator& told, const team::Neighbors& neighbors);
  static int forget(MpiComm, int, void* value, void*);
  static int keyval();

  File* file_ = nullptr;
  bool is_there_[most_communicators] = {};
  const void* sites_[most_sites] = {};
  struct Named {
    const choose::Algorithm* algorithm = nullptr;
    plan::Parameters parameters = {};
  };
  Named named_[most_names];  // by name; without algorithm: not a choice
};

}  // namespace quadrille::record
