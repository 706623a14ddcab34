// SOAP (Vyas et al., arXiv 2409.11321): Adam in the eigenbasis of Shampoo's preconditioner. Weight matrices as in
// SoapMatrix; vectors and matrices of one row or column by Adam. The matrices are
// divided over the ranks by the work that they cost.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/advice.h"
#include "kernels/graph.h"
#include "kernels/runtime.h"
#include "kernels/workers.h"
#include "optimizer/sharded_optimizer.h"
#include "optimizer/soap_matrix.h"

namespace dptrain {

namespace {

struct Shape {
  std::int64_t rows = 1, cols = 1;
};

// Rows and columns of a block that SOAP treats as a matrix; 1 and 1 for all others.
Shape matrix_shape(const OptimizerConfig &config, const ParameterBlock &block)
{
  if (!block.trainable || block.shape.size() != 2 ||
      !SoapMatrix<double>::applies(config, block.shape[0], block.shape[1]))
    return {};
  return {block.shape[0], block.shape[1]};
}

bool is_matrix(const Shape &shape)
{
  return shape.rows > 1;
}

// Floating-point operations of a step, roughly: per short side one product for the mean of G G^T and two changes of
// basis, and a product and QR at each refresh.
double cost_of(const OptimizerConfig &config, const ParameterBlock &block)
{
  constexpr double vector_cost = 10.0, products = 6.0, refresh = 10.0;
  const Shape shape = matrix_shape(config, block);
  const double size = static_cast<double>(block.size);
  double cost = block.trainable ? vector_cost * size : 0.0;
  if (!is_matrix(shape)) return cost;
  for (const std::int64_t side : {shape.rows, shape.cols})
    for (const std::int64_t length : SoapMatrix<double>::block_lengths(config, side)) {
      const double n = static_cast<double>(length), part = n / static_cast<double>(side);
      cost += products * size * part * n + refresh * n * n * n / config.precondition_frequency;
    }
  return cost;
}

struct Division {
  std::vector<std::size_t> parts, extra_parts;  // by rank
};

Division divide(const OptimizerConfig &config, const std::vector<ParameterBlock> &index, int ranks)
{
  std::vector<double> costs;
  std::size_t end = 0;
  for (const ParameterBlock &block : index) {
    if (block.offset != end)
      throw internal_error(fmt::format(
          "SOAP: the parameter block {} does not begin where the one before it ends", block.name));
    end += block.size;
    costs.push_back(cost_of(config, block));
  }
  Division division;
  auto block = index.begin();
  for (const std::size_t run : runs_by_cost(costs, ranks)) {
    division.parts.push_back(0);
    division.extra_parts.push_back(0);
    for (const auto last = block + run; block != last; ++block) {
      const Shape shape = matrix_shape(config, *block);
      division.parts.back() += block->size;
      if (is_matrix(shape))
        division.extra_parts.back() +=
            SoapMatrix<double>::state_size(config, shape.rows, shape.cols);
    }
  }
  return division;
}

template <class T> class Soap final : public ShardedOptimizer<T> {
  using Base = ShardedOptimizer<T>;
  using Base::partition_, Base::moments_;
  using Stage = typename SoapMatrix<T>::Stage;

 public:
  Soap(const OptimizerConfig &config, const std::vector<ParameterBlock> &index,
       const std::shared_ptr<const Communicator> &comm, Division division) :
      Base("SOAP", config, comm, std::move(division.parts), std::move(division.extra_parts))
  {
    ensure_runtime();  // the threads of LibTorch
    for (const ParameterBlock &block : index) {
      if (!block.trainable || block.offset < partition_.begin || block.offset >= partition_.end)
        continue;
      const std::size_t offset = block.offset - partition_.begin;
      const Shape shape = matrix_shape(config, block);
      if (is_matrix(shape))
        matrices_.emplace_back(config, offset, shape.rows, shape.cols);
      else
        Base::append(ranges_, offset, offset + block.size);
    }
  }

  std::size_t memory_bytes() const override
  {
    std::size_t bytes = Base::memory_bytes();
    for (const auto &matrix : matrices_) bytes += matrix.memory_bytes();
    return bytes;
  }

 private:
  void change_own(double *parameters, const double *gradient, double lr) override
  {
    begin_step(gradient);
    std::vector<kernels::AdamRates> rates{moments_.rates(this->steps_, lr)};
    for (const auto &matrix : matrices_) rates.push_back(moments_.rates(matrix.steps(), lr));
    rates_.copy_from(rates);
    const auto step = [&](std::size_t k) {
      matrices_[k].step(moments_, parameters, gradient, rates_.data() + 1 + k);
    };
    if (!kernels::separate_memory()) {
      Base::change_ranges(ranges_, parameters, gradient, rates_.data());
      return kernels::for_tasks(matrices_.size(), step);
    }
    // what is the same in most steps, and the rest
    std::vector<std::int64_t> key{reinterpret_cast<std::intptr_t>(parameters),
                                  reinterpret_cast<std::intptr_t>(gradient)};
    for (const auto &matrix : matrices_) key.push_back(matrix.stage() == Stage::plain);
    graphs_.run(key, [&] {
      Base::change_ranges(ranges_, parameters, gradient, rates_.data());
      for (std::size_t k = 0; k < matrices_.size(); ++k)
        if (matrices_[k].stage() == Stage::plain) step(k);
    });
    for (std::size_t k = 0; k < matrices_.size(); ++k)
      if (matrices_[k].stage() != Stage::plain) step(k);
  }

  // Matrices without a gradient so far are asked for one together.
  void begin_step(const double *gradient)
  {
    std::vector<kernels::Part> silent;
    for (const auto &matrix : matrices_)
      if (matrix.is_silent()) silent.push_back(matrix.part());
    std::vector<double> squares;
    if (!silent.empty()) {
      silent_.copy_from(silent);
      squares_.resize(silent.size());
      kernels::sums_of_squares(gradient, silent_.data(), static_cast<int>(silent.size()),
                               squares_.data());
      squares = squares_.to_host();
    }
    auto next = squares.begin();
    for (auto &matrix : matrices_) matrix.begin_step(!matrix.is_silent() || *next++ != 0.0);
  }

  void pack_extra(double *state) const override
  {
    for (const auto &matrix : matrices_) state = matrix.pack(state);
  }

  void unpack_extra(const double *state) override
  {
    for (auto &matrix : matrices_) state = matrix.unpack(state);
  }

  std::vector<SoapMatrix<T>> matrices_;
  kernels::Array<kernels::AdamRates> rates_;  // of the ranges, and of each matrix
  kernels::Array<kernels::Part> silent_;
  kernels::Array<double> squares_;            // of their gradients
  std::vector<typename Base::Range> ranges_;  // all else that is trainable
  kernels::Graphs graphs_;
};

}  // namespace

std::string long_sides(const OptimizerConfig &config, const std::vector<ParameterBlock> &index)
{
  std::string line;
  for (const ParameterBlock &block : index) {
    const Shape shape = config.type == OptimizerType::soap ? matrix_shape(config, block) : Shape();
    if (!is_matrix(shape) || std::max(shape.rows, shape.cols) <= config.max_precondition_dim)
      continue;
    const auto count = [&](std::int64_t n) {
      return std::to_string(SoapMatrix<double>::block_lengths(config, n).size());
    };
    line += fmt::format("{}{} [{} x {}] in {} x {} blocks",
                        line.empty()
                            ? fmt::format("SOAP preconditions sides of weight matrices that are "
                                          "longer than max_precondition_dim ({}) in blocks: ",
                                          config.max_precondition_dim)
                            : ", ",
                        block.name, shape.rows, shape.cols, count(shape.rows), count(shape.cols));
  }
  return line;
}

std::unique_ptr<Optimizer> make_soap(const OptimizerConfig &config,
                                     const std::vector<ParameterBlock> &index,
                                     const std::shared_ptr<const Communicator> &comm)
{
  Division division = divide(config, index, comm->size());
  if (config.precision == "float32")
    return std::make_unique<Soap<float>>(config, index, comm, std::move(division));
  return std::make_unique<Soap<double>>(config, index, comm, std::move(division));
}

}  // namespace dptrain
