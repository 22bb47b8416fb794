// The stand-in of NVML names the devices as the driver does.
#include <cstring>

#include "loaded.hpp"

namespace quadrille::standin {
namespace {

TEST(StandinNvml, NamesTheDevicesOfTheDriver) {
  void* const library = open_library(NVML_STANDIN);
  int (*init)() = nullptr;
  int (*count_devices)(unsigned*) = nullptr;
  int (*get_handle)(unsigned, void**) = nullptr;
  int (*get_uuid)(void*, char*, unsigned) = nullptr;
  load(library, "nvmlInit_v2", init);
  load(library, "nvmlDeviceGetCount_v2", count_devices);
  load(library, "nvmlDeviceGetHandleByIndex_v2", get_handle);
  load(library, "nvmlDeviceGetUUID", get_uuid);
  unsigned count = 0;
  EXPECT_NE(count_devices(&count), 0);
  ASSERT_EQ(init(), 0);
  ASSERT_EQ(count_devices(&count), 0);
  EXPECT_EQ(count, 2U);
  void* handle = nullptr;
  EXPECT_NE(get_handle(2, &handle), 0);
  ASSERT_EQ(get_handle(1, &handle), 0);
  char text[64];
  EXPECT_NE(get_uuid(handle, text, 20), 0);
  ASSERT_EQ(get_uuid(handle, text, sizeof text), 0);
  Uuid uuid;
  ASSERT_EQ(cuda().cuInit(0), success);
  ASSERT_EQ(cuda().cuDeviceGetUuid_v2(&uuid, 1), success);
  std::string expected = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) expected += '-';
    expected += digits;
  }
  EXPECT_EQ(text, expected);
}

}  // namespace
}  // namespace quadrille::standin
