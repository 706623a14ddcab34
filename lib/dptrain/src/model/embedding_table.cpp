#include "model/embedding_table.h"

#include <algorithm>
#include <cmath>

#include "kernels/contraction.h"

namespace dptrain {
namespace {

constexpr int first_knots = 257;      // 256 intervals
constexpr int most_knots = 16385;     // beyond: the net is not smooth enough for a table
constexpr double tolerance = 1e-12;   // wanted, relative to the largest value
constexpr double acceptable = 1e-10;  // worse than this at most_knots: direct evaluation
constexpr int builds_between_checks = 20;
constexpr double far_outside =
    4.0;  // in units of the first range: such arguments are not tabulated
constexpr int channel_multiple = 8;  // rows are padded to whole vectors

int padded(int channels)
{
  return (channels + channel_multiple - 1) / channel_multiple * channel_multiple;
}

// rows [n][3][width] <- jets [order + 1][n][channels]
void pack_rows(const double *jets, int order, int n, int channels, int width, double *rows)
{
  for (int o = 0; o <= order; ++o)
    for (int k = 0; k < n; ++k)
      std::copy_n(jets + (static_cast<long>(o) * n + k) * channels, channels,
                  rows + (static_cast<long>(k) * 3 + o) * width);
}

// The transpose of pack_rows.
void unpack_rows(const double *rows, int order, int n, int channels, int width, double *jets)
{
  for (int o = 0; o <= order; ++o)
    for (int k = 0; k < n; ++k)
      std::copy_n(rows + (static_cast<long>(k) * 3 + o) * width, channels,
                  jets + (static_cast<long>(o) * n + k) * channels);
}

}  // namespace

EmbeddingTable::EmbeddingTable(std::vector<Mlp> nets, double origin, double upper, int knots) :
    nets_(std::move(nets)), origin_(origin), fixed_(knots > 0)
{
  channels_ = nets_.front().outputs();
  width_ = padded(channels_);
  knots_ = fixed_ ? knots : first_knots;
  spacing_ = (upper - origin) / (knots_ - 1);
  limit_ = origin + far_outside * (upper - origin);
  for (const auto &net : nets_)
    for (const auto &layer : net.layers())
      if (!layer.activation.smooth()) direct_ = true;
}

std::vector<double> EmbeddingTable::knot_arguments() const
{
  std::vector<double> x(knots_);
  for (int k = 0; k < knots_; ++k) x[k] = origin_ + k * spacing_;
  return x;
}

const double *EmbeddingTable::jets(const double *parameters, int net,
                                   const std::vector<double> &arguments, double step, int order)
{
  const std::size_t n = arguments.size();
  input_.assign((order + 1) * n, 0.0);
  std::copy(arguments.begin(), arguments.end(), input_.begin());
  if (order > 0) std::fill_n(input_.begin() + n, n, step);
  return nets_[net].forward(parameters, static_cast<int>(n), order, input_.data(), workspace_);
}

// In units of the spacing the jets of the net along the step h are the rows of the table: G, h G', h^2 G''.
void EmbeddingTable::fill(const double *parameters)
{
  const auto arguments = knot_arguments();
  const long stride = 3L * knots_ * width_;
  rows_.assign(stride * nets_.size(), 0.0);
  for (std::size_t net = 0; net < nets_.size(); ++net)
    pack_rows(jets(parameters, static_cast<int>(net), arguments, spacing_, 2), 2, knots_, channels_,
              width_, rows_.data() + net * stride);
}

void EmbeddingTable::build(const double *parameters)
{
  if (direct_) return;
  fill(parameters);
  if (fixed_ || builds_until_check_-- > 0) return;
  choose_knots(parameters);
  builds_until_check_ = builds_between_checks - 1;
}

void EmbeddingTable::choose_knots(const double *parameters)
{
  for (;;) {
    const auto [value, derivative] = error(parameters);
    const double worst = std::max(value, derivative);
    if (worst <= tolerance) return;
    if (2 * knots_ - 1 > most_knots) {
      // negated, so that NaN parameters do not switch to the slow way
      direct_ = worst > acceptable;
      return;
    }
    knots_ = 2 * knots_ - 1;
    spacing_ *= 0.5;
    fill(parameters);
  }
}

std::pair<double, double> EmbeddingTable::error(const double *parameters)
{
  std::pair<double, double> worst{0.0, 0.0};
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    const auto [value, derivative] = net_error(parameters, static_cast<int>(net));
    worst = {std::max(worst.first, value), std::max(worst.second, derivative)};
  }
  return worst;
}

