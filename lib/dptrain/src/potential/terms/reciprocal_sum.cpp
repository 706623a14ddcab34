#include "potential/terms/reciprocal_sum.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <ATen/ATen.h>

#include "dptrain/potential/model/charges.h"

namespace dptrain {

namespace {

constexpr double two_pi = 2.0 * std::numbers::pi;
constexpr double reach = 4.5;  // sigma k of the largest k
constexpr int x = 0, y = 1, z = 2;

at::Tensor complex_of(const at::Tensor &sum)
{
  return at::view_as_complex(sum);
}

// [n][numbers] exp(2 pi i number s)
at::Tensor powers(const at::Tensor &s, const at::Tensor &numbers)
{
  const at::Tensor angle = two_pi * at::outer(s, numbers);
  return at::complex(at::cos(angle), at::sin(angle));
}

}  // namespace

ReciprocalSum::ReciprocalSum(const std::array<double, 9> &box, double sigma,
                             const at::TensorOptions &options) :
    sigma_(sigma)
{
  // copies: ATen takes no const data
  std::array<double, 9> rows = box;
  const at::Tensor cell =
      at::from_blob(rows.data(), {3, 3}, at::TensorOptions(at::kDouble)).clone();
  const double volume = std::fabs(at::linalg_det(cell).item<double>());
  const at::Tensor inverse = at::linalg_inv(cell);
  scale_ = 2.0 * two_pi * coulomb_constant / volume;
  self_ = coulomb_constant / (std::sqrt(two_pi) * sigma);
  to_fractional_ = inverse.to(options);

  const double largest = reach / sigma;
  std::array<long, 3> most{};
  for (int d = 0; d < 3; ++d)
    most[d] = static_cast<long>(largest * cell[d].norm().item<double>() / two_pi);
  const auto numbers = [&](long begin, long end) {
    return at::arange(begin, end + 1, at::TensorOptions(at::kDouble));
  };
  const at::Tensor first = numbers(0, most[x]), second = numbers(-most[y], most[y]);
  third_ = numbers(-most[z], most[z]);
  // half of all k: those with a positive number along the first axis, and half of the weight where it is zero
  const auto grid = at::meshgrid({first, second}, "ij");
  at::Tensor pairs = at::stack({grid[0].flatten(), grid[1].flatten()}, 1);
  // those that are too long whatever the third number is are left out: the distance from the line along the third axis of k
  const at::Tensor axes = two_pi * inverse.t();  // rows: vectors of the reciprocal cell
  const at::Tensor along = axes[z] / axes[z].norm();
  const at::Tensor in_plane = at::matmul(pairs, axes.slice(0, 0, 2));
  const at::Tensor across = in_plane - at::outer(at::matmul(in_plane, along), along);
  pairs = pairs.index({at::linalg_vector_norm(across, 2, at::IntArrayRef{1}) < largest});
  first_ = pairs.select(1, 0).contiguous();
  second_ = pairs.select(1, 1).contiguous();
  const at::Tensor k = at::matmul(pairs, axes.slice(0, 0, 2)).unsqueeze(1) +
                       at::outer(third_, axes[z]).unsqueeze(0);  // [pairs][third][3]
  const at::Tensor k2 = k.square().sum(-1);
  const at::Tensor counts = at::logical_and(k2 > 1e-12 * largest * largest, k2 < largest * largest);
  const at::Tensor safe = at::where(counts, k2, at::ones_like(k2));
  const at::Tensor half = at::where(first_ == 0.0, 0.5, 1.0).to(at::kDouble).unsqueeze(1);
  weight_ = (at::exp(-0.5 * sigma * sigma * safe) / safe * counts * half).to(options);
  slope_ = (sigma * sigma + 2.0 / safe).to(options);
  for (int d = 0; d < 3; ++d) wave_[d] = k.select(-1, d).contiguous().to(options);
  along_first_ = first.to(options);
  along_second_ = second.to(options);
  first_place_ = first_.to(at::kLong).to(options.device());
  second_place_ = (second_ + static_cast<double>(most[y])).to(at::kLong).to(options.device());
  first_ = first_.to(options);
  second_ = second_.to(options);
  third_ = third_.to(options);
}

at::Tensor ReciprocalSum::fractional_of(const at::Tensor &v) const
{
  return at::matmul(v, to_fractional_);
}

ReciprocalSum::Atoms ReciprocalSum::atoms(const at::Tensor &x, const at::Tensor &charge) const
{
  Atoms atoms;
  atoms.charge = charge;
  atoms.fractional = fractional_of(x);
  atoms.fractional =
      atoms.fractional - at::floor(atoms.fractional);  // small angles have more digits
  const at::Tensor s = atoms.fractional.t().contiguous();
  atoms.plane = powers(s[0], along_first_).index_select(1, first_place_) *
                powers(s[1], along_second_).index_select(1, second_place_);
  atoms.line = powers(s[2], third_);
  return atoms;
}

at::Tensor ReciprocalSum::structure(const Atoms &atoms) const
{
  return at::view_as_real(at::matmul(atoms.plane.t(), atoms.charge.unsqueeze(1) * atoms.line))
      .contiguous();
}

at::Tensor ReciprocalSum::along_line(const Atoms &atoms, const at::Tensor &coefficient) const
{
  const at::Tensor lines = at::stack({atoms.line, third_ * atoms.line});
  return at::matmul(lines, coefficient.t());
}

at::Tensor ReciprocalSum::moments(const Atoms &atoms, const at::Tensor &lines) const
{
  const at::Tensor flat = at::imag(atoms.plane * lines[0]);
  return at::stack({at::matmul(flat, first_), at::matmul(flat, second_),
                    at::imag(atoms.plane * lines[1]).sum(1)});
}

ReciprocalSum::Derivatives ReciprocalSum::derivatives(const Atoms &atoms,
                                                      const at::Tensor &sum) const
{
  const at::Tensor lines = along_line(atoms, weight_ * complex_of(sum).conj());
  Derivatives result;
  result.potential =
      2.0 * scale_ * at::real(atoms.plane * lines[0]).sum(1) - 2.0 * self_ * atoms.charge;
  const at::Tensor of_fractional =
      -2.0 * two_pi * scale_ * (atoms.charge * moments(atoms, lines)).t();
  result.gradient = at::matmul(of_fractional, to_fractional_.t());
  return result;
}

std::array<double, 9> ReciprocalSum::virial(const at::Tensor &sum, const at::Tensor &own) const
{
  const at::Tensor energy = scale_ * weight_ * at::real(complex_of(sum).conj() * complex_of(own));
  const at::Tensor bent = energy * slope_;
  std::array<double, 9> result{};
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      result[3 * a + b] = -(bent * wave_[a] * wave_[b]).sum().item<double>();
      if (a == b) result[3 * a + b] += energy.sum().item<double>();
    }
  return result;
}

