#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dptrain/base/units.h"
#include "dptrain/input/config.h"
#include "dptrain/input/new_charges.h"
#include "dptrain/uncertainty/accuracy.h"

namespace dptrain {

/// The surroundings of the worst atoms, in place of the whole box, for the reference. Angstrom.
struct CutoutOptions {
  double radius = 0.0;  ///< of a cut-out; 0: the reference gets the whole box
  double core = 0.0;  ///< radius within which forces are learned; 0: radius less the model's cutoff
  double vacuum = 0.0;  ///< between a cut-out and its images; 0: the model's cutoff
  int most = 4;         ///< cut-outs of a step
};

/// Copies of the first configuration that are labeled, all at once, before the run begins.
struct PrepareOptions {
  int copies = 0;
  std::optional<double>
      displace;         ///< standard deviation of a component of a displacement in the last
                        ///< copy, Angstrom; none: 0.05
  double strain = 0.0;  ///< largest entry of its strain
};

/// How the model is trained. What is not given comes from the input file, or has the default of this program.
struct TrainingOptions {
  std::string input;  ///< input.json; empty: that of the model, or defaults
  int steps = 100;    ///< of the optimizer for each label
  int warmup = 8;     ///< frames that a new model is made from
  std::string stat;   ///< file with the statistics of a new model
  NewCharges charges;
  std::optional<int> batch;
  std::optional<std::uint64_t> seed;
  std::int64_t buffer = 0;  ///< frames; 0: all
  std::optional<OptimizerType> optimizer;
  std::optional<double> ema;  ///< decay of the average of the weights per step
  ParameterRules rules;       ///< which parameters are trained
  ParallelConfig parallel;
};

/// Short runs of the model after a run, hotter and in other cells, that look for configurations which it does not know.
struct ExploreOptions {
  int steps = 0;                      ///< of each of them; 0: none
  std::optional<double> temperature;  ///< K; none: 1.5 times that of the run
  double strain = 0.06;               ///< of the edges of the largest cell
};

/// What a session reads and writes. Empty names: nothing.
struct FileOptions {
  std::int64_t save_every = 0;             ///< optimizer steps
  std::string save;                        ///< model; checkpoint and frames have names made from it
  std::string frames;                      ///< the frames file where `save` names none
  std::string resume;                      ///< checkpoint to continue
  std::string dataset;                     ///< data set that labels are added to
  std::optional<std::int64_t> disp_every;  ///< optimizer steps between two lines of `disp`
  std::string disp;                        ///< learning curve

  /// The file of the labeled frames.
  std::string frames_path() const { return save.empty() ? frames : save + ".frames"; }
};

/// What is done where labels contradict each other.
enum class LabelCheckMode { stop, warn, no };

/// What a user asks of a learning session. Energies in eV, lengths in Angstrom.
struct LearningOptions {
  bool active = true;    ///< labels where the error bars ask for them; else every `every` steps
  bool selects = false;  ///< active without a reference: configurations worth a label are written
  std::int64_t every = 100;       ///< steps
  bool follow_reference = false;  ///< the reference moves the atoms at each step that has a label
  bool runs_model = true;      ///< the run goes on with the model; else labels are only collected
  bool failure_stops = false;  ///< a reference that fails ends the run
  LabelCheckMode label_check = LabelCheckMode::stop;
  double force_limit =
      0.0;  ///< labels with a larger force component are not learned, eV/Angstrom; 0: none
  // decisions of an active session
  Accuracy accuracy;          ///< that the potential is to have
  double limit = 0.0;         ///< eV/Angstrom; 0: see ActiveConfig
  bool limit_stops = false;   ///< the run ends there
  int rewind = 0;             ///< times that the run goes back to a trusted state at most
  std::int64_t audit = 1000;  ///< mean steps between two random labels; 0: none
  double coverage = 0.9;      ///< part of the force errors that error bars cover
  int holdout = 10;           ///< one of so many early labels is for validation; 0: none
  double duplicate = 0.05;    ///< frames closer than this in feature space are not stored
  int asynchronous = 0;  ///< configurations with the reference while the run goes on; 0: it waits
  double train_share = 1.0;  ///< of the time, for the training beside such a run
  PrepareOptions prepare;
  ExploreOptions explore;
  CutoutOptions cutout;
  TrainingOptions training;
  FileOptions files;
  // for messages
  UnitFactors units;                ///< in which numbers are shown
  double progress_seconds = 600.0;  ///< between two lines that tell where an active session is
};

/// Throws Error, which names option and value, where a value is not possible (see option_table.h) or two options contradict
/// each other.
void check(const LearningOptions &options);

}  // namespace dptrain
