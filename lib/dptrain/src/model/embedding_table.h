#pragma once

#include <utility>
#include <vector>

#include "kernels/edges.h"
#include "kernels/table.h"
#include "model/mlp.h"

namespace dptrain {

/// The embedding nets of a model as functions of one scalar argument, read through a quintic Hermite table: knots uniform in
/// the argument, values and derivatives from exact jets of the nets in float64. The gradient goes back to the nets through
/// the knots.
///
/// Where no table can serve (relu, a net that the check rejects, an argument far outside) the nets are evaluated at every
/// edge of a chunk instead: each edge becomes a knot of its own, so the same kernels serve both ways.
class EmbeddingTable {
 public:
  EmbeddingTable() = default;
  /// `origin`: the smallest argument that can occur; `upper`: the largest that is expected (the table grows beyond it).
  /// `knots` = 0: chosen by the check; otherwise fixed for the range [origin, upper].
  EmbeddingTable(std::vector<Mlp> nets, double origin, double upper, int knots);

  /// Rebuilds the table for new parameters. At the first build and then every few, table and nets are compared where the
  /// interpolation error is largest (G at u = 1/2, G' at u = 1/2 +- 1/sqrt(20)), and the knots doubled until they agree.
  void build(const double *parameters);
  /// Fills the present knots for these parameters, without a check.
  void refill(const double *parameters)
  {
    if (!direct_) fill(parameters);
  }
  /// Makes the table reach `upper` by knots at the same spacing, unless that is far outside.
  void extend(const double *parameters, double upper);

  /// Prepares reading at the arguments of a chunk: table() and reads() are valid until the next call.
  void locate(const double *parameters, const kernels::Edges &edges);
  const kernels::Table &table() const { return view_; }
  const kernels::TableReads &reads() const { return reads_; }

  /// A gradient sweep: begin, then for each chunk locate, add to knot_gradient(), end_chunk; end_gradient carries the rest
  /// back. Both ends add to `gradient` (flat parameter buffer).
  void begin_gradient();
  double *knot_gradient() { return chunk_direct_ ? chunk_gradient_.data() : knot_gradient_.data(); }
  void end_chunk(const double *parameters, double *gradient);
  void end_gradient(const double *parameters, double *gradient);

  bool direct() const { return direct_; }
  int knots() const { return knots_; }
  int width() const { return width_; }
  /// Largest difference between table and nets, relative to the largest value: of G and of G'.
  std::pair<double, double> error(const double *parameters);

  std::vector<double> state() const;
  void set_state(const std::vector<double> &state);
  std::size_t memory_bytes() const;

 private:
  double grid_end() const { return origin_ + spacing_ * (knots_ - 1); }
  void fill(const double *parameters);
  void choose_knots(const double *parameters);
  const double *jets(const double *parameters, int net, const std::vector<double> &arguments,
                     double step, int order);
  std::pair<double, double> net_error(const double *parameters, int net);
  void locate_direct(const double *parameters, const kernels::Edges &edges);
  void resize_reads(int num_edges);
  std::vector<double> knot_arguments() const;

  std::vector<Mlp> nets_;
  int channels_ = 0, width_ = 0;
  double origin_ = 0.0, spacing_ = 1.0, limit_ = 0.0;
  int knots_ = 0;
  bool fixed_ = false, direct_ = false;
  int builds_until_check_ = 0;

  bool sweep_ = false, chunk_direct_ = false;
  MlpWorkspace workspace_;
  std::vector<double> input_, output_gradient_;
  std::vector<double> rows_, knot_gradient_, chunk_rows_, chunk_gradient_;
  std::vector<std::vector<int>> edges_of_net_;
  std::vector<std::vector<double>> arguments_of_net_;
  std::vector<int> read_knot_;
  std::vector<double> read_weight_[6], read_dweight_[6];
  kernels::Table view_;
  kernels::TableReads reads_;
};

}  // namespace dptrain
