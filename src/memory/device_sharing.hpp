// Memory of a device that the other ranks of a node open, so that they can copy from it (Namugwanya et al. name it as
// what CUDA-aware MPIs do inside a node).
//
// Idea    Each rank has a line in shared memory. There it keeps the handles of the allocations that it has exported
//         last, and says in which of them the blocks of a call are. A peer opens what it does not know yet and keeps
//         it. Where a block is, it learns as an offset from the beginning of the allocation, as that is what a handle
//         names.
// Same    An address says nothing: memory is freed, and other memory comes to its place. The driver gives each
//         allocation a number that no other has; by that its owner knows it again. What is exported gets a serial
//         number, never used twice; by that the peers know it again. A peer closes what its owner does not list any
//         more, and the owner takes off the list what it finds freed, each time when something new is listed. What went
//         with its context, on either side, is found by the driver's number as well.
// Order   A line is written before its rank comes to a meeting (memory/meeting.hpp), and read between that and the time
//         when the reader finishes.
// Cost    For memory that was exported before, a question to the driver. For new memory, a handle of it and, in each
//         peer, opening it: some 100 us on real devices.
//
// A process cannot open its own handles: what is its own a rank copies from where it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "memory/device_batch.hpp"
#include "memory/device_streams.hpp"

namespace quadrille::memory {

// What a rank lists; shared.
struct SharingLine {
  static constexpr std::size_t most = 8;
  struct Exported {
    std::uint64_t serial;  // 0: nothing
    IpcHandle handle;
  };
  // Of the call in flight: the serial number of the memory in which this rank's blocks are; 0: the rank sends nothing.
  std::uint64_t sends;
  // And the driver's number of memory in the context in which it copies; 0: it copies nothing.
  std::uint64_t copies_in;
  // If another rank may copy for this one: the serial number of the memory that it receives in, and the device on which
  // that is, the same number in all processes. Else 0.
  std::uint64_t receives, device;
  // The device of what it sends, as that number; 0: nobody knows.
  std::uint64_t sends_on;
  Exported exported[most];
};

class DeviceSharing {
 public:
  // Memory of ours, exported: for blocks that cannot be where they are. So much at most.
  static constexpr std::size_t most_bounced = std::size_t{256} << 20;
  static std::size_t bytes(int ranks);

  // `base` is zeroed shared memory of bytes(ranks) bytes, at the beginning of a line of a cache. Null: lie_at() tells.
  // `has_streams`: it makes one where something is open, for calls that wait.
  DeviceSharing(std::byte* base, int ranks, int me, bool has_streams = true)
      : base_(base), ranks_(ranks), me_(me), has_streams_(has_streams) {}
  DeviceSharing& operator=(DeviceSharing&&) = delete;
  void lie_at(std::byte* base) { base_ = base; }
  // Closes and frees all.
  ~DeviceSharing();

  const SharingLine& line(int rank) const { return line_of(rank); }
  // ---- What this rank lists, before it comes to a meeting ----

  // The call sends nothing, and copies nothing, until something else is said.
  void begin() { mine().sends = mine().copies_in = mine().receives = mine().device = mine().sends_on = 0; }
  void copy_in(std::uint64_t id) { mine().copies_in = id; }
  // Lists the allocation that holds all of these bytes as what the call's blocks are in. `base` becomes its address.
  // False if it cannot be exported.
  bool send_from(const DevicePlace& place, std::uintptr_t first, std::uintptr_t last, std::uintptr_t& base);
  // The same of what another rank may write to.
  bool receive_in(const DevicePlace& place, std::uintptr_t first, std::uintptr_t last, std::uintptr_t& base);
  // Memory of ours for so many bytes, kept for later calls; null if there is none.
  std::byte* bounce(const DevicePlace& place, std::size_t bytes);

  // ---- What the others list, between a meeting and the end of a call ----

  // What of it who copies opens: all that is sent, and what those receive in for whom it copies; or of those for whom
  // it copies what they send and receive.
  enum class Opens : std::uint8_t { all, of_led };
  // A number of what all ranks list for this call, to open that of it: the same on all of them, and another one for
  // anything else.
  std::uint64_t all_listed(Opens what = Opens::all) const;
  // What the ranks have said of such a number: could all open everything? Null: nothing, or not lately. All ranks keep
  // the same, as they keep answers in the same calls.
  const bool* answer(std::uint64_t listed) const;
  void keep_answer(std::uint64_t listed, bool all);
  // Of those that receive on one device the first rank copies for them all. Does another one copy for this rank, or
  // this rank for that one, or for itself?
  bool is_led() const { return leader_of(me_) != me_; }
  bool copies_for(int rank) const { return leader_of(rank) == me_; }
  // Does any rank copy for another one? The same on all ranks.
  bool leads_any() const;
  // Is all that the others send in the memory of that place's device?
  bool is_all_on(const DevicePlace& place);
  // Opens what the others list for this call, in the context of a place, and closes what they do not list any more.
  // False if something cannot be opened. To open memory may wait for the device: while a call is pending in a stream
  // nothing is opened.
  bool open_all(const DevicePlace& place, Opens what = Opens::all);
  // Was it such a call alone that kept it from opening? Not after close_old().
  bool opens_later() const { return opens_later_; }
  // The same without opening anything, for who copies nothing.
  void close_old();
  // Where an allocation is that another rank lists for this call, of `line(rank).sends` or `.receives`; 0 if it is not
  // open there.
  std::uintptr_t opened(int rank, std::uint64_t serial, const DevicePlace& place) const;
  // A stream there, which goes along with the NULL stream; null: the NULL stream.
  void* stream(const DevicePlace& place) const;
  // After the end of a call: nobody has it open any more.
  void free_old_bounces();

  // For the copies of a call.
  RepeatedCopies& copies() { return copies_; }
  // For those into bounce(), before; kept for its memory.
  DeviceBatch& packing() { return packing_; }

 private:
  static constexpr std::size_t most_answers = 16;
  struct Answer {
    std::uint64_t listed;
    bool all;
  };
  struct Export {
    std::uint64_t serial = 0, id = 0, used = 0;
    std::uintptr_t base = 0;
    std::size_t bytes = 0;
  };
  struct Opened {
    int rank;
    std::uint64_t serial;
    HeldMemory memory;  // by the number that it has in this process
  };

  // Who copies for a rank: itself where nobody is led.
  int leader_of(int rank) const;
  SharingLine& line_of(int rank) const;
  SharingLine& mine() const { return line_of(me_); }
  bool is_listed(const Opened& one) const;
  std::uint64_t list(const DevicePlace& place, std::uintptr_t first, std::uintptr_t last, std::uintptr_t& base);
  void take_off(std::size_t slot);
  std::size_t free_slot();
  Export* export_new(const DevicePlace& place, std::uintptr_t address, std::uint64_t id);
  bool open(const DevicePlace& place, int rank, std::uint64_t serial);

  std::byte* base_;
  const int ranks_, me_;
  const bool has_streams_;
  std::array<Export, SharingLine::most> exports_;
  std::uint64_t last_serial_ = 0, uses_ = 0;
  bool opens_later_ = false;
  std::vector<Opened> opened_;
  std::list<OwnStream> streams_;  // one for each place where memory is open
  std::vector<HeldMemory> bounces_, old_bounces_;
  std::array<Answer, most_answers> answers_{};
  std::size_t answer_count_ = 0;  // that were kept; of the last ones
  RepeatedCopies copies_;
  DeviceBatch packing_;
};

}  // namespace quadrille::memory
