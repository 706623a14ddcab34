// A term of the loss that the library does not have: gradient, errors and means of reports follow from the one class.

#include <gtest/gtest.h>

#include <cmath>

#include "dptrain/frames/whole_frame.h"
#include "support/random_frame.h"
#include "support/toy_model.h"
#include "support/world.h"
#include "training/loss/loss_term.h"
#include "training/report_mean.h"
#include "training/two_pass.h"

namespace dptrain::test {

namespace {

constexpr double RCUT = 3.0;

/// (P - P_label)^2 / N, P = trace(W) / 3, and the square of the force that acts on all atoms of type A together, with no
/// label: it shows a term with sums of its own over the ranks, and one that acts on virial and forces.
class PressureTerm : public LossTerm {
 public:
  PressureTerm() : LossTerm({"p", "virials", {2.0, 1.0}, true, true}) {}
  bool has_label(const Label &label) const override { return label.virial.has_value(); }
  std::size_t num_sums(const Model &) const override { return 4; }
  void add_sums(const Prediction &here, double *sums) const override
  {
    sums[0] += trace(here.virial) / 3.0;
    for (int i = 0; i < here.frame.nlocal; ++i)
      for (int c = 0; c < 3; ++c)
        if (here.frame.type[i] == 0) sums[1 + c] += here.force[3 * i + c];
  }
  double value(const Prediction &here, const double *sums, Deviation &errors) const override
  {
    errors.add(error_of(here, sums));
    double value = std::pow(error_of(here, sums), 2) / static_cast<double>(here.frame.natoms);
    for (int c = 0; c < 3; ++c) value += sums[1 + c] * sums[1 + c];
    return value;
  }
  void add_residual(const Prediction &here, const double *sums, double weight,
                    Residual &residual) const override
  {
    const double n = static_cast<double>(here.frame.natoms);
    for (const int k : {0, 4, 8})
      residual.virial[k] += 2.0 / 3.0 * weight * error_of(here, sums) / n;
    for (int i = 0; i < here.frame.nlocal; ++i)
      for (int c = 0; c < 3; ++c)
        if (here.frame.type[i] == 0) residual.force[3 * i + c] += 2.0 * weight * sums[1 + c];
  }

 private:
  static double trace(const std::array<double, 9> &m) { return m[0] + m[4] + m[8]; }
  static double error_of(const Prediction &here, const double *sums)
  {
    return sums[0] - trace(*here.frame.label.virial) / 3.0;
  }
};

struct Batch {
  explicit Batch(const std::shared_ptr<const Communicator> &comm)
  {
    for (WholeFrame whole : {random_frame(1, 30, skewed_box(6.0), true, 1.0),
                             random_frame(2, 11, cubic_box(5.0), true, 1.0),
                             random_frame(3, 3, cubic_box(3.0), false, 1.0)}) {
      if (whole.step == 2) whole.label.virial.reset();
      frames.push_back(scatter_frame(comm, whole, RCUT));
    }
    for (const Frame &frame : frames) all.push_back(&frame);
    LossTerms terms = make_loss_terms({});
    terms.push_back(std::make_unique<PressureTerm>());
    passes = std::make_unique<TwoPass>(model, comm, std::move(terms));
  }
  UpdateReport report(std::vector<double> *gradient = nullptr)
  {
    passes->begin_batch(all.size(), 0.25);
    passes->forward(all, gradient != nullptr);
    passes->sum_errors();
    if (gradient) {
      passes->residuals();
      kernels::Array<double> found;
      passes->backward(found);
      *gradient = found.to_host();
    }
    return passes->report();
  }
  std::shared_ptr<ToyModel> model = std::make_shared<ToyModel>(RCUT);
  std::vector<Frame> frames;
  std::vector<const Frame *> all;
  std::unique_ptr<TwoPass> passes;
};

}  // namespace

TEST(OwnLossTerm, GradientIsThatOfTheLoss)
{
  const auto comm = world();
  Batch batch(comm);
  std::vector<double> gradient;
  batch.report(&gradient);
  comm->all_reduce_sum(gradient.data(), gradient.size());
  const std::vector<double> x = batch.model->parameters().values();
  double scale = 0.0;
  for (const double g : gradient) scale = std::max(scale, std::abs(g));
  for (std::size_t k = 0; k < x.size(); ++k) {
    const auto at = [&](double step) {
      std::vector<double> moved = x;
      moved[k] += step;
      batch.model->parameters().set(moved);
      return batch.report().loss;
    };
    // h^2 truncation and rounding of the difference: about 1e-9 relative to the largest component
    const double h = 1e-5;
    EXPECT_NEAR(gradient[k], (at(h) - at(-h)) / (2 * h), 1e-8 * scale) << "parameter " << k;
  }
}

TEST(OwnLossTerm, IsInTheReportAndInItsMeans)
{
  Batch batch(world());
  const UpdateReport report = batch.report();
  // by the definition, from pass A on one rank
  const auto alone = make_mpi_communicator();
  Batch whole(alone);
  double squares = 0.0, value = 0.0;
  for (const Frame *frame : whole.all) {
    if (!frame->label.virial) continue;
    std::vector<double> force(3 * frame->nall(), 0.0);
    ForwardOutput out;
    out.force = force.data();
    whole.model->forward(frame->domain(), out);
    frame->halo->reduce(force.data(), 3);
    double error = 0.0, total[3] = {0.0, 0.0, 0.0};
    for (const int k : {0, 4, 8}) error += (out.virial[k] - (*frame->label.virial)[k]) / 3.0;
    for (int i = 0; i < frame->nlocal; ++i)
      for (int c = 0; c < 3; ++c)
        if (frame->type[i] == 0) total[c] += force[3 * i + c];
    squares += error * error;
    value += error * error / static_cast<double>(frame->natoms);
    for (const double sum : total) value += sum * sum;
  }
  EXPECT_NEAR(report.rmse("p"), std::sqrt(squares / 2.0), 1e-12 * report.rmse("p"));
  EXPECT_TRUE(std::isnan(report.rmse("no such term")));
  // the prefactor 2 -> 1 at a quarter of the start rate is 1.25, and the mean is over three frames; the other terms have
  // errors that are tested elsewhere
  TwoPass others(whole.model, alone, make_loss_terms({}));
  others.begin_batch(3, 0.25);
  others.forward(whole.all, false);
  others.sum_errors();
  EXPECT_NEAR(report.loss - others.report().loss, 1.25 * value / 3.0, 1e-12 * report.loss);
  ReportMean mean;
  for (int k = 0; k < 2; ++k) mean.add(report, 1.0);
  EXPECT_DOUBLE_EQ(mean.mean().rmse("p"), report.rmse("p"));
  EXPECT_DOUBLE_EQ(mean.mean().mae("p"), report.mae("p"));
}

}  // namespace dptrain::test
