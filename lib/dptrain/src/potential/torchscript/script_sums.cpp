#include "potential/torchscript/script_sums.h"

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

/// In the memory of the host, row-major.
torch::Tensor on_host(const torch::Tensor &tensor)
{
  return tensor.detach().to(torch::kCPU, torch::kFloat64).contiguous();
}

/// Rows of a block's atoms to their places among the atoms of the domain.
void scatter(const AtomBlock &block, const torch::Tensor &rows, int width, double *target)
{
  const torch::Tensor values = on_host(rows);
  const double *value = values.data_ptr<double>();
  for (const int atom : block.atoms) {
    if (atom < 0) {
      value += width;
      continue;
    }
    double *place = target + static_cast<long>(width) * atom;
    for (int c = 0; c < width; ++c) place[c] += *value++;
  }
}

void add(const std::vector<double> &values, double *target)
{
  for (std::size_t k = 0; k < values.size(); ++k) target[k] += values[k];
}

void add(const torch::Tensor &tensor, double *target)
{
  const torch::Tensor values = on_host(tensor);
  for (std::int64_t k = 0; k < values.numel(); ++k) target[k] += values.data_ptr<double>()[k];
}

}  // namespace

ScriptSums::ScriptSums(const Domain &domain, const ForwardOutput &out, const ScriptFacts &facts) :
    nall_(static_cast<std::size_t>(domain.nall)),
    ntypes_(static_cast<int>(facts.type_map.size())),
    atom_virial_(out.atom_virial != nullptr)
{
  const bool asked = out.bar || out.feature_sum || out.feature_covariance;
  if (asked && facts.num_features == 0)
    throw Error("This model does not tell the outputs of its last hidden layer, which "
                "error bars rest on: freeze it with DeePMD-kit 3.2, or use a committee");
  if (out.force) force_.assign(3 * nall_, 0.0);
  if (atom_virial_) atom_virials_.assign(9 * nall_, 0.0);
  if (!asked) return;
  features_ = facts.num_features;
  if (out.feature_sum) feature_sum_ = torch::zeros({ntypes_, features_}, torch::kFloat64);
  if (out.feature_covariance)
    covariance_ = torch::zeros({ntypes_, features_, features_}, torch::kFloat64);
}

void ScriptSums::add(const AtomBlock &block, const ScriptResults &results)
{
  const torch::Tensor energies = on_host(results.atom_energy);
  for (int i = 0; i < block.centers; ++i) {
    if (block.atoms[i] < 0) continue;
    const double energy = energies.data_ptr<double>()[i];
    energies_.push_back({block.atoms[i], energy});
    energy_ += energy;
  }
  if (!force_.empty()) scatter(block, results.force, 3, force_.data());
  dptrain::add(results.virial, virial_.data());
  if (atom_virial_) scatter(block, results.atom_virial, 9, atom_virials_.data());
}

void ScriptSums::add_features(const AtomBlock &block, const torch::Tensor &f,
                              const torch::Tensor &type, const torch::Tensor &matrices)
{
  torch::Tensor norms = torch::zeros({block.centers}, f.options());
  torch::Tensor of_atoms = type.clone();
  if (block.atoms.front() < 0) of_atoms[0] = -1;
  for (int t = 0; t < ntypes_; ++t) {
    const torch::Tensor rows = (of_atoms == t).nonzero().view({-1});
    if (rows.numel() == 0) continue;
    const torch::Tensor own = f.index_select(0, rows);
    if (feature_sum_.defined()) feature_sum_[t] += own.sum(0).to(torch::kCPU);
    if (covariance_.defined()) covariance_[t] += own.t().matmul(own).to(torch::kCPU);
    if (matrices.defined()) norms.index_copy_(0, rows, own.matmul(matrices[t]).norm(2, 1));
  }
  if (!matrices.defined()) return;
  const torch::Tensor values = on_host(norms);
  for (int i = 0; i < block.centers; ++i)
    if (block.atoms[i] >= 0) distances_.push_back({block.atoms[i], values.data_ptr<double>()[i]});
}

void ScriptSums::add_to(ForwardOutput &out, const Domain &domain, const std::vector<double> &bias,
                        const std::vector<char> &acts, const ErrorBars &bars) const
{
  out.network_energy += energy_;
  out.energy += energy_;
  for (const AtomValue &center : energies_) {
    const int type = domain.type[center.atom];
    const double constant = acts[type] ? bias[type] : 0.0;
    out.energy += constant;
    if (out.atom_energy) out.atom_energy[center.atom] = center.value + constant;
  }
  if (out.force) dptrain::add(force_, out.force);
  if (out.atom_virial) dptrain::add(atom_virials_, out.atom_virial);
  for (int c = 0; c < 9; ++c) out.virial[c] += virial_[c];
  if (out.bar)
    for (const AtomValue &center : distances_)
      out.bar[center.atom] = center.value * bars.factor(domain.type[center.atom]);
  if (out.feature_sum) dptrain::add(feature_sum_, out.feature_sum);
  if (out.feature_covariance) dptrain::add(covariance_, out.feature_covariance);
}

}  // namespace dptrain
