// The datatypes of a call that outlives its arguments: MPI lets a program free them once the call has been made.
#pragma once

#include <vector>

#include "run/call.hpp"

namespace quadrille::run {

class KeptTypes {
 public:
  ~KeptTypes();
  KeptTypes& operator=(KeptTypes&&) = delete;

  // Nothing is kept: the call's types are those that come with MPI.
  bool empty() const { return made_.empty() && send_types_.empty() && recv_types_.empty(); }

  // Lets `call`, which is sound, refer to types that live as long as this. So many blocks of either side; of a
  // side without any nothing is looked at. Returns an MPI error code.
  int keep(Call& call, int send_blocks, int recv_blocks);

 private:
  int keep(Side& side, int blocks, MpiArray<MpiType>& types);
  int keep(MpiType& type);

  MpiArray<MpiType> send_types_, recv_types_;  // arrays of a w form
  std::vector<MpiType> originals_, made_;
};

}  // namespace quadrille::run
