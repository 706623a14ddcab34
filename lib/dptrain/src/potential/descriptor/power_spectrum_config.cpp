#include "dptrain/potential/descriptor/power_spectrum_config.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "input/model_keys.h"
#include "input/training_defaults.h"
#include "kernels/limits.h"

namespace dptrain {

// Resolves a quarter of an Angstrom: bench/results/choices.md.
constexpr double functions_per_angstrom = 4.0;

const Keys<DescriptorConfig> &PowerSpectrumConfig::table() const
{
  using K = Key<DescriptorConfig>;
  using C = PowerSpectrumConfig;
  static const Keys<DescriptorConfig> keys{
      K("rcut_smth", &C::rcut_smth, any_number),
      K("n_max", &C::n_max, Range{1, 256}),
      K("axis_neuron", &C::axis_neuron, at_least_1),
      K("l_max", &C::l_max, Range{0, kernels::most_l}),
      K("n_basis", &C::n_basis, Range{1, kernels::most_functions}),
      K("exclude_types", &C::exclude_types, read_pairs),
  };
  return keys;
}

void PowerSpectrumConfig::complete(JsonReader &section, ModelConfig &model)
{
  smth_follows_ = !section.has("rcut_smth");
  basis_follows_ = !section.has("n_basis");
  if (rcut_smth < 0.0) section.expected("rcut_smth", "a number of at least 0");
  if (model.cutoff_source == CutoffSource::input) {
    if (!smth_follows_) check_switch(section, rcut_smth, model.rcut);
    follow_cutoff(model.rcut);
  }
  if (!section.has("axis_neuron")) axis_neuron = std::min(axis_neuron, n_max);
  if (axis_neuron > n_max)
    section.expected("axis_neuron", fmt::format("an integer from 1 to n_max ({})", n_max));
  check_types(section, "exclude_types", exclude_types, model.ntypes());
}

void PowerSpectrumConfig::follow_cutoff(double rcut)
{
  if (smth_follows_) rcut_smth = rcut / 3.0;
  if (basis_follows_)
    n_basis = std::clamp(static_cast<int>(std::lround(functions_per_angstrom * rcut)), 1,
                         kernels::most_functions);
  if (rcut_smth >= rcut)
    throw Error(fmt::format("rcut_smth is {:g} Angstrom, and the cutoff, which the input leaves "
                            "open, is {:g}: give rcut as well, or leave both out",
                            rcut_smth, rcut));
}

bool PowerSpectrumConfig::set_input_defaults(InputFile &input, bool in_a_run) const
{
  input.model.fitting_neuron = {48, 48, 48};
  set_training_defaults(input, in_a_run);
  return true;
}

const PowerSpectrumConfig &power_spectrum(const ModelConfig &model)
{
  const DescriptorConfig *descriptor = model.descriptor.get();
  if (const auto *config = dynamic_cast<const PowerSpectrumConfig *>(descriptor)) return *config;
  throw Error(fmt::format("this needs a model with descriptor power_spectrum{}",
                          descriptor ? fmt::format("; this one has {}", descriptor->type())
                                     : std::string()));
}

}  // namespace dptrain
