// What the library takes the MPI's constants, handles and statuses for, beside what mpi.h says here.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "abi/native.hpp"
#include "mpi/mpi.hpp"
#include "returned_errors.hpp"

namespace quadrille::test {
namespace {

TEST(Constants, HaveTheValuesOfTheMpi) {
#define QUADRILLE_CONSTANT(name, NAME) EXPECT_EQ(mpi().name, MPI_##NAME) << "MPI_" #NAME;
  QUADRILLE_MPI_CONSTANTS(QUADRILLE_CONSTANT)
#undef QUADRILLE_CONSTANT
  EXPECT_EQ(mpi().in_place, MPI_IN_PLACE);
  EXPECT_EQ(mpi().unweighted, MPI_UNWEIGHTED);
  EXPECT_EQ(static_cast<void*>(mpi().status_ignore), static_cast<void*>(MPI_STATUS_IGNORE));
  EXPECT_EQ(static_cast<void*>(mpi().statuses_ignore), static_cast<void*>(MPI_STATUSES_IGNORE));
}

// Calls from there go straight to the MPI.
TEST(Constants, TheMpisLibraryIsWhereItsFunctionsAre) {
  EXPECT_TRUE(mpi().holds(reinterpret_cast<const void*>(mpi().Alltoall)));
  EXPECT_TRUE(mpi().holds(reinterpret_cast<const void*>(mpi().Waitall)));
  EXPECT_FALSE(mpi().holds(reinterpret_cast<const void*>(&std::memset)));
  EXPECT_FALSE(mpi().holds(__builtin_return_address(0)));
}

TEST(Constants, HandlesAreTheMpis) {
  const auto same = [](auto ours, auto theirs) { return ours == abi::word_of<decltype(ours)>(theirs); };
  EXPECT_TRUE(same(mpi().comm_world, MPI_COMM_WORLD));
  EXPECT_TRUE(same(mpi().comm_self, MPI_COMM_SELF));
  EXPECT_TRUE(same(mpi().comm_null, MPI_COMM_NULL));
  EXPECT_TRUE(same(mpi().group_null, MPI_GROUP_NULL));
  EXPECT_TRUE(same(mpi().info_null, MPI_INFO_NULL));
  EXPECT_TRUE(same(mpi().request_null, MPI_REQUEST_NULL));
  EXPECT_TRUE(same(mpi().errors_return, MPI_ERRORS_RETURN));
  EXPECT_TRUE(same(mpi().errors_are_fatal, MPI_ERRORS_ARE_FATAL));
  EXPECT_TRUE(same(mpi().datatype_null, MPI_DATATYPE_NULL));
  EXPECT_TRUE(same(mpi().byte, MPI_BYTE));
  EXPECT_TRUE(same(mpi().packed, MPI_PACKED));
  EXPECT_TRUE(same(mpi().char_type, MPI_CHAR));
  EXPECT_TRUE(same(mpi().int_type, MPI_INT));
  EXPECT_TRUE(same(mpi().uint64, MPI_UINT64_T));
  EXPECT_TRUE(same(mpi().double_type, MPI_DOUBLE));
  EXPECT_TRUE(same(mpi().op_max, MPI_MAX));
  EXPECT_TRUE(same(mpi().op_min, MPI_MIN));
  EXPECT_TRUE(same(mpi().op_sum, MPI_SUM));
  EXPECT_TRUE(same(mpi().op_bor, MPI_BOR));
}

// What a rank of the program sees in the statuses that we fill, and we in those of the MPI.
class Statuses : public testing::Test {
 protected:
  // As the MPI writes it.
  static MPI_Status made(int source, int tag, int error, MPI_Count bytes, bool cancelled) {
    MPI_Status status;
    std::memset(&status, 0, sizeof status);
    status.MPI_SOURCE = source, status.MPI_TAG = tag, status.MPI_ERROR = error;
    MPI_Status_set_elements_x(&status, MPI_BYTE, bytes);
    MPI_Status_set_cancelled(&status, cancelled ? 1 : 0);
    return status;
  }
  static void expect_rest(const MPI_Status& status, MPI_Count bytes, bool cancelled) {
    MPI_Count elements = 0;
    int flag = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &elements);
    MPI_Test_cancelled(&status, &flag);
    EXPECT_EQ(elements, bytes);
    EXPECT_EQ(flag != 0, cancelled);
  }
  static MpiStatus& ours(MPI_Status* status) { return *reinterpret_cast<MpiStatus*>(status); }
};

TEST_F(Statuses, AreReadAndWrittenInTheMpisLayout) {
  for (const MPI_Count bytes : {MPI_Count{0}, MPI_Count{7}, MPI_Count{1} << 31, (MPI_Count{3} << 40) + 5}) {
    for (const bool cancelled : {false, true}) {
      alignas(MpiStatus) std::array<MPI_Status, 3> array;  // no function may look behind what is its own
      array[1] = made(3, 17, MPI_ERR_TRUNCATE, bytes, cancelled);
      array[2] = made(1, 2, MPI_SUCCESS, 9, false);
      const MpiStatus one = status_at(reinterpret_cast<MpiStatus*>(array.data()), 1);
      EXPECT_EQ(source_in(one), 3);
      EXPECT_EQ(tag_in(one), 17);
      EXPECT_EQ(error_in(one), MPI_ERR_TRUNCATE);
      EXPECT_EQ(bytes_in(one), static_cast<std::size_t>(bytes));

      set_status(ours(&array[1]), MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS);
      EXPECT_EQ(array[1].MPI_SOURCE, MPI_ANY_SOURCE);
      EXPECT_EQ(array[1].MPI_TAG, MPI_ANY_TAG);
      EXPECT_EQ(array[1].MPI_ERROR, MPI_SUCCESS);
      expect_rest(array[1], bytes, cancelled);

      set_status_at(reinterpret_cast<MpiStatus*>(array.data()), 1, one);
      EXPECT_EQ(array[1].MPI_TAG, 17);
      expect_rest(array[1], bytes, cancelled);
      EXPECT_EQ(array[2].MPI_SOURCE, 1);
      expect_rest(array[2], 9, false);
    }
  }
}

// An error of the MPI has the class that the library asks for.
TEST(Constants, ClassesOfErrorsAreTheMpis) {
  if (!errors_are_returned()) GTEST_SKIP() << "an error ends the program";
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int value = 0, of_rank = MPI_SUCCESS, of_count = MPI_SUCCESS;
  MPI_Error_class(MPI_Send(&value, 1, MPI_INT, 1 << 20, 0, comm), &of_rank);
  MPI_Error_class(MPI_Send(&value, -1, MPI_INT, 0, 0, comm), &of_count);
  EXPECT_EQ(of_rank, mpi().err_rank);
  EXPECT_EQ(of_count, mpi().err_count);
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace quadrille::test
