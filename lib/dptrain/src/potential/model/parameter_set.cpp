#include "dptrain/potential/model/parameter_set.h"

#include <fmt/format.h>
#include <utility>

#include "base/advice.h"
#include "base/unique_number.h"
#include "kernels/memory.h"
#include "kernels/runtime.h"

namespace dptrain {

namespace {

void check_number(std::size_t needed, std::size_t given)
{
  if (given != needed)
    throw internal_error(fmt::format("the model has {} parameters, {} were given", needed, given));
}

}  // namespace

struct ParameterSet::Copy {
  kernels::Array<double> values;
  bool host_is_newer = true, kernels_are_newer = false;
};

ParameterSet::ParameterSet(std::vector<ParameterBlock> blocks, std::vector<double> values) :
    blocks_(std::move(blocks)),
    trainable_in_file_(trainable()),
    values_(std::move(values)),
    version_(unique_number()),
    copy_(std::make_unique<Copy>())
{
  std::size_t numbers = 0;
  for (const ParameterBlock &block : blocks_) numbers += block.size;
  check_number(numbers, values_.size());
}

ParameterSet::~ParameterSet() = default;

const std::vector<double> &ParameterSet::values() const
{
  if (copy_->kernels_are_newer) copy_->values.copy_to(values_.data());
  copy_->kernels_are_newer = false;
  return values_;
}

std::size_t ParameterSet::memory_bytes() const
{
  return values_.capacity() * sizeof(double) + copy_->values.memory_bytes();
}

const double *ParameterSet::in_kernels() const
{
  if (!kernels::separate_memory()) return values_.data();
  if (copy_->host_is_newer) {
    ensure_runtime();
    copy_->values.copy_from(values_);
  }
  copy_->host_is_newer = false;
  return copy_->values.data();
}

void ParameterSet::change(const std::function<void(std::vector<double> &)> &work)
{
  values();
  version_ = unique_number();  // first: also where `work` throws halfway
  copy_->host_is_newer = true;
  work(values_);
}

void ParameterSet::change_in_kernels(const std::function<void(double *)> &work)
{
  in_kernels();
  version_ = unique_number();
  copy_->kernels_are_newer = kernels::separate_memory();
  work(kernels::separate_memory() ? copy_->values.data() : values_.data());
}

void ParameterSet::set(const std::vector<double> &values)
{
  check_number(size(), values.size());
  copy_->kernels_are_newer = false;  // nobody asks for them
  change([&](std::vector<double> &own) { own = values; });
}

void ParameterSet::set_trainable(const std::vector<char> &blocks)
{
  const std::vector<char> &all = blocks.empty() ? trainable_in_file_ : blocks;
  for (std::size_t k = 0; k < blocks_.size(); ++k) blocks_[k].trainable = all.at(k) != 0;
}

std::vector<char> ParameterSet::trainable() const
{
  std::vector<char> all;
  for (const ParameterBlock &block : blocks_) all.push_back(block.trainable ? 1 : 0);
  return all;
}

std::size_t ParameterSet::num_trainable() const
{
  std::size_t count = 0;
  for (const ParameterBlock &block : blocks_) count += block.trainable ? block.size : 0;
  return count;
}

}  // namespace dptrain
