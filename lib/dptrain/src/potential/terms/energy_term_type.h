#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "dptrain/input/energy_term_config.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/model/parameter_set.h"
#include "potential/terms/energy_term.h"
#include "potential/terms/global_term.h"

namespace dptrain {

/// A kind of term of the key `terms`: all that the rest of the library has to know of it. There is one object for each kind; a new
/// kind is a class derived from this one, from EnergyTermConfig and from EnergyTerm, and an entry in made_here() of
/// energy_term_type.cpp.
class EnergyTermType {
 public:
  virtual ~EnergyTermType() = default;
  /// As in input.json.
  virtual std::string name() const = 0;
  /// Settings with the defaults of input.json.
  virtual std::unique_ptr<EnergyTermConfig> make_config() const = 0;
  /// Appends its parameters. Their names begin with `place` and a slash, which say where they stand in the tree of a model file.
  virtual void add_blocks(const ModelConfig & /*model*/, const EnergyTermConfig & /*own*/,
                          const std::string & /*place*/,
                          std::vector<ParameterBlock> & /*blocks*/) const
  {
  }
  /// Draws a block of a new model.
  virtual void draw(const ModelConfig & /*model*/, const EnergyTermConfig & /*own*/,
                    const ParameterBlock & /*block*/, RandomEngine & /*engine*/,
                    double * /*values*/) const
  {
  }
  /// `blocks`: its parameters. Null: it is a global term.
  virtual std::unique_ptr<EnergyTerm<double>>
  make_double(const ModelData &data, const EnergyTermConfig &own,
              const std::vector<ParameterBlock> &blocks) const = 0;
  virtual std::unique_ptr<EnergyTerm<float>>
  make_single(const ModelData &data, const EnergyTermConfig &own,
              const std::vector<ParameterBlock> &blocks) const = 0;
  /// The same of a term that is no sum over centers; null: it is one.
  virtual std::unique_ptr<GlobalTerm> make_global(const ModelData & /*data*/,
                                                  const EnergyTermConfig & /*own*/) const
  {
    return nullptr;
  }
};

/// That of this name; null: there is none.
const EnergyTermType *find_energy_term_type(const std::string &name);
/// Adds a kind for the rest of the program; for those that are not in the library.
void add_energy_term_type(std::unique_ptr<const EnergyTermType> type);

/// Where the parameters of a term stand in the tree of a model file.
std::string place_of_term(std::size_t number);
/// Appends the parameters of all terms of a model.
void add_term_blocks(const ModelConfig &model, std::vector<ParameterBlock> &blocks);
/// Draws a block of a term.
void draw_term(const ModelConfig &model, const ParameterBlock &block, RandomEngine &engine,
               double *values);
/// The terms of the settings, in their order, but global ones. blocks: all parameters of the model.
template <class Real>
std::vector<std::unique_ptr<EnergyTerm<Real>>>
make_energy_terms(const ModelData &data, const std::vector<ParameterBlock> &blocks);
std::vector<std::unique_ptr<GlobalTerm>> make_global_terms(const ModelData &data);

}  // namespace dptrain
