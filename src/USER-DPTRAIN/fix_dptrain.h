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
#include <vector>

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

 private:
  struct Data;
  static constexpr int NUM_OUTPUTS = 28;  // see fix_dptrain_output.cpp
  Data *data_;

  void make_reference();
  void attach();
  void attach_to_pair();
  void start_session();
  void check_order();
  void check_parts();
  void check_files(const class TrainingSession &) const;
  struct ReferenceAnswer ask_reference();
  bool usable(const struct ReferenceAnswer &);
  bool within_limit(const struct ReferenceLabel &);
  bool stored_already(const struct ReferenceLabel &);
  void store(const struct ReferenceLabel &, bool);
  void follow(const struct ReferenceLabel &);
  const double *virial_part(const struct ReferenceLabel &) const;
  void replace(const double *, const double *, double, const double *);
  void keep_model_forces();
  void add_energy(double);
  void begin_run();
  void passive_step();
  void print_memory();

  // mode active
  void start_learning();
  void begin_active_run();
  void active_step();
  void select_step();
  void print_selection() const;
  void make_guard();
  void add_guard();
  double largest_score();
  void warn_of_close_atoms(double);
  bool continues_from_answer() const;
  void watch_threshold(const struct ActiveEvent &);
  void stop_above_limit(const struct ActiveEvent &);
  void learn(const struct ReferenceLabel &, struct ActiveEvent &);
  void learn_from_labels();
  void move_on(const struct ReferenceLabel &, struct ActiveEvent &);
  void move_by_reference(const struct ReferenceLabel &);
  void note_answer(const struct ReferenceLabel &, double, const struct ActiveEvent &);
  void measure(const struct ReferenceLabel &, const double *, struct ActiveEvent &);
  bool is_held_out(const struct ActiveEvent &) const;
  double distance() const;
  std::vector<double> all_features() const;
  void keep_scale(const struct ActiveEvent &);
  void minimization_step();
  void open_books();
  void look_at_model();
  void ask_and_learn();
  bool is_duplicate() const;
  std::array<double, 3> seconds_of_run() const;
  void print_event(const struct ActiveEvent &);
  void print_summary() const;
};

}  // namespace LAMMPS_NS

#endif
#endif
