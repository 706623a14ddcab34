#include "parallel/serial_communicator.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>

#include "base/advice.h"

namespace dptrain {

namespace {

template <class T>
void copy_to_self(const T *send, const std::vector<int> &send_counts, T *recv,
                  const std::vector<int> &recv_counts)
{
  if (send_counts.size() != 1 || recv_counts != send_counts)
    throw internal_error(
        "Communicator::all_to_all: on one rank both count lists must be the same one number");
  std::copy_n(send, send_counts[0], recv);
}

void check_one_part(const std::vector<std::size_t> &parts, const std::string &name)
{
  if (parts.size() != 1)
    throw internal_error(
        fmt::format("Communicator::{}: one rank has one part, {} were given", name, parts.size()));
}

}  // namespace

void SerialCommunicator::reduce_scatter_sum(double *, const std::vector<std::size_t> &parts) const
{
  check_one_part(parts, "reduce_scatter_sum");
}

void SerialCommunicator::all_gather(double *, const std::vector<std::size_t> &parts) const
{
  check_one_part(parts, "all_gather");
}

void SerialCommunicator::all_to_all(const double *send, const std::vector<int> &send_counts,
                                    double *recv, const std::vector<int> &recv_counts) const
{
  copy_to_self(send, send_counts, recv, recv_counts);
}

void SerialCommunicator::all_to_all(const std::int64_t *send, const std::vector<int> &send_counts,
                                    std::int64_t *recv, const std::vector<int> &recv_counts) const
{
  copy_to_self(send, send_counts, recv, recv_counts);
}

}  // namespace dptrain
