// Memory of another process; what there is before a driver is initialised; functions by their names.
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "loaded.hpp"

extern char** environ;

namespace quadrille::standin {
namespace {

// What the other process is asked for, and what it says.
enum class Ask : int { initialize, open, read, write, close, uuid, end };
struct Question {
  Ask ask;
  IpcHandle handle;
  int value;
};
struct Answer {
  int error;
  Address address;
  int value;
  unsigned long stale;
  Uuid uuid;
};

constexpr int line = 3;  // the number of the file by which they talk

Answer answer(const Question& question, Address& memory) {
  Answer answer{};
  unsigned char byte = static_cast<unsigned char>(question.value);
  Handle context = nullptr;
  switch (question.ask) {
    case Ask::initialize:
      answer.error = cuda().cuMemFree_v2(0);
      answer.value = cuda().cuInit(0);
      if (answer.value == success) answer.value = cuda().cuCtxCreate_v2(&context, 0, 0);
      break;
    case Ask::open:
      answer.error = cuda().cuIpcOpenMemHandle_v2(&memory, question.handle, 1);
      break;
    case Ask::read:
      answer.error = cuda().cuMemcpyDtoH_v2(&byte, memory, 1);
      answer.value = byte;
      break;
    case Ask::write:
      answer.error = cuda().cuMemcpyHtoD_v2(memory, &byte, 1);
      break;
    case Ask::close:
      answer.error = cuda().cuIpcCloseMemHandle(memory);
      break;
    case Ask::uuid:
      answer.error = cuda().cuDeviceGetUuid_v2(&answer.uuid, 0);
      cuda().cuDeviceGetCount(&answer.value);
      break;
    case Ask::end:
      break;
  }
  answer.address = memory;
  answer.stale = cuda().count("stale", nullptr);
  return answer;
}

class Peer {
 public:
  explicit Peer(const char* visible = nullptr) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], line);
    char name[] = "/proc/self/exe", peer[] = "--peer";
    char* arguments[] = {name, peer, nullptr};
    if (visible != nullptr) setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    EXPECT_EQ(posix_spawn(&process_, name, &actions, nullptr, arguments, environ), 0);
    unsetenv("CUDA_VISIBLE_DEVICES");
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    line_ = ends[0];
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    ask(Ask::end);
    close(line_);
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    EXPECT_EQ(status, 0);
  }
  Answer ask(Ask what, int value = 0, const IpcHandle& handle = {}) {
    const Question question{what, handle, value};
    Answer answer{};
    EXPECT_EQ(write(line_, &question, sizeof question), static_cast<ssize_t>(sizeof question));
    EXPECT_EQ(read(line_, &answer, sizeof answer), static_cast<ssize_t>(sizeof answer));
    return answer;
  }

 private:
  int line_ = -1;
  pid_t process_ = -1;
};

class StandinSharing : public CudaTest {};
class StandinNames : public CudaTest {};

TEST_F(StandinSharing, AnotherProcessReadsAndWrites) {
  const Address memory = allocate(5000);
  fill(memory, 5000, 7);
  IpcHandle handle;
  ASSERT_EQ(cuda().cuIpcGetMemHandle(&handle, memory + 100), success);
  Peer peer;
  ASSERT_EQ(peer.ask(Ask::initialize).value, success);
  const Answer opened = peer.ask(Ask::open, 0, handle);
  ASSERT_EQ(opened.error, success);
  EXPECT_EQ(peer.ask(Ask::open, 0, handle).address, opened.address) << "it is there once, however often it is opened";
  EXPECT_EQ(peer.ask(Ask::read).value, 7);
  fill(memory, 1, 8);
  EXPECT_EQ(peer.ask(Ask::read).value, 8);
  EXPECT_EQ(peer.ask(Ask::write, 9).error, success);
  EXPECT_EQ(at(memory), 9);
  EXPECT_EQ(at(memory, 1), 7);
  EXPECT_EQ(peer.ask(Ask::close).error, success);
  EXPECT_EQ(peer.ask(Ask::read).error, success);
  EXPECT_EQ(peer.ask(Ask::close).error, success);
  EXPECT_EQ(peer.ask(Ask::close).error, invalid_value);
  EXPECT_EQ(peer.ask(Ask::read).error, invalid_value);
}

TEST_F(StandinSharing, TheOwnProcessDoesNotOpenIt) {
  IpcHandle handle;
  Address opened = 0;
  ASSERT_EQ(cuda().cuIpcGetMemHandle(&handle, allocate(100)), success);
  EXPECT_EQ(cuda().cuIpcOpenMemHandle_v2(&opened, handle, 1), invalid_context);
  EXPECT_EQ(cuda().cuIpcGetMemHandle(&handle, reinterpret_cast<Address>(pin(100))), invalid_value);
  std::memset(&handle, 0, sizeof handle);
  EXPECT_EQ(cuda().cuIpcOpenMemHandle_v2(&opened, handle, 1), invalid_value);
}

