// DeePMD-kit's auto_prob and sys_probs: how often each system of a data set gives a batch.

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <numeric>
#include <sstream>

#include "data/batch_plan.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

const std::string by_size = "prob_sys_size";

double sum(const std::vector<std::int64_t> &values, std::size_t first, std::size_t last)
{
  return std::accumulate(values.begin() + first, values.begin() + last, 0.0);
}

/// Systems first ... last - 1 share `weight` by their numbers of batches.
struct Block {
  std::size_t first = 0, last = 0;
  double weight = 0.0;
};

Block read_block(const std::string &text, std::size_t systems)
{
  std::istringstream stream(text);
  long long first = -1, last = -1;
  double weight = -1.0;
  char colon1 = 0, colon2 = 0, rest = 0;
  stream >> first >> colon1 >> last >> colon2 >> weight;
  const bool good = stream && !(stream >> rest) && colon1 == ':' && colon2 == ':';
  if (!good || first < 0 || last <= first || last > static_cast<long long>(systems) ||
      !(weight >= 0.0))
    throw Error(fmt::format("auto_prob: found the block '{}', expected FIRST:LAST:WEIGHT with 0 <= "
                            "FIRST < LAST <= {} (the number of systems) and a weight not below 0",
                            text, systems));
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last), weight};
}

std::vector<double> by_blocks(const std::string &text, const std::vector<std::int64_t> &batches)
{
  std::istringstream stream(text);
  std::vector<Block> blocks;
  std::string word;
  std::getline(stream, word, ';');  // the name
  while (std::getline(stream, word, ';')) blocks.push_back(read_block(word, batches.size()));
  double weights = 0.0;
  for (const Block &block : blocks) weights += block.weight;
  if (!(weights > 0.0))
    throw Error(
        fmt::format("auto_prob: the weights of '{}' add up to nothing; give a positive one", text));
  std::vector<double> probability(batches.size(), 0.0);
  for (const Block &block : blocks)
    for (std::size_t k = block.first; k < block.last; ++k) {
      if (probability[k] > 0.0)
        throw Error(fmt::format("auto_prob: two blocks of '{}' have system {} (counted from 0); a "
                                "system may be in one of them only",
                                text, k));
      probability[k] = block.weight / weights * static_cast<double>(batches[k]) /
                       sum(batches, block.first, block.last);
    }
  return probability;
}

/// Given ones stand; those below 0 share the rest by their numbers of batches.
std::vector<double> by_list(const std::vector<double> &given,
                            const std::vector<std::int64_t> &batches)
{
  if (given.size() != batches.size())
    throw Error(fmt::format("sys_probs: {} numbers for {} systems; give one for each", given.size(),
                            batches.size()));
  double assigned = 0.0, open = 0.0;
  for (std::size_t k = 0; k < given.size(); ++k)
    (given[k] >= 0.0 ? assigned : open) +=
        given[k] >= 0.0 ? given[k] : static_cast<double>(batches[k]);
  const double rest = 1.0 - assigned;
  if (rest < -1e-8 || (open == 0.0 && std::abs(rest) > 1e-5))
    throw Error(fmt::format("sys_probs: the probabilities add up to {}, expected 1; a negative one "
                            "takes what the others leave",
                            assigned));
  std::vector<double> probability = given;
  for (std::size_t k = 0; k < given.size(); ++k)
    if (given[k] < 0.0)
      probability[k] = std::max(rest, 0.0) * static_cast<double>(batches[k]) / open;
  return probability;
}

}  // namespace

std::vector<double> system_probabilities(const DataConfig &config,
                                         const std::vector<std::int64_t> &batches)
{
  const std::size_t systems = batches.size();
  if (!config.sys_probs.empty()) return by_list(config.sys_probs, batches);
  if (config.auto_prob == "prob_uniform") return std::vector<double>(systems, 1.0 / systems);
  if (config.auto_prob == by_size)
    return by_blocks(fmt::format("{};0:{}:1", by_size, systems), batches);
  if (config.auto_prob.rfind(by_size + ";", 0) == 0) return by_blocks(config.auto_prob, batches);
  throw Error(fmt::format("auto_prob: found '{}', allowed are prob_uniform, prob_sys_size and "
                          "prob_sys_size;FIRST:LAST:WEIGHT;...",
                          config.auto_prob));
}

}  // namespace dptrain
