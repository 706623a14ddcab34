#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace dptrain {

/// A sum over groups of ranks that go on with their work until all of them have given their part. Each rank calls begin(),
/// then test() now and then; once that says yes on one rank of a group, finish() of the others in it waits for no more than
/// the way of a message.
class MeetingPoint {
 public:
  static constexpr int num_values = 5;
  using Values = std::array<std::int64_t, num_values>;

  virtual ~MeetingPoint() = default;
  virtual void begin(const Values &values) = 0;
  virtual bool test() = 0;
  /// The sums; begin() may be called again.
  virtual Values finish() = 0;
};

/// Over the ranks of an MPI_Comm, which is duplicated. Collective.
std::unique_ptr<MeetingPoint> make_meeting_point(const void *mpi_comm);

}  // namespace dptrain
