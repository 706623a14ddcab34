/* -*- c++ -*- ----------------------------------------------------------
   pair_style dptrain: a deep potential, from a file or trained by fix dptrain
------------------------------------------------------------------------- */

#ifdef PAIR_CLASS
// clang-format off
PairStyle(dptrain,PairDPTrain);
// clang-format on
#else

#ifndef LMP_PAIR_DPTRAIN_H
#define LMP_PAIR_DPTRAIN_H

#include "pair.h"

#include <memory>
#include <vector>

namespace dptrain {
struct ModelSlot;
}

namespace LAMMPS_NS {

class PairDPTrain : public Pair {
 public:
  PairDPTrain(class LAMMPS *);
  ~PairDPTrain() override;
  void compute(int, int) override;
  void settings(int, char **) override;
  void coeff(int, char **) override;
  void init_style() override;
  double init_one(int, int) override;
  void write_restart(FILE *) override;
  void read_restart(FILE *) override;
  void write_restart_settings(FILE *) override;
  void read_restart_settings(FILE *) override;
  double memory_usage() override;
  int pack_reverse_comm(int, int, double *) override;
  void unpack_reverse_comm(int, int *, double *) override;

  /// The model, shared with the fix that trains it.
  const std::shared_ptr<dptrain::ModelSlot> &slot() const;
  /// What this style added to atom->f in the last compute(), on owned atoms and ghosts: [nall][3] in eV/Angstrom.
  const double *last_forces() const;
  /// Energy of this rank and virial of an evaluation, LAMMPS units.
  struct Sums {
    double energy = 0.0, virial[6] = {};
  };
  /// The model on the present atoms once more, with the parameters that it has by now: forces in last_forces(), scores in
  /// scores(), values of each atom. Forces of the atoms and sums of this style stay as they are.
  Sums evaluate_again();
  /// The sums of the last evaluation.
  const Sums &last_sums() const;
  /// Whether the last evaluation gave uncertainties; the same on all ranks.
  bool has_scores() const;
  /// Uncertainty of the owned atoms as the model gives it, without unit, of the last evaluation with has_scores().
  const double *scores() const;
  /// Sum of the model's features over the owned atoms, [ntypes][H] of the model; ditto.
  const std::vector<double> &feature_sum() const;
  /// Spread of the forces of `samples` last layers drawn around the trained one, on each owned atom, scaled to the
  /// expected errors: both have the same root mean square over all atoms. LAMMPS' force units, without calibration those
  /// of scores(). nullptr: the model gives no uncertainties. Collective.
  const double *sampled_deviation(int samples);
  /// Expected force error for a score of 1, LAMMPS units; 1 where it was never compared with a reference.
  double score_unit() const;
  bool has_committee() const;
  /// Whether a fix dptrain trains the model, or may do so in this run: computes are set up before fixes.
  bool may_learn() const;
  /// How far the forces of the committee lie apart on each owned atom, in LAMMPS' force units, for the configuration of the
  /// last compute(): evaluates the members where that was not done for it. nullptr: no committee, or its first model is
  /// not trained yet. Collective.
  const double *committee_deviation();
  /// Mapped types of owned atoms and ghosts etc. are kept in here.
  struct Data;

 private:
  Data *data_;

  void allocate();
  void check_setup();
  void load_committee();
  void check_stored();
  void add_atom_values(int, double);
  Sums evaluate();
  std::vector<const double *> committee_forces();
  void write_deviation();
};

}  // namespace LAMMPS_NS

#endif
#endif