at::Tensor ReciprocalSum::virials(const Atoms &atoms, const at::Tensor &sum) const
{
  const at::Tensor coefficient = weight_ * complex_of(sum).conj();
  const auto of_atoms = [&](const at::Tensor &factor) {
    const at::Tensor lines = at::matmul(atoms.line, (factor * coefficient).t());
    return scale_ * atoms.charge * at::real(atoms.plane * lines).sum(1);
  };
  std::vector<at::Tensor> columns;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      columns.push_back(of_atoms((a == b ? 1.0 : 0.0) - slope_ * wave_[a] * wave_[b]));
  return at::stack(columns, 1);
}

at::Tensor ReciprocalSum::structure_tangent(const Atoms &atoms, const at::Tensor &v,
                                            const at::Tensor &dq) const
{
  // exp(i k r) changes by i k v, of which the first two axes belong to the plane and the third one to the line
  const auto times_i = [](const at::Tensor &factor, const at::Tensor &phase) {
    return at::complex(at::zeros_like(factor), factor) * phase;
  };
  const at::Tensor u = two_pi * fractional_of(v) * atoms.charge.unsqueeze(1);
  const at::Tensor flat = at::outer(u.select(1, 0), first_) + at::outer(u.select(1, 1), second_);
  const at::Tensor along = at::outer(u.select(1, 2), third_);
  const at::Tensor moved =
      at::view_as_real(at::matmul(at::cat({times_i(flat, atoms.plane), atoms.plane}).t(),
                                  at::cat({atoms.line, times_i(along, atoms.line)})));
  if (!dq.defined()) return moved.contiguous();
  return moved + structure({dq, atoms.fractional, atoms.plane, atoms.line});
}

// How w(k) / V changes with the strain, times V: the numbers of k stay.
at::Tensor ReciprocalSum::weight_tangent(const std::array<double, 9> &strain) const
{
  at::Tensor bend = at::zeros_like(weight_);
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) bend += strain[3 * a + b] * wave_[a] * wave_[b];
  const double trace = strain[0] + strain[4] + strain[8];
  return weight_ * (slope_ * bend - trace);
}

at::Tensor ReciprocalSum::potential_tangent(const Atoms &atoms, const at::Tensor &v,
                                            const at::Tensor &dq,
                                            const std::array<double, 9> &strain,
                                            const at::Tensor &sum,
                                            const at::Tensor &sum_tangent) const
{
  const at::Tensor of_sum = complex_of(sum).conj();
  const at::Tensor changed =
      weight_ * complex_of(sum_tangent).conj() + weight_tangent(strain) * of_sum;
  const at::Tensor of_changed = at::real(atoms.plane * at::matmul(atoms.line, changed.t())).sum(1);
  const at::Tensor moved =
      two_pi * (fractional_of(v).t() * moments(atoms, along_line(atoms, weight_ * of_sum))).sum(0);
  const at::Tensor tangent = 2.0 * scale_ * (of_changed - moved);
  return dq.defined() ? tangent - 2.0 * self_ * dq : tangent;
}

}  // namespace dptrain
