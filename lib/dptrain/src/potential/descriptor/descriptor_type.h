#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/model/parameter_set.h"
#include "dptrain/statistics/statistics.h"
#include "potential/descriptor/descriptor.h"
#include "potential/model/model_tree.h"

namespace dptrain {

/// A kind of descriptor: all that the rest of the library has to know of it. There is one object for each kind; a new kind is
/// a class derived from this one, from DescriptorConfig and from Descriptor, and an entry in made_here() of descriptor_type.cpp.
class DescriptorType {
 public:
  virtual ~DescriptorType() = default;
  /// As in input.json; the first is the one that is written.
  virtual std::vector<std::string> names() const = 0;
  /// Settings with the defaults of input.json.
  virtual std::unique_ptr<DescriptorConfig> make_config() const = 0;

  // --- a new model
  /// What is counted in the data for it.
  virtual StatisticsSettings statistics(const ModelConfig &model) const;
  /// Sets what the settings leave to the neighbors in the data, whose largest numbers it multiplies with `margin` unless the
  /// input says otherwise.
  virtual void complete(ModelConfig & /*model*/, const Statistics & /*found*/,
                        double /*margin*/) const
  {
  }
  /// ModelData::descriptor_constants of complete settings.
  virtual DescriptorConstants constants(const ModelConfig &model,
                                        const Statistics &found) const = 0;
  /// Whether the descriptor of an atom without neighbors is zero, as it is for the energies of separate atoms of the input.
  virtual bool is_zero_alone(const ModelData & /*data*/) const { return true; }
  /// Whether its numbers have factors, the constant "scaler", that follow from what they are in the first frames of a new model.
  virtual bool has_scaler() const { return false; }
  /// These factors, from means and standard deviations of the numbers without them.
  virtual std::vector<double> scaler(const ModelConfig & /*model*/,
                                     const std::vector<double> & /*means*/,
                                     const std::vector<double> & /*deviations*/) const
  {
    return {};
  }
  /// Whether new models have Walls.
  virtual bool has_walls() const { return false; }
  /// Appends its parameters, which are the first; their names begin with /model/descriptor/ and say where they stand in the
  /// tree of a model file.
  virtual void add_blocks(const ModelConfig &model, std::vector<ParameterBlock> &blocks) const = 0;
  /// Draws a block.
  virtual void draw(const ModelConfig &model, const ParameterBlock &block, RandomEngine &engine,
                    double *values) const = 0;

  // --- what computes
  virtual std::unique_ptr<Descriptor<double>> make_double(const ModelData &data) const = 0;
  virtual std::unique_ptr<Descriptor<float>> make_single(const ModelData &data) const = 0;

  // --- model files
  /// Of its files; earlier programs refuse later ones.
  virtual int version() const { return 1; }
  /// The first that is still read.
  virtual int oldest_version() const { return 1; }
  /// The section of the tree of a model file: by default the keys of the settings, the parameters in their places below
  /// @variables, and the constants.
  virtual Tree write(TreeWriter &writer, const ModelData &data,
                     const std::vector<ParameterBlock> &blocks) const;
  /// Reads settings and constants of such a section. Parameters are read from the places that their names say.
  virtual void read(TreeReader &reader, JsonReader &section, ModelData &data) const;
  /// Puts what statistics have found into the user's section of an input, which goes into model files.
  virtual void complete_definition(const ModelConfig & /*model*/, Tree & /*section*/) const {}
};

/// The type of a model's descriptor.
const DescriptorType &descriptor_type(const ModelConfig &model);
/// That of this name; null: there is none.
const DescriptorType *find_descriptor_type(const std::string &name);
/// Adds a kind for the rest of the program; for those that are not in the library.
void add_descriptor_type(std::unique_ptr<const DescriptorType> type);

template <class Real> std::unique_ptr<Descriptor<Real>> make_descriptor(const ModelData &data)
{
  const DescriptorType &type = descriptor_type(data.config);
  if constexpr (std::is_same_v<Real, double>)
    return type.make_double(data);
  else
    return type.make_single(data);
}

}  // namespace dptrain
