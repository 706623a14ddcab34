// Adam (Kingma and Ba, arXiv 1412.6980) and AdamW (Loshchilov and Hutter, arXiv 1711.05101) in the form of PyTorch:
// epsilon is added after the bias correction of the square root.

#include <cmath>
#include <string>

#include "dptrain/error.h"
#include "optimizer/optimizer.h"

namespace dptrain {

namespace {

class Adam : public Optimizer {
 public:
  Adam(const OptimizerConfig &config, const std::vector<ParameterBlock> &index) : config_(config)
  {
    std::size_t n = 0;
    for (const ParameterBlock &block : index) {
      n = std::max(n, block.offset + block.size);
      if (block.trainable) ranges_.push_back({block.offset, block.offset + block.size});
    }
    mean_.assign(n, 0.0);
    square_.assign(n, 0.0);
  }

  void step(std::vector<double> &parameters, const std::vector<double> &gradient,
            double lr) override
  {
    if (parameters.size() != mean_.size() || gradient.size() != mean_.size())
      throw Error("Adam: made for " + std::to_string(mean_.size()) + " parameters, got " +
                  std::to_string(parameters.size()));
    ++steps_;
    const double b1 = config_.beta1, b2 = config_.beta2, decay = config_.weight_decay;
    const bool decoupled = config_.type == OptimizerType::adamw;
    const double rate = lr / (1.0 - std::pow(b1, static_cast<double>(steps_)));
    const double root = std::sqrt(1.0 - std::pow(b2, static_cast<double>(steps_)));
    for (const Range &range : ranges_)
      for (std::size_t k = range.begin; k < range.end; ++k) {
        const double g = decoupled ? gradient[k] : gradient[k] + decay * parameters[k];
        if (decoupled) parameters[k] -= lr * decay * parameters[k];
        mean_[k] = b1 * mean_[k] + (1.0 - b1) * g;
        square_[k] = b2 * square_[k] + (1.0 - b2) * g * g;
        parameters[k] -= rate * mean_[k] / (std::sqrt(square_[k]) / root + config_.epsilon);
      }
  }

  std::vector<double> state() const override
  {
    std::vector<double> state{static_cast<double>(steps_)};
    state.insert(state.end(), mean_.begin(), mean_.end());
    state.insert(state.end(), square_.begin(), square_.end());
    return state;
  }

  void set_state(const std::vector<double> &state) override
  {
    const std::size_t n = mean_.size();
    if (state.size() != 2 * n + 1)
      throw Error("The optimizer state has " + std::to_string(state.size()) +
                  " numbers, Adam for " + std::to_string(n) + " parameters has " +
                  std::to_string(2 * n + 1) + ": it belongs to another model or optimizer");
    steps_ = static_cast<std::int64_t>(state[0]);
    mean_.assign(state.begin() + 1, state.begin() + 1 + n);
    square_.assign(state.begin() + 1 + n, state.end());
  }

  std::size_t memory_bytes() const override
  {
    return (mean_.capacity() + square_.capacity()) * sizeof(double);
  }

 private:
  struct Range {
    std::size_t begin, end;
  };
  OptimizerConfig config_;
  std::vector<Range> ranges_;          // of the trainable blocks
  std::vector<double> mean_, square_;  // moments of the gradient
  std::int64_t steps_ = 0;
};

void check_config(const OptimizerConfig &config)
{
  const auto fraction = [](double value) { return value >= 0.0 && value < 1.0; };
  if (!fraction(config.beta1) || !fraction(config.beta2))
    throw Error("optimizer: adam_beta1 and adam_beta2 must be at least 0 and below 1, found " +
                std::to_string(config.beta1) + " and " + std::to_string(config.beta2));
  if (!(config.epsilon > 0.0) || !(config.weight_decay >= 0.0))
    throw Error("optimizer: epsilon must be positive and weight_decay not negative, found " +
                std::to_string(config.epsilon) + " and " + std::to_string(config.weight_decay));
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig &config,
                                          const std::vector<ParameterBlock> &index)
{
  check_config(config);
  return std::make_unique<Adam>(config, index);
}

}  // namespace dptrain
