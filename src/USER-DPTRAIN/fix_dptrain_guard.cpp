// Mode active of fix dptrain: a short-range repulsion beside a model that has seen little.

#include "atom.h"
#include "comm.h"
#include "dptrain/base/elements.h"
#include "error.h"
#include "fix_dptrain_data.h"

using namespace LAMMPS_NS;

// The screened repulsion of the nuclei between atoms of these elements.
void FixDPTrain::make_guard()
{
  Data &d = *data_;
  if (d.guard || d.options.guard_outer == 0.0) return;
  PairOptions zbl;
  zbl.style = "zbl";
  zbl.args = {fmt::format("{:.17g}", d.options.guard_inner),
              fmt::format("{:.17g}", d.options.guard_outer)};
  std::vector<int> numbers;
  for (const std::string &element : d.slot->elements) {
    numbers.push_back(dptrain::atomic_number(element));
    if (dptrain::element_symbol(numbers.back()).empty())
      error->all(FLERR, "Fix dptrain: guard needs chemical elements, {} is not one", element);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (std::size_t j = i; j < numbers.size(); ++j)
      zbl.coeffs.push_back(fmt::format("{} {} {} {}", i + 1, j + 1, numbers[i], numbers[j]));
  d.guard = std::make_unique<NestedPair>(lmp, "guard", zbl, [this](double *values) {
    data_->fold = values;
    comm->reverse_comm(this, 3);
  });
}

// Keeps atoms apart where a model that has seen little moves them.
void FixDPTrain::add_guard()
{
  Data &d = *data_;
  if (!d.model_moves || !d.learning->is_growing()) return;
  const NestedPair::Values &values = d.guard->evaluate();
  for (int i = 0; i < atom->nlocal; ++i)
    for (int k = 0; k < 3; ++k) atom->f[i][k] += values.force[3 * i + k];
  if (comm->me != 0) return;
  if (vflag_global)
    for (int k = 0; k < 6; ++k) virial[k] += values.virial[k];
  add_energy(values.energy);
}
