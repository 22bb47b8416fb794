// A driver that the program loads is found, whichever thread loads it and however long that takes. No library is
// watched here: the tests say themselves what is loaded.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <thread>

#include "memory/device.hpp"

namespace quadrille::memory {
namespace {

// In a process of its own, as a driver stays.
[[noreturn]] void load_driver_in_another_thread() {
  std::promise<void> noted, looked;
  std::thread loader([&] {
    note_loading();
    noted.set_value();
    looked.get_future().wait();
    if (dlopen(CUDA_STANDIN, RTLD_NOW) == nullptr) std::_Exit(2);
  });
  noted.get_future().wait();
  if (device_driver() != nullptr || !driver_may_come()) std::_Exit(3);
  looked.set_value();
  loader.join();
  std::_Exit(device_driver() != nullptr ? 0 : 4);
}

TEST(Loading, ADriverIsFoundAfterALookThatCameTooEarly) {
  EXPECT_EXIT(load_driver_in_another_thread(), testing::ExitedWithCode(0), "");
}

TEST(Loading, IsOverWhenTheSameThreadLooks) {
  note_loading();
  EXPECT_EQ(device_driver(), nullptr);
  EXPECT_FALSE(driver_may_come());
}

TEST(Loading, OfAnotherThreadIsOverAfterSomeTime) {
  std::thread(note_loading).join();
  EXPECT_TRUE(driver_may_come());
  EXPECT_TRUE(driver_may_come());
  note_loading();
  EXPECT_TRUE(driver_may_come()) << "a load of this thread ends no other one";
  detail::last_note = 0;
  EXPECT_FALSE(driver_may_come());
}

}  // namespace
}  // namespace quadrille::memory
