#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dptrain/potential/model/model.h"

namespace dptrain {

/// A part of the energy that is no sum over centers of functions of their neighbors: it needs sums over all atoms of a frame, on all
/// ranks that have it (Domain::whole; of domains without it, it is left out). All functions but add_results are collective over
/// these ranks, and throw on all of them.
class GlobalTerm {
 public:
  /// What pass A leaves for pass B.
  struct State {
    virtual ~State() = default;
    virtual std::size_t memory_bytes() const { return 0; }
  };

  virtual ~GlobalTerm() = default;
  /// Where it is the energy of charges of the elements: these.
  virtual std::optional<Charges> charges(const std::vector<double> & /*parameters*/) const
  {
    return std::nullopt;
  }
  /// Pass A over n domains, for what `out` asks for, which nothing is added to yet. parameters: all of the model.
  virtual std::unique_ptr<State> forward(const std::vector<double> &parameters,
                                         const Domain *domains, int n,
                                         const ForwardOutput *out) = 0;
  /// Adds what forward() has found, to what the centers have.
  virtual void add_results(const State &state, ForwardOutput *out) const = 0;
  /// Pass B: adds dS/dparameters, S as GradientSeed says, of these ranks' atoms.
  virtual void gradient(const State &state, const GradientSeed *seeds, double *gradient) = 0;
};

}  // namespace dptrain
