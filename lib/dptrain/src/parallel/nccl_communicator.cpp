#include "parallel/nccl_communicator.h"

#ifdef DPTRAIN_NCCL
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "dptrain/base/error.h"
#include "kernels/gpus.h"
#include "kernels/memory.h"
#include "parallel/kernel_arrays.h"
#include "parallel/watchdog.h"
#endif

namespace dptrain {

#ifdef DPTRAIN_NCCL

namespace {

constexpr std::size_t long_array = 8192;  // doubles; shorter ones do not pay for the way to the GPU
constexpr auto poll_interval = std::chrono::microseconds(20);

void check(cudaError_t status, const char *what)
{
  if (status != cudaSuccess)
    throw Error(fmt::format("CUDA: {}: {}; check the driver and the GPU with nvidia-smi", what,
                            cudaGetErrorString(status)));
}

/// Memory on the GPU that grows.
class GpuArray {
 public:
  ~GpuArray() { cudaFree(data_); }
  double *resize(std::size_t doubles)
  {
    if (doubles <= capacity_) return data_;
    cudaFree(data_);
    data_ = nullptr;
    capacity_ = 0;
    check(cudaMalloc(reinterpret_cast<void **>(&data_), doubles * sizeof(double)),
          "memory for an exchange between ranks");
    capacity_ = doubles;
    return data_;
  }

 private:
  double *data_ = nullptr;
  std::size_t capacity_ = 0;
};

class NcclCommunicator : public Communicator, public KernelArrayCommunicator {
 public:
  explicit NcclCommunicator(std::shared_ptr<const Communicator> mpi) : mpi_(std::move(mpi))
  {
    guarded(*mpi_, [&] {
      check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
            "a stream for NCCL cannot be made");
    });
    ncclUniqueId id{};
    if (mpi_->rank() == 0) require(ncclGetUniqueId(&id), "start");
    mpi_->broadcast(&id, sizeof(id), 0);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t status =
        ncclCommInitRankConfig(&nccl_, mpi_->size(), id, mpi_->rank(), &config);
    if (status != ncclInProgress) require(status, "start");
    wait("start", [] { return true; });
  }

  ~NcclCommunicator() override
  {
    if (nccl_) ncclCommAbort(nccl_);
    cudaStreamDestroy(stream_);
  }
  NcclCommunicator(const NcclCommunicator &) = delete;
  NcclCommunicator &operator=(const NcclCommunicator &) = delete;

  int rank() const override { return mpi_->rank(); }
  int size() const override { return mpi_->size(); }

  void all_reduce_sum(double *data, std::size_t n) const override
  {
    if (n < long_array) return mpi_->all_reduce_sum(data, n);
    on_gpu("all_reduce", data, n, 0, n, 2 * n * (size() - 1) / size(), [&](double *gpu) {
      return ncclAllReduce(gpu, gpu, n, ncclDouble, ncclSum, nccl_, stream_);
    });
  }

  void reduce_scatter_sum(double *data, const std::vector<std::size_t> &parts) const override
  {
    const auto [first, total] = own_part(parts);
    if (total < long_array) return mpi_->reduce_scatter_sum(data, parts);
    // one after the other in one launch: the parts differ in length
    const std::size_t own = parts[rank()];
    on_gpu("reduce_scatter", data, total, first, own, total - own, [&](double *gpu) {
      return for_parts(parts, [&](std::size_t begin, std::size_t n, int owner) {
        return ncclReduce(gpu + begin, gpu + begin, n, ncclDouble, ncclSum, owner, nccl_, stream_);
      });
    });
  }

  void all_gather(double *data, const std::vector<std::size_t> &parts) const override
  {
    const std::size_t total = own_part(parts).second;
    if (total < long_array) return mpi_->all_gather(data, parts);
    on_gpu("all_gather", data, total, 0, total, parts[rank()] * (size() - 1), [&](double *gpu) {
      return for_parts(parts, [&](std::size_t begin, std::size_t n, int owner) {
        return ncclBroadcast(gpu + begin, gpu + begin, n, ncclDouble, owner, nccl_, stream_);
      });
    });
  }