// Reads the table through the kernels that MD and training use: one edge per point with row (1, 0, 0, 0).
std::pair<double, double> EmbeddingTable::net_error(const double *parameters, int net)
{
  const double offset = 1.0 / std::sqrt(20.0);
  const double points[3] = {0.5, 0.5 - offset, 0.5 + offset};
  const int n = 3 * (knots_ - 1);
  std::vector<double> arguments(n), one(n, 1.0), zero(n, 0.0);
  std::vector<int> centers(n, 0), first(n + 1), nets(n, net);
  for (int k = 0; k < n; ++k) arguments[k] = origin_ + (k / 3 + points[k % 3]) * spacing_;
  for (int k = 0; k <= n; ++k) first[k] = k;
  kernels::Edges e;
  e.num_centers = e.num_edges = n;
  e.centers = centers.data();
  e.first = first.data();
  e.net = nets.data();
  e.row[0] = one.data();
  e.row[1] = e.row[2] = e.row[3] = zero.data();
  e.arg = arguments.data();
  resize_reads(n);
  view_ = {origin_, spacing_, knots_, width_, rows_.data()};
  kernels::table_locate(e, view_, reads_);
  std::vector<double> t(4L * n * width_), t_dot(4L * n * width_);
  double *const still[4] = {zero.data(), zero.data(), zero.data(), zero.data()};
  kernels::contraction_jvp(e, view_, reads_, 1.0, still, one.data(), t.data(), t_dot.data());

  const double *exact = jets(parameters, net, arguments, 1.0, 1);
  double largest[2] = {0.0, 0.0}, difference[2] = {0.0, 0.0};
  for (int k = 0; k < n; ++k)
    for (int m = 0; m < channels_; ++m) {
      const double g = exact[static_cast<long>(k) * channels_ + m];
      const double dg = exact[static_cast<long>(n + k) * channels_ + m];
      largest[0] = std::max(largest[0], std::abs(g));
      largest[1] = std::max(largest[1], std::abs(dg));
      if (k % 3 == 0)
        difference[0] = std::max(difference[0], std::abs(t[4L * k * width_ + m] - g));
      else
        difference[1] = std::max(difference[1], std::abs(t_dot[4L * k * width_ + m] - dg));
    }
  // an almost constant net has a derivative of rounding errors only: its scale is then that of G over the range
  largest[1] = std::max(largest[1], largest[0] / (spacing_ * (knots_ - 1)));
  const auto ratio = [](double d, double scale) { return scale > 0.0 ? d / scale : 0.0; };
  return {ratio(difference[0], largest[0]), ratio(difference[1], largest[1])};
}

void EmbeddingTable::extend(const double *parameters, double upper)
{
  if (direct_ || upper <= grid_end() || upper > limit_) return;
  knots_ = static_cast<int>(std::ceil((upper - origin_) / spacing_)) + 1;
  fill(parameters);
}

void EmbeddingTable::resize_reads(int num_edges)
{
  read_knot_.resize(num_edges);
  reads_.knot = read_knot_.data();
  for (int k = 0; k < 6; ++k) {
    read_weight_[k].resize(num_edges);
    read_dweight_[k].resize(num_edges);
    reads_.weight[k] = read_weight_[k].data();
    reads_.dweight[k] = read_dweight_[k].data();
  }
}

void EmbeddingTable::locate(const double *parameters, const kernels::Edges &edges)
{
  resize_reads(edges.num_edges);
  chunk_direct_ = direct_;
  if (!direct_ && edges.num_edges > 0) {
    const double largest = *std::max_element(edges.arg, edges.arg + edges.num_edges);
    // growing inside a gradient sweep would move the knots that it has filled
    if (!sweep_) extend(parameters, largest);
    chunk_direct_ = largest > grid_end();
  }
  if (chunk_direct_) return locate_direct(parameters, edges);
  view_ = {origin_, spacing_, knots_, width_, rows_.data()};
  kernels::table_locate(edges, view_, reads_);
}

