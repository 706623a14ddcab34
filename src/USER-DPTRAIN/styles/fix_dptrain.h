/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

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

#include <array>
#include <memory>

#include "fix.h"

namespace dptrain {
class LearningSession;
class ModelInUse;
struct Replicas;
}  // namespace dptrain

namespace LAMMPS_NS {

/// Translates between LAMMPS and dptrain::LearningSession, which does the work.
class FixDPTrain : public Fix {
 public:
  FixDPTrain(class LAMMPS *, int, char **);
  ~FixDPTrain() override;
  int setmask() override;
  void init() override;
  void setup(int) override;
  void post_integrate() override;
  void pre_exchange() override;
  void post_neighbor() override;
  void pre_force(int) override;
  void post_force(int) override;
  void min_setup(int) override;
  void min_post_force(int) override;
  void post_run() override;
  double compute_scalar() override;
  double compute_vector(int) override;
  void write_restart(FILE *) override;
  void restart(char *) override;
  int pack_reverse_comm(int, int, double *) override;
  void unpack_reverse_comm(int, int *, double *) override;
  double memory_usage() override;
  int modify_param(int, char **) override;

  /// Tells a model that this fix will train, and that there is not yet, which baseline and which
  /// cutoff it has: the pair style needs to know at the start of a run, before fixes are asked.
  void complete_model(dptrain::ModelInUse &);
  /// Whether it trains the model of the pair style, not one of its own.
  bool trains_pair_style() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;

  /// Before arrays of the atoms are looked at or changed: an accelerator brings them to the host.
  virtual void use_host_atoms() {}

  void attach();
  void attach_to_pair();
  void choose_cutoff(dptrain::ModelInUse &);
  void init_reference();
  void start_session();
  void make_difference();
  void check_run() const;
  dptrain::Replicas replicas() const;
  void check_files(const dptrain::LearningSession &) const;
  void check_exclusions();
  void init_trials();
  bool is_trial() const;
  void try_move();
  void begin_run();
  bool model_failed();
  void finish_step();
  void explore();
  void print_memory();
};

}  // namespace LAMMPS_NS

#endif
#endif
