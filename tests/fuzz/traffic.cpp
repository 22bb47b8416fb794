#include "traffic.hpp"

namespace quadrille::fuzz {

Traffic::Traffic(std::uint64_t seed, const Communicator& where, const Wishes& wishes) : where_(where), seed_(seed) {
  Draw draw(seed);
  if (where.inter || where.size < 2 || !draw.one_in(3)) return;
  messages_ = static_cast<Messages>(draw.below(6));
  tag_ = static_cast<int>(draw.below(30000));
  length_ = static_cast<int>(draw.pick<std::size_t>({0, 1, 100, 5000, 70000, 300000}));
  if (wishes.skips.nonblocking || (wishes.skips.topology_overlap && where.topology) || !draw.one_in(2)) return;
  barrier_ = draw.one_in(3), reduce_ = draw.one_in(3), exchange_ = draw.one_in(3);
}

// Everybody sends to the next rank.
void Traffic::send() {
  const int to = (where_.rank + 1) % where_.size;
  if (messages_ == Messages::blocking_send && where_.rank % 2 == 0) {
    MPI_Send(out_.data(), length_, MPI_BYTE, to, tag_, where_.comm);
    return;
  }
  requests_.push_back(MPI_REQUEST_NULL);
  MPI_Isend(out_.data(), length_, MPI_BYTE, to, tag_, where_.comm, &requests_.back());
}

void Traffic::receive() {
  const int from = (where_.rank + where_.size - 1) % where_.size;
  const bool wild = messages_ == Messages::wild_ring;
  requests_.push_back(MPI_REQUEST_NULL);
  MPI_Irecv(in_.data(), length_, MPI_BYTE, wild ? MPI_ANY_SOURCE : from, wild ? MPI_ANY_TAG : tag_, where_.comm,
            &requests_.back());
}

void Traffic::start_collectives(Draw& draw) {
  const auto request = [this] {
    requests_.push_back(MPI_REQUEST_NULL);
    return &requests_.back();
  };
  if (barrier_) MPI_Ibarrier(where_.comm, request());
  mine_ = static_cast<int>(seed_ % 1000) + where_.rank;
  if (reduce_) MPI_Iallreduce(&mine_, &sum_, 1, MPI_INT, MPI_SUM, where_.comm, request());
  const int each = static_cast<int>(draw.below(600)) + 1;
  numbers_.assign(static_cast<std::size_t>(each * where_.size), 0);
  answers_.assign(numbers_.size(), -1);
  for (std::size_t i = 0; i < numbers_.size(); ++i) numbers_[i] = where_.rank * 1000 + static_cast<int>(i) / each;
  if (exchange_) MPI_Ialltoall(numbers_.data(), each, MPI_INT, answers_.data(), each, MPI_INT, where_.comm, request());
}

void Traffic::before() {
  const auto world = [this](int rank) { return where_.world[static_cast<std::size_t>(rank)]; };
  const auto bytes = static_cast<std::size_t>(length_);
  out_.resize(bytes), in_.assign(bytes, 0), expected_.resize(bytes);
  test::fill({world(where_.rank), -4, seed_}, 0, bytes, out_.data());
  test::fill({world((where_.rank + where_.size - 1) % where_.size), -4, seed_}, 0, bytes, expected_.data());
  requests_.reserve(8);
  Draw draw(seed_ + 1);
  if (messages_ != Messages::none && messages_ != Messages::unexpected) receive();
  // Among the messages that the pending receive of any message must not take are those that set things up.
  if (messages_ != Messages::none && messages_ != Messages::late_ring && messages_ != Messages::wild_ring) send();
  if (barrier_ || reduce_ || exchange_) start_collectives(draw);
}

void Traffic::after() {
  if (messages_ == Messages::unexpected) receive();
  if (messages_ == Messages::late_ring || messages_ == Messages::wild_ring) send();
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  requests_.clear();
  if (messages_ == Messages::wild_ring) MPI_Barrier(where_.comm);
  if (messages_ != Messages::none && in_ != expected_) throw Finding{"a message of the program has wrong bytes"};
  const int ranks = where_.size;
  if (reduce_ && sum_ != ranks * static_cast<int>(seed_ % 1000) + ranks * (ranks - 1) / 2) {
    throw Finding{"MPI_Iallreduce beside our calls is wrong"};
  }
  const std::size_t each = answers_.size() / static_cast<std::size_t>(ranks);
  for (std::size_t i = 0; exchange_ && i < answers_.size(); ++i) {
    if (answers_[i] != static_cast<int>(i / each) * 1000 + where_.rank)
      throw Finding{"MPI_Ialltoall beside our calls is wrong"};
  }
}

}  // namespace quadrille::fuzz