  void reduce_scatter_in_kernels(double *data, const std::vector<std::size_t> &parts) const override
  {
    const std::size_t total = own_part(parts).second;
    in_place("reduce_scatter", total - parts[rank()], [&] {
      return for_parts(parts, [&](std::size_t begin, std::size_t n, int owner) {
        return ncclReduce(data + begin, data + begin, n, ncclDouble, ncclSum, owner, nccl_,
                          stream_);
      });
    });
  }

  void all_gather_in_kernels(double *data, const std::vector<std::size_t> &parts) const override
  {
    in_place("all_gather", parts[rank()] * (size() - 1), [&] {
      return for_parts(parts, [&](std::size_t begin, std::size_t n, int owner) {
        return ncclBroadcast(data + begin, data + begin, n, ncclDouble, owner, nccl_, stream_);
      });
    });
  }

  void all_reduce_sum(std::int64_t *data, std::size_t n) const override
  {
    mpi_->all_reduce_sum(data, n);
  }
  void all_reduce_max(double *data, std::size_t n) const override { mpi_->all_reduce_max(data, n); }
  void all_reduce_max(std::int64_t *data, std::size_t n) const override
  {
    mpi_->all_reduce_max(data, n);
  }
  void broadcast(void *data, std::size_t bytes, int root) const override
  {
    mpi_->broadcast(data, bytes, root);
  }
  void all_to_all(const double *send, const std::vector<int> &send_counts, double *recv,
                  const std::vector<int> &recv_counts) const override
  {
    mpi_->all_to_all(send, send_counts, recv, recv_counts);
  }
  void all_to_all(const std::int64_t *send, const std::vector<int> &send_counts, std::int64_t *recv,
                  const std::vector<int> &recv_counts) const override
  {
    mpi_->all_to_all(send, send_counts, recv, recv_counts);
  }
  std::vector<std::int64_t> all_gather(std::int64_t value) const override
  {
    return mpi_->all_gather(value);
  }

  std::vector<Traffic> traffic() const override
  {
    std::vector<Traffic> all = mpi_->traffic();
    for (const Traffic &own : traffic_)
      if (own.calls > 0) all.push_back(own);
    return all;
  }

 private:
  // Begin of the own part, and the length of all.
  std::pair<std::size_t, std::size_t> own_part(const std::vector<std::size_t> &parts) const
  {
    std::size_t first = 0, total = 0;
    for (int r = 0; r < static_cast<int>(parts.size()); ++r) {
      if (r == rank()) first = total;
      total += parts[r];
    }
    return {first, total};
  }

  template <class Work>
  static ncclResult_t for_parts(const std::vector<std::size_t> &parts, const Work &work)
  {
    ncclResult_t status = ncclGroupStart();
    std::size_t begin = 0;
    for (int owner = 0; owner < static_cast<int>(parts.size()); begin += parts[owner++])
      if (status == ncclSuccess || status == ncclInProgress)
        status = work(begin, parts[owner], owner);
    const ncclResult_t end = ncclGroupEnd();
    return status == ncclSuccess || status == ncclInProgress ? end : status;
  }

  // data[n] goes to the GPU, `launch` exchanges it, and result [begin, begin + count) comes back; `sent` numbers travel.
  template <class Launch>
  void on_gpu(const char *name, double *data, std::size_t n, std::size_t begin, std::size_t count,
              std::size_t sent, const Launch &launch) const
  {
    double *gpu = nullptr;
    // all ranks have come when this returns, with memory: of one that does not come the MPI communicator tells
    guarded(*mpi_, [&] { gpu = staging_.resize(n); });
    require(cudaMemcpyAsync(gpu, data, n * sizeof(double), cudaMemcpyHostToDevice, stream_), name);
    finish(name, launch(gpu));
    require(cudaMemcpyAsync(data + begin, gpu + begin, count * sizeof(double),
                            cudaMemcpyDeviceToHost, stream_),
            name);
    require(cudaStreamSynchronize(stream_), name);
    note(name, sent * sizeof(double));
  }

