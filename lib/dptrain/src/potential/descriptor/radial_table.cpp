#include "potential/descriptor/radial_table.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "kernels/layer.h"

namespace dptrain {
namespace {

constexpr int most_knots = 16385;  // beyond: a function is not smooth enough for a table
// Builds of the table from one check to the next, and to one that also tries fewer knots.
constexpr int builds_to_check = 20, builds_to_trial = 200;
constexpr double far_outside =
    4.0;  // in units of the first range: such arguments are not tabulated

// What is asked of a table, relative to the largest value of G and of G', the knots to start with, and what is still accepted
// at most_knots. In float32 the rounding of distances hides the rest: forces of tables with a hundredth of these errors have the
// same distance from those in float64.
template <class Real> struct Quality;
template <> struct Quality<double> {
  static constexpr double tolerance = 1e-11, slope_tolerance = 1e-11, acceptable = 10.0;
  static constexpr int first_knots = 257;
};
template <> struct Quality<float> {
  static constexpr double tolerance = 4e-6, slope_tolerance = 1e-4, acceptable = 2.0;
  static constexpr int first_knots = 97;
};

// float64 sums need no other array to move to.
template <class Real> constexpr bool sums_in_float32 = std::is_same_v<Real, float>;

}  // namespace

template <class Real>
RadialTable<Real>::RadialTable(std::unique_ptr<RadialFunctions> functions,
                               std::vector<double> padding, double lower, double upper, int knots) :
    functions_(std::move(functions)),
    knots_(functions_->number()),
    padding_(std::move(padding)),
    channels_(functions_->channels()),
    width_(kernels::padded_width<Real>(channels_)),
    direct_(!functions_->smooth())
{
  grid_.fixed = knots > 0;
  grid_.knots = grid_.fixed ? knots : Quality<Real>::first_knots;
  // what kernels read must be what the knots stand at, in either precision
  grid_.origin = static_cast<Real>(lower);
  grid_.spacing = static_cast<Real>((upper - grid_.origin) / (grid_.knots - 1));
  grid_.limit = grid_.origin + far_outside * (upper - grid_.origin);
}

template <class Real>
void RadialTable<Real>::set_input(const std::vector<double> &arguments, double step, int order,
                                  kernels::Array<double> &input)
{
  const std::size_t n = arguments.size();
  host_input_.assign((order + 1) * n, 0.0);
  std::copy(arguments.begin(), arguments.end(), host_input_.begin());
  if (order > 0) std::fill_n(host_input_.begin() + n, n, step);
  input.copy_from(host_input_);
}

template <class Real>
const double *RadialTable<Real>::jets(const double *parameters, int k, Place place,
                                      const std::vector<double> &arguments, double step, int order)
{
  set_input(arguments, step, order, input_);
  return functions_->jets(k, place, parameters, static_cast<int>(arguments.size()), order,
                          input_.data());
}

// In units of the spacing the jets of a function along the step h are what the table is made of: G, h G', h^2 G''.
template <class Real> void RadialTable<Real>::fill(const double *parameters)
{
  ++kernels::counters().table_builds;
  if (knot_input_of_ != arguments()) {
    knot_input_of_.clear();
    knot_arguments_.resize(rows());
    for (int k = 0; k < grid_.knots; ++k) knot_arguments_[k] = grid_.origin + k * grid_.spacing;
    std::copy(padding_.begin(), padding_.end(), knot_arguments_.begin() + grid_.knots);
    set_input(knot_arguments_, grid_.spacing, 2, knot_input_);
    knot_input_of_ = arguments();
  }
  table_.resize(function_size() * knots_.size());
  for (std::size_t k = 0; k < knots_.size(); ++k) {
    knots_[k].jets = functions_->jets(static_cast<int>(k), Place::knots, parameters, rows(), 2,
                                      knot_input_.data());
    kernels::fill_table(knots_[k].jets, grid_.knots, num_padding(), channels_, width_,
                        table_.data() + k * function_size());
  }
}

template <class Real> void RadialTable<Real>::build(const double *parameters)
{
  if (!direct_) fill(parameters);
}

template <class Real> void RadialTable<Real>::check(const double *parameters)
{
  if (direct_ || grid_.fixed) return;
  if (builds_until_trial_ % builds_to_check == 0)
    choose_knots(parameters, builds_until_trial_ == 0);
  builds_until_trial_ = (builds_until_trial_ + builds_to_trial - 1) % builds_to_trial;
}

template <class Real> void RadialTable<Real>::choose_knots(const double *parameters, bool try_fewer)
{
  double worst = largest_error(parameters);
  if (worst <= 1.0 && try_fewer) remove_knots(parameters);
  for (; !(worst <= 1.0); worst = largest_error(parameters)) {
    if (grid_.knots == most_knots || std::isnan(worst)) {
      // not for NaN parameters: they would switch to the slow way for good
      direct_ = worst > Quality<Real>::acceptable;
      return;
    }
    // the error of G' falls with the fifth power of the spacing; a little more than that, at most four times as many
    resize(std::clamp(1.05 * std::pow(worst, 0.2), 1.05, 4.0));
    fill(parameters);
  }
}

// By trial: the error of a table that is too fine is that of rounding, and tells nothing about a coarser one.
template <class Real> void RadialTable<Real>::remove_knots(const double *parameters)
{
  while (grid_.knots > Quality<Real>::first_knots) {
    const TableGrid before = grid_;
    resize(0.8);
    fill(parameters);
    if (largest_error(parameters) <= 1.0) continue;
    grid_ = before;
    fill(parameters);
    return;
  }
}

template <class Real> void RadialTable<Real>::resize(double factor)
{
  const double end = grid_.end();
  grid_.knots = std::min(most_knots, static_cast<int>(std::ceil(grid_.knots * factor)));
  grid_.spacing = static_cast<Real>((end - grid_.origin) / (grid_.knots - 1));
  if (grid_.end() < end) ++grid_.knots;  // rounding
  grid_.knots = std::min(most_knots, grid_.knots);
}

// In units of what is asked.
template <class Real> double RadialTable<Real>::largest_error(const double *parameters)
{
  const auto [value, derivative] = error(parameters);
  return std::max(value / Quality<Real>::tolerance, derivative / Quality<Real>::slope_tolerance);
}

template <class Real> std::pair<double, double> RadialTable<Real>::error(const double *parameters)
{
  std::pair<double, double> worst{0.0, 0.0};
  for (int k = 0; k < functions_->number(); ++k) {
    const auto [value, derivative] = function_error(parameters, k);
    worst = {std::max(worst.first, value), std::max(worst.second, derivative)};
  }
  return worst;
}

template <class Real>
std::pair<double, double> RadialTable<Real>::function_error(const double *parameters, int function)
{
  const auto &points = kernels::table_check_points;
  const int n = 3 * (grid_.knots - 1);
  std::vector<double> arguments(n);
  for (int k = 0; k < n; ++k) arguments[k] = grid_.origin + (k / 3 + points[k % 3]) * grid_.spacing;
  const double *values = jets(parameters, function, Place::elsewhere, arguments, grid_.spacing, 1);
  std::vector<double> exact(2L * n * channels_), knots(3L * rows() * channels_);
  kernels::copy_out(exact.data(), values, exact.size() * sizeof(double));
  kernels::copy_out(knots.data(), knots_[function].jets, knots.size() * sizeof(double));
  return kernels::table_error(knots.data(), grid_.knots, num_padding(), channels_, exact.data());
}

template <class Real> bool RadialTable<Real>::extend(const double *parameters, double upper)
{
  if (reaches(upper) || upper > grid_.limit) return false;
  grid_.knots = static_cast<int>(std::ceil((upper - grid_.origin) / grid_.spacing)) + 1;
  fill(parameters);
  return true;
}

template <class Real> void RadialTable<Real>::begin_sweep(bool direct, bool with_gradient)
{
  direct_sweep_ = direct || direct_;
  with_gradient_ = with_gradient;
  if (!with_gradient || direct_sweep_) return;
  copies_ = {kernels::workers(), static_cast<long>(table_.size())};
  table_gradient_.resize_clear(table_.size() * copies_.number);
  for (auto &knots : knots_) knots.gradient.resize_clear(3L * rows() * channels_);
}

template <class Real> kernels::Table<Real> RadialTable<Real>::table(int num_slots) const
{
  kernels::Table<Real> table;
  table.width = width_;
  table.direct = direct_sweep_;
  const long padding = static_cast<long>(num_padding()) * width_;
  if (direct_sweep_) {
    table.net_size = padding;
    // one more: in the Hermite form a read spans two knots
    table.padding_offset =
        static_cast<long>(num_slots + 1) * kernels::rows_per_interval<Real> * width_;
    return table;
  }
  table.origin = static_cast<Real>(grid_.origin);
  table.inv_spacing = static_cast<Real>(1.0 / grid_.spacing);
  table.intervals = grid_.knots - 1;
  table.net_size = function_size();
  table.padding_offset = table.net_size - padding;
  table.rows = table_.data();
  return table;
}

template <class Real> void RadialTable<Real>::flush()
{
  if (direct_sweep_ || !sums_in_float32<Real>) return;
  const long size = function_size();
  output_gradient_.resize(3L * rows() * channels_);
  kernels::sum_copies(table_gradient_.data(), copies_.stride, copies_);
  for (std::size_t k = 0; k < knots_.size(); ++k) {
    kernels::table_gradient(table_gradient_.data() + k * size, grid_.knots, num_padding(),
                            channels_, width_, output_gradient_.data());
    kernels::add_converted(output_gradient_.data(), static_cast<long>(output_gradient_.size()),
                           knots_[k].gradient.data());
  }
  kernels::clear(table_gradient_.data(), table_gradient_.size() * sizeof(Real));
}

template <class Real>
void RadialTable<Real>::end_gradient(const double *parameters, double *gradient)
{
  if (direct_sweep_) return;
  flush();
  const long size = function_size();
  if (!sums_in_float32<Real>) kernels::sum_copies(table_gradient_.data(), copies_.stride, copies_);
  for (std::size_t k = 0; k < knots_.size(); ++k) {
    double *g = knots_[k].gradient.data();
    if (!sums_in_float32<Real>)
      kernels::table_gradient(table_gradient_.data() + k * size, grid_.knots, num_padding(),
                              channels_, width_, g);
    // the jets at the knots still stand: the table was made from them
    functions_->reverse(static_cast<int>(k), Place::knots, parameters, rows(), 2, g, gradient);
  }
}

template <class Real> std::vector<double> RadialTable<Real>::state() const
{
  return {grid_.spacing, static_cast<double>(grid_.knots), direct_ ? 1.0 : 0.0,
          static_cast<double>(builds_until_trial_)};
}

template <class Real> void RadialTable<Real>::set_state(const std::vector<double> &state)
{
  grid_.spacing = state.at(0);
  grid_.knots = static_cast<int>(state.at(1));
  direct_ = state.at(2) != 0.0;
  builds_until_trial_ = static_cast<int>(state.at(3));
}

template <class Real> std::size_t RadialTable<Real>::memory_bytes() const
{
  std::size_t n = table_.memory_bytes() + table_gradient_.memory_bytes() +
                  chunk_rows_.memory_bytes() + chunk_gradient_.memory_bytes() +
                  arguments_.memory_bytes() + input_.memory_bytes() + knot_input_.memory_bytes() +
                  output_gradient_.memory_bytes() + functions_->memory_bytes() +
                  (knot_arguments_.capacity() + host_input_.capacity()) * sizeof(double);
  for (const auto &knots : knots_) n += knots.gradient.memory_bytes();
  return n;
}

template class RadialTable<double>;
template class RadialTable<float>;

}  // namespace dptrain
