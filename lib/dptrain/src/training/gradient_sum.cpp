#include "training/gradient_sum.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "optimizer/partition.h"
#include "parallel/kernel_arrays.h"

namespace dptrain {

namespace {

/// Each rank gets the sum of its own part.
class DividedSum : public GradientSum {
 public:
  DividedSum(std::shared_ptr<const Communicator> comm, std::vector<std::size_t> parts) :
      comm_(std::move(comm)), parts_(std::move(parts))
  {
  }
  void sum(kernels::Array<double> &gradient) override
  {
    reduce_scatter_in_kernels(*comm_, gradient.data(), parts_);
  }
  std::size_t memory_bytes() const override { return 0; }

 private:
  std::shared_ptr<const Communicator> comm_;
  std::vector<std::size_t> parts_;
};

// The upper half of a float, rounded to nearest, ties to even.
std::uint16_t to_bfloat16(double value)
{
  constexpr std::uint16_t not_a_number = 0x7FC0;
  if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max())))
    return not_a_number;
  const float number = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  bits += 0x7FFFU + ((bits >> 16) & 1U);
  return static_cast<std::uint16_t>(bits >> 16);
}

double from_bfloat16(std::uint16_t half)
{
  const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
  float number = 0.0F;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

/// Numbers travel as bfloat16, four in a word: to the rank that sums them, and the sums back to all. What rounding takes
/// away is added to the next gradient, on the way there and on the way back.
class Bfloat16Sum : public HostGradientSum {
 public:
  Bfloat16Sum(std::shared_ptr<const Communicator> comm, std::size_t n) :
      comm_(std::move(comm)), size_(comm_->size()), n_(n), left_(n, 0.0)
  {
    const std::vector<std::size_t> words = equal_parts((n + per_word - 1) / per_word, size_);
    words_.assign(words.begin(), words.end());
    own_ = words_[comm_->rank()];
    left_of_sum_.assign(own_ * per_word, 0.0);
    sums_ = left_of_sum_;
    // as long as they ever are: nothing is allocated between two exchanges
    std::size_t total = 0;
    for (const int words_of_rank : words_) total += words_of_rank;
    sent_.resize(std::max(total, own_ * size_));
    received_.resize(sent_.size());
  }

  void sum_on_host(double *gradient) override
  {
    const std::vector<int> same(size_, static_cast<int>(own_));
    for (std::size_t k = 0; k < n_; ++k) gradient[k] += left_[k];
    pack(gradient, n_, left_.data(), sent_);
    comm_->all_to_all(sent_.data(), words_, received_.data(), same);

    sums_ = left_of_sum_;
    for (int r = 0; r < size_; ++r)
      for (std::size_t k = 0; k < own_ * per_word; ++k) sums_[k] += number(&received_[r * own_], k);
    pack(sums_.data(), sums_.size(), left_of_sum_.data(), sent_);
    // the sums of each rank to all others
    for (int r = 1; r < size_; ++r) std::copy_n(sent_.begin(), own_, sent_.begin() + r * own_);
    comm_->all_to_all(sent_.data(), same, received_.data(), words_);
    for (std::size_t k = 0; k < n_; ++k) gradient[k] = number(received_.data(), k);
  }

  std::size_t memory_bytes() const override
  {
    return host_bytes() +
           (left_.capacity() + left_of_sum_.capacity() + sums_.capacity()) * sizeof(double) +
           (sent_.capacity() + received_.capacity()) * sizeof(std::int64_t);
  }

 private:
  static constexpr std::size_t per_word = 4;

  static double number(const std::int64_t *words, std::size_t k)
  {
    return from_bfloat16(static_cast<std::uint16_t>(
        static_cast<std::uint64_t>(words[k / per_word]) >> (16 * (k % per_word))));
  }

  // left[k] becomes what rounding takes away
  static void pack(const double *values, std::size_t n, double *left,
                   std::vector<std::int64_t> &words)
  {
    for (std::size_t begin = 0; begin < n; begin += per_word) {
      std::uint64_t bits = 0;
      for (std::size_t k = begin; k < std::min(n, begin + per_word); ++k) {
        const std::uint16_t half = to_bfloat16(values[k]);
        bits |= static_cast<std::uint64_t>(half) << (16 * (k % per_word));
        left[k] = values[k] - from_bfloat16(half);
      }
      words[begin / per_word] = static_cast<std::int64_t>(bits);
    }
  }

  std::shared_ptr<const Communicator> comm_;
  int size_;
  std::size_t n_, own_ = 0;
  std::vector<int> words_;                  // of each rank
  std::vector<double> left_, left_of_sum_;  // of all numbers, of the own sums
  std::vector<double> sums_;
  std::vector<std::int64_t> sent_, received_;
};

}  // namespace

void HostGradientSum::sum(kernels::Array<double> &gradient)
{
  if (!kernels::separate_memory()) return sum_on_host(gradient.data());
  host_.resize(gradient.size());
  gradient.copy_to(host_.data());
  sum_on_host(host_.data());
  gradient.copy_from(host_);
}

std::unique_ptr<GradientSum> make_gradient_sum(std::shared_ptr<const Communicator> comm,
                                               const ParallelConfig &config,
                                               const std::vector<std::size_t> &parts,
                                               const std::vector<ParameterBlock> &index)
{
  const std::size_t n = index.empty() ? 0 : index.back().offset + index.back().size;
  if (!is_whole(config, comm->size())) return std::make_unique<DividedSum>(std::move(comm), parts);
  if (config.compression == Compression::bfloat16)
    return std::make_unique<Bfloat16Sum>(std::move(comm), n);
  return make_power_sgd(std::move(comm), config.compression_rank, index);
}

}  // namespace dptrain
