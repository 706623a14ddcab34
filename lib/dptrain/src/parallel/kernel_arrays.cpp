#include "parallel/kernel_arrays.h"

#include <numeric>

#include "kernels/memory.h"

namespace dptrain {

namespace {

template <class Direct, class OnHost>
void exchange(const Communicator &comm, double *data, const std::vector<std::size_t> &parts,
              const Direct &direct, const OnHost &on_host)
{
  if (comm.size() == 1) return;
  if (!kernels::separate_memory()) return on_host(data);
  if (const auto *own = dynamic_cast<const KernelArrayCommunicator *>(&comm)) return direct(*own);
  std::vector<double> host;
  guarded(comm, [&] {
    host.resize(std::accumulate(parts.begin(), parts.end(), std::size_t(0)));
    kernels::copy_out(host.data(), data, host.size() * sizeof(double));
  });
  on_host(host.data());
  kernels::copy_in(data, host.data(), host.size() * sizeof(double));
}

}  // namespace

void reduce_scatter_in_kernels(const Communicator &comm, double *data,
                               const std::vector<std::size_t> &parts)
{
  exchange(
      comm, data, parts,
      [&](const KernelArrayCommunicator &own) { own.reduce_scatter_in_kernels(data, parts); },
      [&](double *host) { comm.reduce_scatter_sum(host, parts); });
}

void all_gather_in_kernels(const Communicator &comm, double *data,
                           const std::vector<std::size_t> &parts)
{
  exchange(
      comm, data, parts,
      [&](const KernelArrayCommunicator &own) { own.all_gather_in_kernels(data, parts); },
      [&](double *host) { comm.all_gather(host, parts); });
}

}  // namespace dptrain
