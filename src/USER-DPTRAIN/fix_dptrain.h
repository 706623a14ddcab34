/* -*- c++ -*- ----------------------------------------------------------
   fix dptrain: collects reference labels and trains a deep potential while the run goes on
------------------------------------------------------------------------- */

#ifdef FIX_CLASS
// clang-format off
FixStyle(dptrain,FixDPTrain);
// clang-format on
#else

#ifndef LMP_FIX_DPTRAIN_H
#define LMP_FIX_DPTRAIN_H

#include "fix.h"

namespace LAMMPS_NS {

class FixDPTrain : public Fix {
 public:
  FixDPTrain(class LAMMPS *, int, char **);
  ~FixDPTrain() override;
  int setmask() override;
  void init() override;
  void setup(int) override;
  void post_force(int) override;
  void post_run() override;
  double compute_scalar() override;
  double compute_vector(int) override;
  void write_restart(FILE *) override;
  void restart(char *) override;
  int pack_reverse_comm(int, int, double *) override;
  void unpack_reverse_comm(int, int *, double *) override;
  double memory_usage() override;

 private:
  struct Data;
  Data *data_;

  void make_reference();
  void attach();
  void attach_to_pair();
  void start_session();
  void check_order();
  void check_files(const class TrainingSession &) const;
  struct ReferenceAnswer ask_reference();
  bool usable(const struct ReferenceAnswer &);
  bool within_limit(const struct ReferenceLabel &);
  bool stored_already(const struct ReferenceLabel &);
  void store(const struct ReferenceLabel &);
  void follow(const struct ReferenceLabel &);
};

}  // namespace LAMMPS_NS

#endif
#endif
