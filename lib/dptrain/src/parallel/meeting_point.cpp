#include "parallel/meeting_point.h"

#include <mpi.h>

namespace dptrain {

namespace {

class MpiMeetingPoint final : public MeetingPoint {
 public:
  explicit MpiMeetingPoint(MPI_Comm comm) { MPI_Comm_dup(comm, &comm_); }
  ~MpiMeetingPoint() override
  {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized || request_ != MPI_REQUEST_NULL) return;  // somebody will not come any more
    MPI_Comm_free(&comm_);
  }
  MpiMeetingPoint(const MpiMeetingPoint &) = delete;
  MpiMeetingPoint &operator=(const MpiMeetingPoint &) = delete;

  void begin(const Values &values) override
  {
    own_ = values;
    MPI_Iallreduce(own_.data(), sums_.data(), num_values, MPI_INT64_T, MPI_SUM, comm_, &request_);
  }
  bool test() override
  {
    int done = 0;
    MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }
  Values finish() override
  {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);  // at once where test() has said yes
    return sums_;
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  Values own_{}, sums_{};
};

}  // namespace

std::unique_ptr<MeetingPoint> make_meeting_point(const void *mpi_comm)
{
  return std::make_unique<MpiMeetingPoint>(*static_cast<const MPI_Comm *>(mpi_comm));
}

}  // namespace dptrain
