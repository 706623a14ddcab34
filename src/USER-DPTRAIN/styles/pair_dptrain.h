/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

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

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace dptrain {
struct Domain;
struct ForwardOutput;
class ModelInUse;
}  // namespace dptrain

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
  void finish() override;
  void *extract(const char *, int &) override;
  void *extract_peratom(const char *, int &) override;
  int pack_reverse_comm(int, int, double *) override;
  void unpack_reverse_comm(int, int *, double *) override;

  /// The one of this run, of any accelerator; null: there is none, or, in a hybrid style, several.
  static PairDPTrain *find(class LAMMPS *);
  /// The model, shared with the fix that trains it.
  const std::shared_ptr<dptrain::ModelInUse> &slot() const;
  /// What this style added to atom->f in the last compute(), on owned atoms and ghosts: [nall][3]
  /// in eV/Angstrom. Without newton the owned atoms have it all.
  const double *last_forces();
  /// Energy of this rank and virial of an evaluation, LAMMPS units.
  struct Sums {
    double energy = 0.0, virial[6] = {};
  };
  /// The model on the present atoms once more, with the parameters that it has by now: forces in
  /// last_forces(), error bars in bars(), values of each atom. Forces of the atoms and sums of this
  /// style stay as they are.
  Sums evaluate_again();
  /// What of `virial` is that of the model, without the baseline, as the last compute() left it.
  const double *model_virial() const;
  /// The sums of the last evaluation.
  const Sums &last_sums() const;
  /// Whether compute() keeps an error of the model (an atom is not where it can be, a result is not
  /// finite) in failure() and gives no forces, in place of ending the run. For a fix that then
  /// brings the run back.
  void keep_failure(bool keep);
  /// Of this rank in the last compute(); empty: none.
  const std::string &failure() const;
  /// Whether the model of the last evaluation has error bars; the same on all ranks.
  bool has_bars() const;
  /// Those of the owned atoms as ForwardOutput::bar has them: eV/Angstrom where calibrated, else
  /// distances without unit; null without has_bars(). Evaluated now where the last evaluation
  /// did not: collective.
  const double *bars();
  /// Sum of the model's features over the owned atoms, [ntypes][H] of the model; ditto.
  const std::vector<double> &feature_sum();
  /// LAMMPS' force unit for them; 0 where they are not calibrated, and are no errors.
  double bar_unit() const;
  /// Ends the run for `who` where the model has no calibrated bars and will not get any.
  void check_bars(const char *who) const;
  /// Charges of the owned atoms in the last compute(), e, all zero where the model had none.
  std::vector<double> atom_charges();
  bool has_committee() const;
  /// Whether a fix dptrain trains the model, or may do so in this run: computes are set up before
  /// fixes.
  bool may_learn() const;
  /// How far the forces of the committee lie apart on each owned atom, in LAMMPS' force units, for
  /// the configuration of the last compute(): evaluates the members where that was not done for it.
  /// nullptr: no committee, or its first model is not trained yet. Collective.
  const double *committee_deviation();
  /// Mapped types of owned atoms and ghosts etc. are kept in here.
  struct Data;

 protected:
  static constexpr int ATOM_VIRIAL = 9;  // numbers of an atom
  Data *data_;

  // --- where the arrays of the atoms lie: an accelerator has others
  /// What an evaluation gives by atom: forces [nall][3], energies [nlocal], virials [nall][9],
  /// bars [nlocal], charges [nlocal].
  enum Result { FORCE, ENERGY, VIRIAL, BAR, CHARGE, NUM_RESULTS };
  /// The present atoms as the library takes them.
  virtual dptrain::Domain atoms();
  /// Memory of the model for `n` numbers of a result, all zero.
  virtual double *clear_result(Result, std::size_t n);
  /// These numbers where the host reads them.
  virtual const double *host_result(Result);
  /// Whether the model finds neighbors itself, so that what LAMMPS' lists leave out has no effect.
  virtual bool searches_neighbors() const;
  /// Whether it needs LAMMPS' lists: they cost more than the model on a GPU.
  virtual bool reads_lists() const;
  /// Makes positions and types of the atoms those of the host, too.
  virtual void host_atoms() {}
  /// Adds the forces to those of the first `n` atoms.
  virtual void add_forces(int n);
  /// Adds what ghosts have of [nall][width] numbers, memory of the host or of results, to their
  /// owners.
  void fold(double *values, int width);

  /// All of compute() after LAMMPS has said what it asks for.
  void compute_model();
  /// Adds the baseline of the potential, where it has one, on the host's atoms.
  void add_baseline(int, int);
  bool has_baseline() const;

 private:
  void allocate();
  void check_setup();
  void load_committee();
  void check_stored();
  void watch();
  bool needs_bars();
  void need_same_atoms(bool is_latest, const char *values) const;
  void complete_model();
  void check_total();
  void init_baseline();
  double model_cutoff() const;
  Sums evaluate();
  void add_atom_values(double sign);
  std::vector<const double *> committee_forces();
  void write_deviation();
};

}  // namespace LAMMPS_NS

#endif
#endif
