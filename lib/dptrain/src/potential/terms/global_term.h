#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "dptrain/potential/model/model.h"
#include "potential/terms/atom_values.h"

namespace dptrain {

/// A part of the energy that is no sum over centers of functions of their neighbors: it needs sums over all atoms of a frame, on all
/// ranks that have it (Domain::whole; of domains without it, it is left out). All functions but add_results are collective over
/// these ranks, and throw on all of them.
class GlobalTerm {
 public:
  /// What pass A leaves for pass B.
  struct State {
    virtual ~State() = default;
  };

  virtual ~GlobalTerm() = default;
  /// Where it is the energy of charges: these.
  virtual std::optional<Charges> charges() const { return std::nullopt; }
  /// Whether it depends on what a second net has for each atom (NetTerm): the charge of the atom in its surroundings. Without
  /// there is nothing to learn, and no pass B.
  virtual bool has_net() const { return false; }
  /// Pass A over n domains, for what `out` asks for, which nothing is added to yet. net: what the net has for the atoms, which
  /// may throw on one rank alone.
  virtual std::unique_ptr<State> forward(const Domain *domains, int n, const ForwardOutput *out,
                                         const std::function<AtomValues()> &net) = 0;
  /// dE/dnet of each atom.
  virtual AtomValues net_seeds(const State & /*state*/) const { return {}; }
  /// Adds what forward() has found, to what the centers have.
  virtual void add_results(const State &state, ForwardOutput *out) const = 0;
  /// Pass B: dS/dnet of each atom, S as GradientSeed says. net: how what the net has changes along the direction of the seeds,
  /// which may throw, too.
  virtual AtomValues gradient(const State &state, const GradientSeed *seeds,
                              const std::function<AtomValues()> &net) = 0;
};

}  // namespace dptrain