  // `launch` exchanges arrays of the kernels, whose stream has ended its work on them.
  template <class Launch>
  void in_place(const char *name, std::size_t sent, const Launch &launch) const
  {
    guarded(*mpi_, [&] {
      check(cudaStreamSynchronize(static_cast<cudaStream_t>(kernels::device_stream())),
            "kernels before an exchange between ranks");
    });
    finish(name, launch());
    note(name, sent * sizeof(double));
  }

  // NCCL has it in the stream, and it has ended: what waits for the stream alone hears nothing of failures.
  void finish(const char *name, ncclResult_t status) const
  {
    if (status != ncclInProgress) require(status, name);
    wait(name, [] { return true; });
    wait(name, [&] { return cudaStreamQuery(stream_) != cudaErrorNotReady; });
  }

  void note(const char *name, std::size_t bytes) const
  {
    const std::string full = fmt::format("nccl {}", name);
    for (Traffic &known : traffic_) {
      if (known.calls > 0 && known.operation != full) continue;
      known.operation = full;
      ++known.calls;
      known.bytes += static_cast<std::int64_t>(bytes);
      return;
    }
  }

  void require(ncclResult_t status, const char *name) const
  {
    if (status == ncclSuccess) return;
    fail(name, ncclGetErrorString(status));
  }

  void require(cudaError_t status, const char *name) const
  {
    if (status != cudaSuccess) fail(name, cudaGetErrorString(status));
  }

  // After this no rank knows what the others have: the job ends.
  [[noreturn]] void fail(const char *name, const std::string &why) const
  {
    end_job(fmt::format("ERROR: dptrain: NCCL on rank {}, operation {}: {}. The job ends now. "
                        "Checkpoints are complete: resume goes on with the latest\n",
                        rank(), name, why));
  }

  // Until NCCL has done its part and `done` says so; NCCL may fail at any time without a word.
  template <class Done> void wait(const char *name, const Done &done) const
  {
    const auto start = std::chrono::steady_clock::now();
    while (true) {
      ncclResult_t state = ncclSuccess;
      ncclCommGetAsyncError(nccl_, &state);
      if (state != ncclInProgress) require(state, name);
      if (state == ncclSuccess && done()) return;
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
      if (communication_timeout() > 0.0 && waited.count() > communication_timeout())
        fail(name, fmt::format("no answer of the other ranks for {} s", waited.count()));
      if (waited > std::chrono::milliseconds(1)) std::this_thread::sleep_for(poll_interval);
    }
  }

  std::shared_ptr<const Communicator> mpi_;
  mutable ncclComm_t nccl_ = nullptr;
  cudaStream_t stream_ = nullptr;
  mutable GpuArray staging_;
  mutable std::array<Traffic, 3> traffic_;
};

// Whether no two ranks have the same GPU, which NCCL refuses.
bool have_own_gpus(const Communicator &comm)
{
  std::size_t hash = 0;
  guarded(comm,
          [&] { hash = std::hash<std::string>()(kernels::describe_gpu(kernels::bound_gpu()).id); });
  std::vector<std::int64_t> ids = comm.all_gather(static_cast<std::int64_t>(hash));
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}

}  // namespace

std::shared_ptr<const Communicator> over_nccl(std::shared_ptr<const Communicator> mpi)
{
  if (mpi->size() == 1 || kernels::bound_gpu() < 0 || !have_own_gpus(*mpi)) return mpi;
  return std::make_shared<NcclCommunicator>(std::move(mpi));
}

#else

std::shared_ptr<const Communicator> over_nccl(std::shared_ptr<const Communicator> mpi)
{
  return mpi;
}

#endif

}  // namespace dptrain
