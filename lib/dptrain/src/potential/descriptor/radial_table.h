#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "kernels/contraction.h"
#include "kernels/memory.h"
#include "kernels/table.h"
#include "potential/descriptor/radial_functions.h"

namespace dptrain {

/// The knots of a table: uniform in the argument, and how their number is found.
struct TableGrid {
  double origin = 0.0, spacing = 1.0;
  int knots = 0;
  bool fixed = false;  ///< the number was given, nothing is checked
  double limit = 0.0;  ///< arguments beyond are not tabulated
  double end() const { return origin + spacing * (knots - 1); }
};

/// Radial functions read through a quintic table whose knots carry their exact jets, computed in float64. The gradient goes
/// back to the functions' parameters through the knots.
///
/// Where no table can serve (relu, functions that the check rejects, an argument far outside) the functions are evaluated at
/// every edge instead: each slot of a chunk becomes an interval of its own, so the same kernels serve both ways.
template <class Real> class RadialTable {
 public:
  /// `padding`: arguments of empty slots, if there are any; `lower`: the smallest of all arguments; `upper`: the largest one
  /// that is expected (the table grows beyond it). `knots` = 0: chosen by the check; otherwise fixed for this range.
  RadialTable(std::unique_ptr<RadialFunctions> functions, std::vector<double> padding, double lower,
              double upper, int knots);

  /// Fills the present knots for new parameters (memory of the kernels).
  void build(const double *parameters);
  /// After build() for the same parameters. At the first call and then every few, table and functions are compared where the
  /// interpolation error is largest (G at u = 1/2, G' at u = 1/2 +- 1/sqrt(20)), and knots added until they agree; now and then,
  /// knots are removed as long as they do.
  void check(const double *parameters);
  /// What kernels are given of the table and may change from build to build.
  std::vector<double> arguments() const
  {
    return {grid_.spacing, static_cast<double>(grid_.knots), direct_ ? 1.0 : 0.0};
  }
  /// Makes the table reach `upper` by knots at the same spacing, unless that is far outside. True if it changed.
  bool extend(const double *parameters, double upper);
  /// Whether arguments up to `upper` can be read. Beyond, a sweep must be direct.
  bool reaches(double upper) const { return direct_ || upper <= grid_.end(); }

  /// A sweep over chunks; direct: all its chunks evaluate the functions at every edge.
  void begin_sweep(bool direct, bool with_gradient);
  /// Sets c.table, after the edges of c are known.
  template <class Rows>
  void set_table(const double *parameters, kernels::Contraction<Real, Rows> &c, int num_slots)
  {
    c.table = table(num_slots);
    if (!direct_sweep_) return;
    kernels::edge_arguments(c, arguments_.resize(num_slots));
    fill_direct(parameters, c.edges, c.first_net, c.net_step, c.table);
    c.table.rows = chunk_rows_.data();
  }
  /// Where the chunk adds its part of the gradient, laid out like its table.
  Real *table_gradient() { return direct_sweep_ ? chunk_gradient_.data() : table_gradient_.data(); }
  /// How many copies of it there are.
  kernels::Copies gradient_copies() const { return direct_sweep_ ? kernels::Copies() : copies_; }
  /// Adds what a direct chunk has left to `gradient` (flat buffer, memory of the kernels).
  void end_chunk(const double *parameters, double *gradient);
  /// float32 sums of the table's gradient move into float64 ones: to be called every few thousand centers.
  void flush();
  /// Carries the rest back through the functions.
  void end_gradient(const double *parameters, double *gradient);

  bool direct() const { return direct_; }
  int knots() const { return grid_.knots; }
  int width() const { return width_; }
  /// Memory for rows that a slot of a direct sweep needs.
  long bytes_per_direct_slot() const
  {
    return static_cast<long>(kernels::rows_per_interval<Real>) * width_ * sizeof(Real);
  }
  /// Largest difference between table and functions, relative to the largest value: of G and of G'. Interpolation only.
  std::pair<double, double> error(const double *parameters);

  std::vector<double> state() const;
  void set_state(const std::vector<double> &state);
  std::size_t memory_bytes() const;

 private:
  using Place = RadialFunctions::Place;
  /// What belongs to a function.
  struct Knots {
    const double *jets = nullptr;     // at the knots and the padding arguments
    kernels::Array<double> gradient;  // float64 sums of the gradient by them
  };
  int num_padding() const { return static_cast<int>(padding_.size()); }
  int rows() const { return grid_.knots + num_padding(); }
  long function_size() const
  {
    return kernels::table_net_size<Real>(grid_.knots, num_padding(), width_);
  }
  kernels::Table<Real> table(int num_slots) const;
  void fill(const double *parameters);
  void fill_direct(const double *parameters, const kernels::Edges<Real> &edges, int first_net,
                   int net_step, const kernels::Table<Real> &table);
  long direct_row(std::size_t net, std::size_t e, long padding_offset) const;
  void choose_knots(const double *parameters, bool try_fewer);
  void remove_knots(const double *parameters);
  void resize(double factor);
  double largest_error(const double *parameters);
  void set_input(const std::vector<double> &arguments, double step, int order,
                 kernels::Array<double> &input);
  const double *jets(const double *parameters, int k, Place place,
                     const std::vector<double> &arguments, double step, int order);
  std::pair<double, double> function_error(const double *parameters, int k);

  std::unique_ptr<RadialFunctions> functions_;
  std::vector<Knots> knots_;  // by function
  std::vector<double> padding_;
  int channels_ = 0, width_ = 0;
  TableGrid grid_;
  bool direct_ = false;
  int builds_until_trial_ = 0;

  kernels::Array<Real> table_, table_gradient_;
  kernels::Copies copies_;                           // of table_gradient_
  std::vector<double> knot_arguments_, host_input_;  // kept: a build takes no memory
  kernels::Array<double> input_, output_gradient_;
  kernels::Array<double> knot_input_;  // of all knots and padding arguments
  std::vector<double> knot_input_of_;  // arguments() of the grid that it is for

  // of a direct sweep
  bool direct_sweep_ = false, with_gradient_ = false;
  kernels::Array<Real> arguments_, chunk_rows_, chunk_gradient_;
  std::vector<std::vector<int>> slots_of_net_;
  std::vector<std::vector<double>> arguments_of_net_;
};

}  // namespace dptrain