TEST_F(StandinSharing, AMappingThatIsKeptAfterAFreeIsFound) {
  const Address memory = allocate(5000);
  IpcHandle handle;
  ASSERT_EQ(cuda().cuIpcGetMemHandle(&handle, memory), success);
  Peer peer;
  ASSERT_EQ(peer.ask(Ask::initialize).value, success);
  ASSERT_EQ(peer.ask(Ask::open, 0, handle).error, success);
  ASSERT_EQ(peer.ask(Ask::read).error, success);
  ASSERT_EQ(cuda().cuMemFree_v2(memory), success);
  // The address is taken again: a handle is of the memory, not of the address.
  ASSERT_EQ(allocate(5000), memory);
  const Answer stale = peer.ask(Ask::read);
  EXPECT_EQ(stale.error, illegal_address);
  EXPECT_EQ(stale.stale, 1U);
  Peer late;
  ASSERT_EQ(late.ask(Ask::initialize).value, success);
  EXPECT_NE(late.ask(Ask::open, 0, handle).error, success);
}

TEST_F(StandinSharing, IsGoneWithItsProcess) { EXPECT_EQ(Peer().ask(Ask::initialize).error, not_initialized); }

TEST_F(StandinSharing, DevicesAreKnownByTheirNames) {
  Uuid second;
  ASSERT_EQ(cuda().cuDeviceGetUuid_v2(&second, 1), success);
  Peer peer("1");
  ASSERT_EQ(peer.ask(Ask::initialize).value, success);
  const Answer own = peer.ask(Ask::uuid);
  EXPECT_EQ(own.value, 1);
  EXPECT_EQ(std::memcmp(&own.uuid, &second, sizeof second), 0);
  Peer none("");
  EXPECT_EQ(none.ask(Ask::initialize).value, no_device);
}

TEST_F(StandinNames, AreFoundWithoutTheirEndings) {
  const auto find = [](const char* name, int version, std::uint64_t flags = 0) {
    void* found = nullptr;
    int status = -1;
    EXPECT_EQ(cuda().cuGetProcAddress_v2(name, &found, version, flags, &status), success);
    EXPECT_EQ(status == 0, found != nullptr);
    return found;
  };
  EXPECT_EQ(find("cuMemAlloc", 12000), reinterpret_cast<void*>(cuda().cuMemAlloc_v2));
  EXPECT_EQ(find("cuMemcpyBatchAsync", 12080), reinterpret_cast<void*>(cuda().cuMemcpyBatchAsync));
  EXPECT_EQ(find("cuMemcpyBatchAsync", 13000), reinterpret_cast<void*>(cuda().cuMemcpyBatchAsync_v2));
  EXPECT_EQ(find("cuMemcpyBatchAsync", 12000), nullptr);
  EXPECT_EQ(find("cuStreamSynchronize", 12000), reinterpret_cast<void*>(cuda().cuStreamSynchronize));
  EXPECT_EQ(find("cuStreamSynchronize", 12000, 2), reinterpret_cast<void*>(cuda().cuStreamSynchronize_ptsz));
  EXPECT_EQ(find("cuMemcpyDtoH", 12000, 2), reinterpret_cast<void*>(cuda().cuMemcpyDtoH_v2_ptds));
  EXPECT_EQ(find("cuMemAlloc", 12000, 2), reinterpret_cast<void*>(cuda().cuMemAlloc_v2));
  EXPECT_EQ(find("cuGraphUpload", 12000), nullptr);
  void* found = nullptr;
  EXPECT_EQ(cuda().cuGetProcAddress_v2("cuMemAlloc", &found, 99000, 0, nullptr), invalid_value);
}

}  // namespace

int be_peer() {
  Address memory = 0;
  Question question{};
  while (read(line, &question, sizeof question) == static_cast<ssize_t>(sizeof question)) {
    const Answer said = answer(question, memory);
    if (write(line, &said, sizeof said) != static_cast<ssize_t>(sizeof said)) return 1;
    if (question.ask == Ask::end) return 0;
  }
  return 1;
}

}  // namespace quadrille::standin

int main(int argc, char** argv) {
  setenv("QUADRILLE_STANDIN_DEVICES", "2", 1);
  if (argc > 1 && std::strcmp(argv[1], "--peer") == 0) return quadrille::standin::be_peer();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
