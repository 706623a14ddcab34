#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/base/cloned.h"

namespace dptrain {

class JsonReader;
struct InputFile;
struct ModelConfig;
template <class S> class Keys;

/// Settings of a descriptor. Each kind has a class of its own (dptrain/potential/descriptor); here is what all have.
class DescriptorConfig {
 public:
  virtual ~DescriptorConfig() = default;
  /// What input.json calls this kind.
  virtual std::string type() const = 0;
  virtual std::unique_ptr<DescriptorConfig> clone() const = 0;
  /// Whether DeePMD-kit has it too, so that its tools can read such models.
  virtual bool is_in_deepmd() const { return false; }
  /// Numbers that describe an atom: the inputs of the fitting net.
  virtual int size() const = 0;

  /// Whether layers of the fitting nets add their input to their output, where sizes allow.
  virtual bool nets_have_skips() const { return true; }

  /// Whether its numbers tell how far atoms are from those that a model knows (AtomFeatures); else the last hidden layer does.
  virtual bool measures_distance() const { return false; }

  /// The keys of this kind, beside those that all kinds have (input/key_table.h).
  virtual const Keys<DescriptorConfig> &table() const = 0;
  /// Fills in defaults that depend on other keys, when all keys are read. Throws Error for values that do not go together.
  virtual void complete(JsonReader & /*section*/, ModelConfig & /*model*/) {}
  /// Whether a cutoff that an input does not give follows from the structure; else it is the default.
  virtual bool chooses_cutoff() const { return false; }
  /// Sets what follows from the cutoff (Angstrom). Throws Error where a given value does not go with it.
  virtual void follow_cutoff(double /*rcut*/) {}
  /// The same by a model that is there, with its settings of cutoffs where it has this kind of descriptor.
  virtual void follow_model(const ModelConfig &model);

  /// Reads the keys of its section of an input.json or of a model file, whose type_map `model` has already. Sets the cutoff of
  /// the model; what is absent gets its default. Throws Error for values that are not allowed.
  void read(JsonReader &section, ModelConfig &model);
  /// All keys and `type`, written out as a JSON object, from which `read` makes the same settings. A text that begins with
  /// "auto" is left to the statistics of the data.
  std::string keys(const ModelConfig &model) const;

  /// Puts into an input what it has with this descriptor where it says nothing, which may differ in a session
  /// (InputUse::in_a_run). False: nothing, the defaults of DeePMD-kit hold.
  virtual bool set_input_defaults(InputFile & /*input*/, bool /*in_a_run*/) const { return false; }
  /// Keys of other descriptors that have no meaning for this one, and do no harm.
  virtual std::vector<std::string> ignored_keys() const { return {}; }

  /// Most neighbors of each type that are kept; empty: all, or as many as the data will tell.
  virtual std::vector<int> neighbor_limits() const { return {}; }
  /// True if the settings are complete only when the neighbors in the data have been counted.
  virtual bool needs_neighbor_counts() const { return false; }

  std::string precision = "float64";  ///< of stored parameters: float64 or float32
  bool trainable = true;
  std::optional<std::uint64_t> seed;  ///< of new parameters
};

/// New settings with the defaults of input.json, by the name that a kind has there; null if there is no such kind. The kinds
/// are those of potential/descriptor/descriptor_type.h, which defines both functions.
std::unique_ptr<DescriptorConfig> make_descriptor_config(const std::string &type);
/// Names of all kinds, "\"a\", \"b\"", for messages.
std::string descriptor_type_names();

/// The settings of a descriptor of any kind, or of none.
using AnyDescriptorConfig = Cloned<DescriptorConfig>;

}  // namespace dptrain
