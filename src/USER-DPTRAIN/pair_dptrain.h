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

  /// The model, shared with the fix that trains it.
  const std::shared_ptr<struct ModelSlot> &slot() const;
  /// What this style added to atom->f in the last compute(), on owned atoms and ghosts: [nall][3] in eV/Angstrom.
  const double *last_forces() const;
  /// Mapped types of owned atoms and ghosts etc. are kept in here.
  struct Data;

 private:
  Data *data_;

  void allocate();
  void check_setup();
  void check_stored();
  void add_atom_values(int);
};

}  // namespace LAMMPS_NS

#endif
#endif
