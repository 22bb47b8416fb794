// That a graph does what was added to it, when it is launched and in the order of the stream, as often as it is.
#include "loaded.hpp"

namespace quadrille::standin {
namespace {

class StandinGraphs : public CudaTest {
 protected:
  static Handle graph() {
    Handle made = nullptr;
    EXPECT_EQ(cuda().cuGraphCreate(&made, 0), success);
    return made;
  }
  int add(Handle graph, Address to, Address from, std::size_t bytes, Handle* node,
          const std::vector<Handle>& after = {}) {
    Copy3D box{};
    box.from_type = box.to_type = 2;
    box.from_device = from;
    box.to_device = to;
    box.from_pitch = box.to_pitch = box.width = bytes;
    box.height = box.depth = 1;
    return cuda().cuGraphAddMemcpyNode(node, graph, after.data(), after.size(), &box, context_);
  }
  static Handle instantiate(Handle graph) {
    Handle made = nullptr;
    EXPECT_EQ(cuda().cuGraphInstantiateWithFlags(&made, graph, 0), success);
    return made;
  }
};

TEST_F(StandinGraphs, AreMadeInTheOrderOfTheStream) {
  for (const char* mode : {"eager", "lazy", "random:5"}) {
    use(mode);
    const Handle own = stream(), made = graph();
    const Address from = allocate(8), to = allocate(8);
    Handle node = nullptr;
    fill(from, 8, 1);
    fill(to, 8, 0);
    ASSERT_EQ(add(made, to, from, 4, &node), success);
    ASSERT_EQ(add(made, to + 4, from + 4, 4, &node), success);
    const Handle ready = instantiate(made);
    ASSERT_EQ(cuda().cuGraphDestroy(made), success);  // what was made of it stays
    EXPECT_EQ(at(to), 0) << "nothing is done before it is launched";
    for (int turn = 2; turn < 5; ++turn) {
      ASSERT_EQ(cuda().cuMemsetD8Async(from, static_cast<unsigned char>(turn), 8, own), success);
      ASSERT_EQ(cuda().cuGraphLaunch(ready, own), success);
      ASSERT_EQ(cuda().cuMemsetD8Async(from, 99, 8, own), success);
      ASSERT_EQ(cuda().cuStreamSynchronize(own), success);
      for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(at(to, i), turn);
    }
    ASSERT_EQ(cuda().cuGraphExecDestroy(ready), success);
    EXPECT_NE(cuda().cuGraphLaunch(ready, own), success);
    EXPECT_NE(cuda().cuGraphExecDestroy(ready), success);
  }
}

// A chain of copies, each after the one before, comes to its end; without an order it does not.
TEST_F(StandinGraphs, KeepToTheOrderThatWasSaid) {
  constexpr std::size_t links = 6;
  for (const char* mode : {"eager", "lazy", "random:5"}) {
    for (const bool ordered : {true, false}) {
      use(mode);
      const Handle own = stream(), made = graph();
      const Address chain = allocate(links + 1);
      fill(chain, links + 1, 0);
      fill(chain, 1, 7);
      std::vector<Handle> after;
      for (std::size_t i = 0; i < links; ++i) {
        Handle node = nullptr;
        ASSERT_EQ(add(made, chain + i + 1, chain + i, 1, &node, after), success);
        if (ordered) after = {node};
      }
      const Handle ready = instantiate(made);
      ASSERT_EQ(cuda().cuGraphLaunch(ready, own), success);
      ASSERT_EQ(cuda().cuStreamSynchronize(own), success);
      const bool in_order = ordered || std::string(mode) == "eager";
      EXPECT_EQ(at(chain, links) == 7, in_order) << mode;
    }
  }
}

TEST_F(StandinGraphs, RefuseWhatTheyCannotHave) {
  const Handle made = graph(), other = graph();
  const Address from = allocate(8), to = allocate(8);
  Handle node = nullptr, foreign = nullptr, ready = nullptr;
  EXPECT_NE(add(made, to, from, 9, &node), success) << "more than there is";
  ASSERT_EQ(add(other, to, from, 8, &foreign), success);
  EXPECT_NE(add(made, to, from, 8, &node, {foreign}), success) << "after a copy of another graph";
  EXPECT_NE(cuda().cuGraphInstantiateWithFlags(&ready, nullptr, 0), success);
  cuda().set("FAIL", "cuGraphInstantiateWithFlags:1");
  EXPECT_NE(cuda().cuGraphInstantiateWithFlags(&ready, other, 0), success);
  ASSERT_EQ(cuda().cuGraphInstantiateWithFlags(&ready, other, 0), success);
  // Memory that was freed is no longer there when the graph comes to it.
  ASSERT_EQ(cuda().cuMemFree_v2(from), success);
  const Handle own = stream();
  ASSERT_EQ(cuda().cuGraphLaunch(ready, own), success);
  EXPECT_EQ(cuda().cuStreamSynchronize(own), illegal_address);
}

}  // namespace
}  // namespace quadrille::standin
