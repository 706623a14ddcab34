// SOAP (Vyas et al., arXiv 2409.11321): Adam in the eigenbasis of Shampoo's preconditioner. Weight matrices as in
// SoapMatrices; vectors and matrices of one row or column by Adam. The matrices are
// divided over the ranks by the work that they cost.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/advice.h"
#include "kernels/graph.h"
#include "kernels/runtime.h"
#include "kernels/workers.h"
#include "optimizer/sharded_optimizer.h"
#include "optimizer/soap_matrices.h"

namespace dptrain {

namespace {

struct Shape {
  std::int64_t rows = 1, cols = 1;
};

// Rows and columns of a block that SOAP treats as a matrix; 1 and 1 for all others.
Shape matrix_shape(const OptimizerConfig &config, const ParameterBlock &block)
{
  if (!block.trainable || block.shape.size() != 2 ||
      !SoapMatrices<double>::applies(config, block.shape[0], block.shape[1]))
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
    for (const std::int64_t length : SoapMatrices<double>::block_lengths(config, side)) {
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
            SoapMatrices<double>::state_size(config, shape.rows, shape.cols);
    }
  }
  return division;
}

template <class T> class Soap final : public ShardedOptimizer<T> {
  using Base = ShardedOptimizer<T>;
  using Base::partition_, Base::moments_;
  using Matrices = SoapMatrices<T>;

 public:
  Soap(const OptimizerConfig &config, const std::vector<ParameterBlock> &index,
       const std::shared_ptr<const Communicator> &comm, Division division) :
      Base("SOAP", config, comm, std::move(division.parts), std::move(division.extra_parts))
  {
    ensure_runtime();  // the threads of LibTorch
    std::vector<kernels::Part> ranges;
    std::vector<Sized> sizes;
    for (const ParameterBlock &block : index) {
      if (!block.trainable || block.offset < partition_.begin || block.offset >= partition_.end)
        continue;
      const auto offset = static_cast<long>(block.offset - partition_.begin);
      const Shape shape = matrix_shape(config, block);
      if (is_matrix(shape))
        add(shape, offset, sizes);
      else
        ranges.push_back({offset, static_cast<long>(block.size)});
    }
    this->set_ranges(ranges);
    for (const auto &[shape, offsets] : sizes)
      matrices_.emplace_back(config, offsets, shape.rows, shape.cols);
  }

  std::size_t memory_bytes() const override
  {
    std::size_t bytes = Base::memory_bytes();
    for (const auto &matrices : matrices_) bytes += matrices.memory_bytes();
    return bytes;
  }

 private:
  struct Sized {
    Shape shape;
    std::vector<long> offsets;
  };
  // One of the matrices of one size.
  struct Place {
    std::size_t size;
    int number;
  };

  // On a device those of one size are worked on as one; the threads of a host take one each.
  void add(const Shape &shape, long offset, std::vector<Sized> &sizes)
  {
    auto size = sizes.end();
    if (kernels::separate_memory())
      size = std::find_if(sizes.begin(), sizes.end(), [&](const Sized &s) {
        return s.shape.rows == shape.rows && s.shape.cols == shape.cols;
      });
    if (size == sizes.end()) size = sizes.insert(size, {shape, {}});
    places_.push_back(
        {static_cast<std::size_t>(size - sizes.begin()), static_cast<int>(size->offsets.size())});
    size->offsets.push_back(offset);
  }

  void change_own(double *parameters, const double *gradient, double lr) override
  {
    begin_step(gradient);
    std::vector<kernels::AdamRates> rates{moments_.rates(this->steps_, lr)};
    std::vector<std::size_t> first;  // of the rates of each size
    std::vector<std::int64_t> key{reinterpret_cast<std::intptr_t>(parameters),
                                  reinterpret_cast<std::intptr_t>(gradient)};
    for (const auto &matrices : matrices_) {
      first.push_back(rates.size());
      for (int m = 0; m < matrices.number(); ++m) {
        rates.push_back(moments_.rates(matrices.steps(m), lr));
        key.push_back(matrices.stage(m) == Matrices::Stage::plain);
      }
    }
    rates_.copy_from(rates);
    const auto step = [&](std::size_t k, bool plain) {
      matrices_[k].step(plain, moments_, parameters, gradient, rates_.data() + first[k]);
    };
    if (!kernels::separate_memory()) {
      Base::change_ranges(parameters, gradient, rates_.data());
      return kernels::for_tasks(matrices_.size(), [&](std::size_t k) {
        for (const bool plain : {true, false}) step(k, plain);
      });
    }
    // what is the same in most steps, and the rest
    graphs_.run(key, [&] {
      Base::change_ranges(parameters, gradient, rates_.data());
      for (std::size_t k = 0; k < matrices_.size(); ++k) step(k, true);
    });
    for (std::size_t k = 0; k < matrices_.size(); ++k) step(k, false);
  }

  // Matrices without a gradient so far are asked for one together.
  void begin_step(const double *gradient)
  {
    std::vector<kernels::Part> silent;
    for (const Place &place : places_)
      if (matrices_[place.size].is_silent(place.number))
        silent.push_back(matrices_[place.size].part(place.number));
    std::vector<double> squares;
    if (!silent.empty()) {
      silent_.copy_from(silent);
      squares_.resize(silent.size());
      kernels::sums_of_squares(gradient, silent_.data(), static_cast<int>(silent.size()),
                               squares_.data());
      squares = squares_.to_host();
    }
    auto next = squares.begin();
    for (const Place &place : places_) {
      Matrices &matrices = matrices_[place.size];
      matrices.begin_step(place.number, !matrices.is_silent(place.number) || *next++ != 0.0);
    }
  }

  void pack_extra(double *state) const override
  {
    for (const Place &place : places_) state = matrices_[place.size].pack(place.number, state);
  }

  void unpack_extra(const double *state) override
  {
    for (const Place &place : places_) state = matrices_[place.size].unpack(place.number, state);
  }

  std::vector<Matrices> matrices_;            // of each size
  std::vector<Place> places_;                 // of all matrices, in the order of the parameters
  kernels::Array<kernels::AdamRates> rates_;  // of the ranges, and of each matrix
  kernels::Array<kernels::Part> silent_;
  kernels::Array<double> squares_;  // of their gradients
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
      return std::to_string(SoapMatrices<double>::block_lengths(config, n).size());
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