// Each edge is a knot: its rows are (G, G', 0), read at u = 0 with unit spacing.
void EmbeddingTable::locate_direct(const double *parameters, const kernels::Edges &edges)
{
  edges_of_net_.resize(nets_.size());
  arguments_of_net_.resize(nets_.size());
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    edges_of_net_[net].clear();
    arguments_of_net_[net].clear();
  }
  for (int k = 0; k < edges.num_edges; ++k) {
    edges_of_net_[edges.net[k]].push_back(k);
    arguments_of_net_[edges.net[k]].push_back(edges.arg[k]);
  }
  const long size = 3L * (edges.num_edges + 1) * width_;  // one more: a read spans two knots
  chunk_rows_.assign(size, 0.0);
  if (sweep_) chunk_gradient_.assign(size, 0.0);
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    const int n = static_cast<int>(edges_of_net_[net].size());
    if (n == 0) continue;
    const double *values = jets(parameters, static_cast<int>(net), arguments_of_net_[net], 1.0, 1);
    for (int k = 0; k < n; ++k)
      for (int o = 0; o < 2; ++o)
        std::copy_n(values + (static_cast<long>(o) * n + k) * channels_, channels_,
                    chunk_rows_.data() + (3L * edges_of_net_[net][k] + o) * width_);
  }
  for (int l = 0; l < 6; ++l) {
    std::fill(read_weight_[l].begin(), read_weight_[l].end(), l == 0 ? 1.0 : 0.0);
    std::fill(read_dweight_[l].begin(), read_dweight_[l].end(), l == 1 ? 1.0 : 0.0);
  }
  for (int k = 0; k < edges.num_edges; ++k) read_knot_[k] = k;
  view_ = {0.0, 1.0, edges.num_edges + 1, width_, chunk_rows_.data()};
}

void EmbeddingTable::begin_gradient()
{
  sweep_ = true;
  knot_gradient_.assign(direct_ ? 0 : rows_.size(), 0.0);
}

void EmbeddingTable::end_chunk(const double *parameters, double *gradient)
{
  if (!chunk_direct_) return;
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    const int n = static_cast<int>(edges_of_net_[net].size());
    if (n == 0) continue;
    jets(parameters, static_cast<int>(net), arguments_of_net_[net], 1.0, 1);
    output_gradient_.resize(2L * n * channels_);
    for (int k = 0; k < n; ++k)
      for (int o = 0; o < 2; ++o)
        std::copy_n(chunk_gradient_.data() + (3L * edges_of_net_[net][k] + o) * width_, channels_,
                    output_gradient_.data() + (static_cast<long>(o) * n + k) * channels_);
    nets_[net].reverse(parameters, n, 1, output_gradient_.data(), workspace_, gradient);
  }
}

// Knots that no edge has read stay out: a table reaches further in than the atoms of most frames.
void EmbeddingTable::end_gradient(const double *parameters, double *gradient)
{
  sweep_ = false;
  if (direct_) return;
  const auto arguments = knot_arguments();
  const long knot_size = 3L * width_;
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    const double *rows = knot_gradient_.data() + net * knots_ * knot_size;
    const auto is_read = [&](int k) {
      return std::any_of(rows + k * knot_size, rows + (k + 1) * knot_size,
                         [](double g) { return g != 0.0; });
    };
    int begin = 0, end = knots_;
    while (end > begin && !is_read(end - 1)) --end;
    while (begin < end && !is_read(begin)) ++begin;
    if (begin == end) continue;
    jets(parameters, static_cast<int>(net), {arguments.begin() + begin, arguments.begin() + end},
         spacing_, 2);
    output_gradient_.resize(3L * (end - begin) * channels_);
    unpack_rows(rows + begin * knot_size, 2, end - begin, channels_, width_,
                output_gradient_.data());
    nets_[net].reverse(parameters, end - begin, 2, output_gradient_.data(), workspace_, gradient);
  }
}

std::vector<double> EmbeddingTable::state() const
{
  return {spacing_, static_cast<double>(knots_), direct_ ? 1.0 : 0.0,
          static_cast<double>(builds_until_check_)};
}

void EmbeddingTable::set_state(const std::vector<double> &state)
{
  spacing_ = state.at(0);
  knots_ = static_cast<int>(state.at(1));
  direct_ = state.at(2) != 0.0;
  builds_until_check_ = static_cast<int>(state.at(3));
}

std::size_t EmbeddingTable::memory_bytes() const
{
  std::size_t n = rows_.capacity() + knot_gradient_.capacity() + chunk_rows_.capacity() +
                  chunk_gradient_.capacity() + input_.capacity() + output_gradient_.capacity();
  for (int k = 0; k < 6; ++k) n += read_weight_[k].capacity() + read_dweight_[k].capacity();
  return n * sizeof(double) + workspace_.memory_bytes();
}

}  // namespace dptrain
