// The part of pair style dptrain that is about uncertainties of the last hidden layer.
#include <algorithm>
#include <cmath>

#include "atom.h"
#include "comm.h"
#include "dptrain/uncertainty/feature_moments.h"
#include "styles/pair_dptrain_data.h"

using namespace LAMMPS_NS;

static const char WHO[] = "Pair style dptrain";
static constexpr std::uint64_t SAMPLE_SEED =
    1;  // the same samples at every step: their spread is smooth

bool PairDPTrain::has_scores() const
{
  return data_->has_scores;
}

const double *PairDPTrain::scores() const
{
  return data_->score.data();
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

// Samples have no scale of their own: they take that of the expected errors.
const double *PairDPTrain::sampled_deviation(int samples)
{
  if (!data_->slot->has_uncertainty()) return nullptr;
  const std::size_t nlocal = atom->nlocal, size = (nlocal + atom->nghost) * 3;
  data_->sampled.assign(samples * size, 0.0);
  std::vector<double> force(size), score(nlocal);
  local(lmp, WHO, [&] {
    dptrain::Model &model = data_->current().model();
    dptrain::LastHiddenLayer &layer = *model.last_hidden_layer();
    layer.set_weight_samples(
        dptrain::draw_weights(layer.whitening(), static_cast<int>(model.type_map().size()),
                              static_cast<int>(layer.num_features()), samples, SAMPLE_SEED));
    dptrain::ForwardOutput out;
    out.force = force.data();
    out.uncertainty = score.data();
    out.sampled_force = data_->sampled.data();
    model.forward(data_->domain(*atom, *list), out);
  });
  data_->deviation.assign(nlocal, 0.0);
  for (int k = 0; k < samples; ++k) {
    data_->folded = &data_->sampled[k * size];
    comm->reverse_comm(this);
    for (std::size_t i = 0; i < 3 * nlocal; ++i)
      data_->deviation[i / 3] += data_->folded[i] * data_->folded[i] / samples;
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
