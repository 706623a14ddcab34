#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/cloned.h"

namespace dptrain {

class JsonReader;
struct ModelConfig;
template <class S> class Keys;

/// Settings of a term of the energy beside the net (the key `terms` of a model). Each kind has a class of its own (potential/terms);
/// here is what all have.
class EnergyTermConfig {
 public:
  virtual ~EnergyTermConfig() = default;
  /// What input.json calls this kind.
  virtual std::string type() const = 0;
  virtual std::unique_ptr<EnergyTermConfig> clone() const = 0;
  /// Angstrom
  virtual double cutoff() const = 0;
  /// In words, which differ where the settings do: "zbl from 0.6 to 1.2 Angstrom".
  virtual std::string text() const = 0;
  /// Where programs differ in what these settings mean: what is meant here, "its ..."; empty: they do not.
  virtual std::string note() const { return ""; }
  /// What is doubtful about these settings in a model; empty: nothing.
  virtual std::string warning(const ModelConfig & /*model*/) const { return ""; }
  /// Whether it has parameters that are trained.
  virtual bool has_parameters() const { return false; }
  /// Whether a model can have no more than one term of this kind.
  virtual bool is_single() const { return false; }
  /// The keys of this kind (input/key_table.h).
  virtual const Keys<EnergyTermConfig> &table() const = 0;
  /// After all keys are read: throws Error for values that do not go together, or do not fit the elements of the model.
  virtual void complete(JsonReader & /*section*/, const ModelConfig & /*model*/) {}
  /// Sets what follows from the cutoff of the net (Angstrom) where it was not given.
  virtual void follow_cutoff(double /*rcut*/) {}
  /// Whether a search replaces it, by a term such as this one, or by none.
  virtual bool may_become(const EnergyTermConfig & /*found*/) const { return false; }
  virtual bool is_searched() const { return false; }
};

/// New settings with the defaults of input.json, by the name that a kind has there; null if there is no such kind. The kinds
/// are those of potential/terms/energy_term_type.h, which defines both functions.
std::unique_ptr<EnergyTermConfig> make_energy_term_config(const std::string &type);
/// Names of all kinds.
std::vector<std::string> energy_term_names();

using AnyEnergyTermConfig = Cloned<EnergyTermConfig>;

}  // namespace dptrain
