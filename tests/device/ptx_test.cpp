// The text of the library's kernel, run instruction by instruction, against the list that it is given; and what the
// stand-in makes of texts that are wrong.
#include <array>
#include <cstring>
#include <random>
#include <string>

#include "../../src/memory/copy_pieces.hpp"
#include "loaded.hpp"

namespace quadrille::standin {
namespace {

// As memory/device_pieces.hpp has it.
struct Piece {
  std::uint64_t to, from, pitch;
  std::uint32_t units, count, unit, unused;
};

class StandinPtx : public CudaTest {
 protected:
  static Handle function_of(const char* text, const char* name) {
    Handle module = nullptr, function = nullptr;
    EXPECT_EQ(cuda().cuModuleLoadData(&module, text), success);
    EXPECT_EQ(cuda().cuModuleGetFunction(&function, module, name), success);
    return function;
  }
  static int launch(Handle function, unsigned columns, unsigned rows, unsigned threads, std::uint64_t list,
                    std::uint32_t count) {
    void* parameters[] = {&list, &count};
    const int error = cuda().cuLaunchKernel(function, columns, rows, 1, threads, 1, 1, 0, nullptr, parameters, nullptr);
    return error != success ? error : cuda().cuStreamSynchronize(nullptr);
  }
};

void carry_out(const std::vector<Piece>& pieces, std::vector<unsigned char>& to, const std::vector<unsigned char>& from,
               Address to_base, Address from_base) {
  for (const Piece& piece : pieces) {
    for (std::uint32_t u = 0; u < piece.count; ++u) {
      const std::uint64_t at = u / piece.units * piece.pitch + std::uint64_t{u % piece.units} * piece.unit;
      std::memcpy(&to[piece.to + at - to_base], &from[piece.from + at - from_base], piece.unit);
    }
  }
}

TEST_F(StandinPtx, OfTheKernelMovesPieces) {
  const Handle function = function_of(memory::copy_pieces_text, memory::copy_pieces_name);
  constexpr std::size_t bytes = 60000;
  const Address device = allocate(bytes);
  unsigned char* const pinned = pin(bytes);
  auto* const list = reinterpret_cast<Piece*>(pin(100 * sizeof(Piece)));
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % most); };
  for (const auto& [columns, rows, threads] :
       {std::array{1U, 1U, 1U}, {3U, 1U, 7U}, {8U, 3U, 128U}, {100U, 1U, 3U}, {2U, 5U, 2U}}) {
    for (const bool to_host : {true, false}) {
      std::vector<unsigned char> from(bytes), to(bytes, 9);
      const auto host = reinterpret_cast<Address>(pinned);
      const Address to_base = to_host ? host : device, from_base = to_host ? device : host;
      for (std::size_t i = 0; i < bytes; ++i) {
        from[i] = static_cast<unsigned char>(random());
        at(from_base, i) = from[i];
        at(to_base, i) = 9;
      }
      std::vector<Piece> pieces;
      for (std::uint64_t offset = 0; pieces.size() < 60;) {
        const std::uint32_t unit = std::vector<std::uint32_t>{1, 4, 8, 16}[below(4)], units = 1 + below(40),
                            rows = 1 + below(3);
        const std::uint64_t pitch = std::uint64_t{units + below(3)} * unit;
        offset = (offset + 15) / 16 * 16;
        pieces.push_back({to_base + offset, from_base + offset, pitch, units, units * rows, unit, 0});
        offset += rows * pitch;
        ASSERT_LT(offset, bytes);
      }
      std::memcpy(list, pieces.data(), pieces.size() * sizeof(Piece));
      ASSERT_EQ(launch(function, columns, rows, threads, reinterpret_cast<std::uint64_t>(list), 60), success);
      carry_out(pieces, to, from, to_base, from_base);
      for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(at(to_base, i), to[i]) << i;
    }
  }
}

TEST_F(StandinPtx, HasAGpusErrors) {
  const Handle function = function_of(memory::copy_pieces_text, memory::copy_pieces_name);
  auto* const list = reinterpret_cast<Piece*>(pin(sizeof(Piece)));
  const auto where = reinterpret_cast<std::uint64_t>(list);
  const Address device = allocate(64);
  std::vector<unsigned char> ordinary(64);
  *list = {reinterpret_cast<std::uint64_t>(ordinary.data()), device, 0, 1, 1, 1, 0};
  EXPECT_EQ(launch(function, 1, 1, 1, where, 1), 700) << "ordinary memory";
  EXPECT_EQ(cuda().cuCtxDestroy_v2(context_), success);  // a GPU's context does nothing more after that
  ASSERT_EQ(cuda().cuCtxCreate_v2(&context_, 0, 0), success);
}

TEST_F(StandinPtx, IsAlignedAsItsUnits) {
  const Handle function = function_of(memory::copy_pieces_text, memory::copy_pieces_name);
  auto* const list = reinterpret_cast<Piece*>(pin(sizeof(Piece)));
  const Address device = allocate(64);
  *list = {device + 4, device + 32, 0, 1, 1, 16, 0};
  EXPECT_EQ(launch(function, 1, 1, 1, reinterpret_cast<std::uint64_t>(list), 1), 716);
}

TEST_F(StandinPtx, IsRefusedIfItIsNotUnderstood) {
  const char* const head = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 p) {";
  for (const char* body : {"atom.add.u32 %r0, [%d0], 1; ret;", "bra NOWHERE; ret;", "ld.global.u32 %r0, %d0]; ret;"}) {
    Handle module = nullptr, function = nullptr;
    ASSERT_EQ(cuda().cuModuleLoadData(&module, (head + std::string(body) + "}").c_str()), success);
    EXPECT_EQ(cuda().cuModuleGetFunction(&function, module, "k"), not_found) << body;
  }
}

}  // namespace
}  // namespace quadrille::standin
