/* ----------------------------------------------------------------------
   Outputs: scalar = loss of the last optimizer step; vector, all intensive, available at every step:
     1 frames stored          2 reference calls        3 rmse of energy, energy/atom   4 rmse of force, force units
     5 rmse of virial, energy/atom                     6 learning rate                 7 optimizer steps
     8 seconds of training    9 seconds of reference  10 memory of model and training, MB (largest rank)
    11 labels discarded      12 atoms seen with more neighbors of a type than sel keeps
   Errors 3-5 are those of the last batch, before its step.
   and with mode active, errors as the largest length of an atom's force error, in force units:
    13 expected at this step           14 threshold                 15 1: the model moves the atoms, 0: the reference
    16 rmse of force, held-out frames  17 audits                    18 audits with an error above the threshold
    19 sum of the jumps of the potential energy, energy units       20 found at the latest answer of the reference
    21 distance of the structure from what was learned
   and the memory at the latest label, MB, of the rank that has most:
    22 frames, neighbors and halo      23 optimizer and average     24 tables
    25 workspace, residuals, gradient  26 process now               27 process at most
    28 how often memory has run out, all ranks
   While the reference drives the run, the energy and virial of the pair style in thermo output are the reference's.
------------------------------------------------------------------------- */

#include "fix_dptrain.h"

#include <cstring>

#include "comm.h"
#include "dptrain/parallel/memory_table.h"
#include "error.h"
#include "fix_dptrain_data.h"
#include "utils.h"

using namespace LAMMPS_NS;

static constexpr int DISTANCE = 20;
static constexpr double MIB = 1048576.0;

void FixDPTrain::print_memory()
{
  std::string table;
  collective(lmp, "Fix dptrain", [&] { table = data_->session->memory_table(); });
  if (comm->me == 0) utils::logmesg(lmp, "Fix dptrain {}:\n{}", id, table);
}

// fix_modify ID memory: the table, now.
int FixDPTrain::modify_param(int, char **arg)
{
  if (strcmp(arg[0], "memory") != 0) return 0;
  if (!data_->session)
    error->all(FLERR,
               "Fix dptrain: there is no training yet whose memory could be shown: use "
               "fix_modify {} memory after the first run",
               id);
  print_memory();
  return 1;
}

double FixDPTrain::compute_scalar()
{
  return data_->session ? data_->session->report().loss : 0.0;
}

double FixDPTrain::compute_vector(int n)
{
  if (!data_->session) return 0.0;
  if (n == DISTANCE) return distance();
  const SessionCounters &counters = data_->session->counters;
  const dptrain::UpdateReport &report = data_->session->report();
  // 0 before the first optimizer step
  const auto rmse = [&](const char *term) { return report.step > 0 ? report.rmse(term) : 0.0; };
  const dptrain::ActiveLearning *learning = data_->learning.get();
  const auto memory = [this](const char *purpose) {
    return data_->session->largest(purpose) / MIB;
  };
  const double values[NUM_OUTPUTS] = {
      static_cast<double>(counters.frames),
      static_cast<double>(counters.reference_calls),
      rmse("e") * data_->units.energy,
      rmse("f") * data_->units.force(),
      rmse("v") * data_->units.energy,
      report.learning_rate,
      static_cast<double>(data_->session->steps()),
      counters.train_seconds,
      counters.reference_seconds,
      data_->session->largest(nullptr) / MIB,
      static_cast<double>(counters.discarded),
      static_cast<double>(data_->session->overflow()),
      data_->expected_error * data_->units.force(),
      learning ? learning->threshold() * data_->units.force() : 0.0,
      data_->model_moves ? 1.0 : 0.0,
      data_->held_out_error * data_->units.force(),
      learning ? static_cast<double>(learning->audits()) : 0.0,
      learning ? static_cast<double>(learning->audits_above()) : 0.0,
      data_->jumps.sum() * data_->units.energy,
      data_->found_error * data_->units.force(),
      0.0,
      memory("frames") + memory("neighbor rows") + memory("halo"),
      memory("optimizer") + memory("average"),
      memory("tables"),
      memory("workspace") + memory("residuals") + memory("gradient"),
      memory("process now"),
      memory("process peak"),
      static_cast<double>(data_->session->memory_shortages())};
  return values[n];
}

double FixDPTrain::memory_usage()
{
  double bytes =
      static_cast<double>((data_->change.capacity() + data_->before.capacity()) * sizeof(double));
  if (data_->reference) bytes += data_->reference->memory_usage();
  // the pair style counts the model
  if (data_->session) bytes += static_cast<double>(data_->session->trainer_bytes());
  return bytes;
}
