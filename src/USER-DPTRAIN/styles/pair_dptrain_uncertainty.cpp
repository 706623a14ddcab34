// The part of pair style dptrain that is about uncertainties of the last hidden layer.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "adapter/style_names.h"
#include "atom.h"
#include "comm.h"
#include "dptrain/kernels/threads.h"
#include "dptrain/uncertainty/feature_moments.h"
#include "error.h"
#include "styles/pair_dptrain_data.h"
#include "update.h"

using namespace LAMMPS_NS;

static constexpr std::uint64_t SAMPLE_SEED =
    1;  // the same samples at every step: their spread is smooth

bool PairDPTrain::has_scores() const
{
  return data_->has_scores;
}

const double *PairDPTrain::scores()
{
  return host_result(SCORE);
}

const std::vector<double> &PairDPTrain::feature_sum() const
{
  return data_->features;
}

double PairDPTrain::score_unit() const
{
  const dptrain::Calibration &calibration = data_->slot->calibration;
  return calibration.is_known() ? calibration.scale() * data_->units.force() : 1.0;
}

void PairDPTrain::check_unit(const char *who) const
{
  if (comm->me == 0 && !may_learn() && !data_->slot->calibration.is_known())
    error->warning(
        FLERR,
        "{}: the uncertainty of {} was never compared with a reference: it is given as "
        "it is, without unit; train the model with fix dptrain and mode active for force units",
        who, data_->slot->path);
}

// Samples have no scale of their own: they take that of the expected errors.
const double *PairDPTrain::sampled_deviation(int samples)
{
  if (!data_->slot->has_uncertainty()) return nullptr;
  const dptrain::Domain domain = atoms();
  if (domain.in_kernel_memory && dptrain::runs_on_gpu())
    error->all(FLERR, "Pair style dptrain/kk: forces of sampled last layers are computed from the "
                      "host's atoms: use pair_style dptrain/kk/host");
  const std::size_t nlocal = atom->nlocal, size = (nlocal + atom->nghost) * 3;
  data_->sampled.assign(samples * size, 0.0);
  std::vector<double> force(size), score(nlocal);
  local(lmp, PAIR_STYLE, [&] {
    dptrain::Model &model = data_->current().model();
    dptrain::LastHiddenLayer &layer = *model.last_hidden_layer();
    layer.set_weight_samples(
        dptrain::draw_weights(layer.whitening(), static_cast<int>(model.type_map().size()),
                              static_cast<int>(layer.num_features()), samples, SAMPLE_SEED));
    dptrain::ForwardOutput out;
    out.force = force.data();
    out.uncertainty = score.data();
    out.sampled_force = data_->sampled.data();
    model.forward(domain, out);
  });
  data_->deviation.assign(nlocal, 0.0);
  for (int k = 0; k < samples; ++k) {
    double *change = &data_->sampled[k * size];
    fold(change, 3);
    for (std::size_t i = 0; i < 3 * nlocal; ++i)
      data_->deviation[i / 3] += change[i] * change[i] / samples;
  }
  double squares[2] = {};
  for (std::size_t i = 0; i < nlocal; ++i) {
    squares[0] += score[i] * score[i];
    squares[1] += data_->deviation[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, squares, 2, MPI_DOUBLE, MPI_SUM, world);
  const double scale = squares[1] > 0.0 ? score_unit() * std::sqrt(squares[0] / squares[1]) : 0.0;
  for (double &value : data_->deviation) value = scale * std::sqrt(value);
  return data_->deviation.data();
}

// For fix pair: `uncertainty`, the expected force error of each atom, and `deviation`, that of the committee's forces.
void *PairDPTrain::extract_peratom(const char *name, int &columns)
{
  columns = 0;
  const bool deviation = strcmp(name, "deviation") == 0;
  if (!deviation && strcmp(name, "uncertainty") != 0) return nullptr;
  ModelSlot &slot = *data_->slot;
  if (!deviation) slot.uncertainty_wanted = true;
  if (deviation && slot.model && !has_committee())
    error->all(FLERR, "Pair style dptrain has no deviation to extract: give it a committee "
                      "(committee FILE2 [FILE3 ...] end)");
  std::vector<double> &values = data_->extracted[deviation ? 1 : 0];
  values.assign(std::max(atom->nlocal, 1), 0.0);
  if (update->whichflag == 0) return values.data();  // only the number of columns is asked for
  if (!deviation && slot.trained && !may_learn() && !slot.has_uncertainty())
    error->all(FLERR,
               "Pair style dptrain has no uncertainty to extract: {} does not know its own; use "
               "a model that fix dptrain has trained",
               slot.path);
  if (!deviation && slot.trained && !data_->warned_of_unit) {
    data_->warned_of_unit = true;
    check_unit(PAIR_STYLE);
  }
  const double *found = nullptr;
  if (deviation) found = committee_deviation();
  if (!deviation && has_scores()) found = scores();
  const double unit = deviation ? 1.0 : score_unit();
  for (int i = 0; found && i < atom->nlocal; ++i) values[i] = unit * found[i];
  return values.data();
}

// What fix pair sets to 1 where it will read: both are there without it.
void *PairDPTrain::extract(const char *name, int &dim)
{
  dim = 0;
  if (strcmp(name, "uncertainty_flag") == 0 || strcmp(name, "deviation_flag") == 0)
    return &data_->asked_by_fix;
  return nullptr;
}
