// In place of the files that call MPI, for a LAMMPS that was built without it: each process is one rank.

#include "dptrain/parallel/communicator.h"
#include "parallel/meeting_point.h"
#include "parallel/node_view.h"
#include "parallel/serial_communicator.h"

namespace dptrain {

namespace {

double timeout = 0.0;

}  // namespace

std::shared_ptr<const Communicator> make_mpi_communicator(const void *, bool)
{
  return std::make_shared<SerialCommunicator>();
}

// There is no MPI_Comm that it could be made of.
std::unique_ptr<MeetingPoint> make_meeting_point(const void *)
{
  return nullptr;
}

void set_communication_timeout(double seconds)
{
  timeout = seconds;
}

double communication_timeout()
{
  return timeout;
}

NodeView look_at_node(const void *, std::vector<int> sums, std::vector<int> maxima)
{
  return {0, 1, std::move(sums), std::move(maxima)};
}

}  // namespace dptrain
