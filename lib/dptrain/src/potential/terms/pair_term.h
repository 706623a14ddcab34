#pragma once

#include <array>
#include <string>
#include <vector>

#include "dptrain/input/energy_term_config.h"
#include "kernels/pair_sums.h"
#include "potential/terms/energy_term.h"

namespace dptrain {

/// A term that is a sum over pairs, E_i = 1/2 sum_j phi_ab(r_ij), of functions that are zero beyond a reach of their own.
template <class Real> class PairTerm : public EnergyTerm<Real> {
 public:
  using State = typename EnergyTerm<Real>::State;
  /// cutoff: Angstrom; reach: [ntypes][ntypes] Angstrom, 0 where nothing acts.
  PairTerm(int ntypes, double cutoff, const std::vector<double> &reach);
  std::optional<EdgeLimits> edge_limits() const override { return limits_; }
  std::unique_ptr<State> make_state() const override { return std::make_unique<PairState>(); }
  std::size_t bytes_per_center() const override { return limits_.usual_neighbors * sizeof(double); }
  void value(int type, const EdgeChunk<Real> &edges, bool train, State &state,
             double *energies) final;
  void reverse(int type, const EdgeChunk<Real> &edges, const Real *seeds, State &state,
               const kernels::ForceSums *sums) final;

 protected:
  /// Where the functions of centers of a type begin among [ntypes][ntypes].
  long row(int type) const { return static_cast<long>(type) * ntypes_; }

 private:
  struct PairState final : State {
    kernels::Array<double> slope;
    kernels::Array<char> inside;
    std::size_t memory_bytes() const override
    {
      return slope.memory_bytes() + inside.memory_bytes();
    }
  };
  /// The energies of a chunk and what their forces need. reach_squared: [ntypes] of centers of this type.
  virtual void add_pairs(int type, const kernels::Edges<Real> &edges, const Real *reach_squared,
                         double *energies, const kernels::PairSlopes &slopes) = 0;

  const int ntypes_;
  EdgeLimits limits_;
  kernels::Array<Real> reach_squared_;  // [ntypes][ntypes]
};

/// Settings of a term that acts on some pairs of elements.
class PairTermConfig : public EnergyTermConfig {
 public:
  void complete(JsonReader &section, const ModelConfig &model) override;
  bool acts_on(const std::string &a, const std::string &b) const;
  /// For each two elements the cutoff, or 0 where it does not act.
  std::vector<double> reach(const std::vector<std::string> &elements) const;
  /// ", Si-O, O-O"; empty: all.
  std::string text_of_pairs() const;

  std::vector<std::array<std::string, 2>> pairs;  ///< empty: all

 protected:
  /// The key `pairs`, of settings of this class.
  static std::vector<std::array<std::string, 2>> read_element_pairs(JsonReader &section,
                                                                    const std::string &key);
};

}  // namespace dptrain
