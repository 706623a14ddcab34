// PowerSGD: low-rank sums of gradients.

#include <ATen/ATen.h>

#include <algorithm>

#include "base/random.h"
#include "training/gradient_sum.h"

namespace dptrain {

namespace {

constexpr std::uint64_t first_directions = 20190531;  // the same on all ranks

/// One weight matrix [rows][columns].
struct Matrix {
  std::size_t offset = 0;
  std::int64_t rows = 0, columns = 0;
  at::Tensor q;     // [columns][rank]
  at::Tensor left;  // [rows][columns] what this rank's approximations have left out
};

class PowerSgd : public HostGradientSum {
 public:
  PowerSgd(std::shared_ptr<const Communicator> comm, int rank,
           const std::vector<ParameterBlock> &index) :
      comm_(std::move(comm)), rank_(rank), random_(first_directions)
  {
    for (const ParameterBlock &block : index) {
      const bool smaller = block.shape.size() == 2 && 2 * rank * (block.shape[0] + block.shape[1]) <
                                                          static_cast<std::int64_t>(block.size);
      if (!smaller) {
        others_.emplace_back(block.offset, block.size);
        continue;
      }
      Matrix matrix{block.offset, block.shape[0], block.shape[1],
                    at::zeros({block.shape[1], rank}, at::kDouble),
                    at::zeros({block.shape[0], block.shape[1]}, at::kDouble)};
      revive(matrix.q);
      matrices_.push_back(std::move(matrix));
    }
  }

  // Two sums over the ranks: first P = M Q of all matrices with everything that is not a matrix, then Q = M^T P.
  void sum_on_host(double *gradient) override
  {
    const double ranks = comm_->size();
    std::vector<at::Tensor> directions;
    guarded(*comm_, [&] {
      travel_.clear();
      for (Matrix &m : matrices_) {
        m.left.add_(view(gradient, m));  // M: the gradient and what was left out before
        put(at::matmul(m.left, m.q));
      }
      for (const auto &[offset, size] : others_)
        travel_.insert(travel_.end(), gradient + offset, gradient + offset + size);
    });
    comm_->all_reduce_sum(travel_.data(), travel_.size());
    guarded(*comm_, [&] {
      const double *next = travel_.data();
      for (const Matrix &m : matrices_) directions.push_back(orthonormal(take(next, m.rows)));
      for (const auto &[offset, size] : others_) {
        std::copy_n(next, size, gradient + offset);
        next += size;
      }
      travel_.clear();
      for (std::size_t k = 0; k < matrices_.size(); ++k)
        put(at::matmul(matrices_[k].left.t(), directions[k]));
    });
    comm_->all_reduce_sum(travel_.data(), travel_.size());
    guarded(*comm_, [&] {
      const double *next = travel_.data();
      for (std::size_t k = 0; k < matrices_.size(); ++k) {
        Matrix &m = matrices_[k];
        m.q = take(next, m.columns);
        const at::Tensor sum = at::matmul(directions[k], m.q.t());
        view(gradient, m).copy_(sum);
        m.left.sub_(sum, 1.0 / ranks);  // each rank has its share of what the sum misses
        revive(m.q);
      }
    });
  }

  std::size_t memory_bytes() const override
  {
    std::size_t doubles = travel_.capacity() + host_bytes() / sizeof(double);
    for (const Matrix &m : matrices_) doubles += m.q.numel() + m.left.numel();
    return doubles * sizeof(double);
  }

 private:
  static at::Tensor view(double *gradient, const Matrix &m)
  {
    return at::from_blob(gradient + m.offset, {m.rows, m.columns}, at::kDouble);
  }
  void put(const at::Tensor &tensor)
  {
    const at::Tensor flat = tensor.contiguous();
    const double *data = flat.const_data_ptr<double>();
    travel_.insert(travel_.end(), data, data + flat.numel());
  }
  at::Tensor take(const double *&next, std::int64_t rows) const
  {
    at::Tensor tensor = at::empty({rows, rank_}, at::kDouble);
    std::copy_n(next, tensor.numel(), tensor.data_ptr<double>());
    next += tensor.numel();
    return tensor;
  }
  // Columns that span the same space. A vanishing column stays one of zeros: it has nothing to say.
  static at::Tensor orthonormal(at::Tensor p)
  {
    for (std::int64_t k = 0; k < p.size(1); ++k) {
      at::Tensor column = p.select(1, k);
      const double before = column.norm().item<double>();
      for (int twice = 0; twice < 2; ++twice)  // once is not orthogonal to rounding
        for (std::int64_t j = 0; j < k; ++j) {
          const at::Tensor other = p.select(1, j);
          column.sub_(other * at::dot(other, column));
        }
      const double length = column.norm().item<double>();
      if (length > 1e-12 * before)
        column.div_(length);
      else
        column.zero_();
    }
    return p;
  }

  // A direction that has vanished would stay so: another one takes its place, the same on all ranks.
  void revive(at::Tensor q)
  {
    for (std::int64_t k = 0; k < q.size(1); ++k) {
      at::Tensor column = q.select(1, k);
      if (column.norm().item<double>() > 0.0) continue;
      double *number = q.data_ptr<double>() + k;
      for (std::int64_t i = 0; i < q.size(0); ++i, number += q.size(1))
        *number = random_normal(random_);
    }
  }

  std::shared_ptr<const Communicator> comm_;
  int rank_;
  RandomEngine random_;
  std::vector<Matrix> matrices_;
  std::vector<std::pair<std::size_t, std::size_t>> others_;  // offset, size
  std::vector<double> travel_;
};

}  // namespace

std::unique_ptr<GradientSum> make_power_sgd(std::shared_ptr<const Communicator> comm, int rank,
                                            const std::vector<ParameterBlock> &index)
{
  return std::make_unique<PowerSgd>(std::move(comm), rank, index);
}

}  // namespace dptrain
