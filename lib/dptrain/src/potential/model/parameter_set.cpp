#include "dptrain/potential/model/parameter_set.h"

#include <fmt/format.h>
#include <utility>

#include "base/advice.h"
#include "base/unique_number.h"

namespace dptrain {

namespace {

void check_number(std::size_t needed, std::size_t given)
{
  if (given != needed)
    throw internal_error(fmt::format("the model has {} parameters, {} were given", needed, given));
}

}  // namespace

ParameterSet::ParameterSet(std::vector<ParameterBlock> blocks, std::vector<double> values) :
    blocks_(std::move(blocks)),
    trainable_in_file_(trainable()),
    values_(std::move(values)),
    version_(unique_number())
{
  std::size_t numbers = 0;
  for (const ParameterBlock &block : blocks_) numbers += block.size;
  check_number(numbers, values_.size());
}

void ParameterSet::change(const std::function<void(std::vector<double> &)> &work)
{
  version_ = unique_number();  // first: also where `work` throws halfway
  work(values_);
}

void ParameterSet::set(const std::vector<double> &values)
{
  check_number(size(), values.size());
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
