#include "dptrain/uncertainty/bar_calibration.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace dptrain {

namespace {

// Ratios that stand for those of all atoms of a type in a configuration.
constexpr std::size_t most_ratios = 64;
// Configurations whose distances are typical of what comes.
constexpr std::size_t typical = 10;
// Errors of an atom or two say little about the part that is above the bars: from so many on the factor follows at half its pace.
constexpr double half_pace = 4.0;

// The smallest value that a part of the weights does not exceed. values: {value, weight}, not empty.
double quantile(std::vector<std::pair<double, double>> values, double part)
{
  std::sort(values.begin(), values.end());
  double all = 0.0, sum = 0.0;
  for (const auto &[value, weight] : values) all += weight;
  for (const auto &[value, weight] : values) {
    sum += weight;
    if (sum >= part * all) return value;
  }
  return values.back().first;
}

// Ranks from 0; equal numbers get their mean.
std::vector<double> ranks(const std::vector<double> &values)
{
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t k = begin; k < end; ++k)
      result[order[k]] = 0.5 * static_cast<double>(begin + end - 1);
    begin = end;
  }
  return result;
}

}  // namespace

void AtomErrors::add(int atom_type, double atom_distance, const double *force, const double *label)
{
  double square = 0.0;
  for (int c = 0; c < 3; ++c) square += (force[c] - label[c]) * (force[c] - label[c]);
  type.push_back(atom_type);
  distance.push_back(atom_distance);
  error.push_back(std::sqrt(square));
}

void BarCalibration::add(const AtomErrors &atoms)
{
  ++count_;
  const int ntypes =
      atoms.type.empty() ? 0 : *std::max_element(atoms.type.begin(), atoms.type.end()) + 1;
  const std::vector<double> scale =
      memory_.gain > 0.0 ? scales(ntypes) : std::vector<double>(ntypes, 0.0);
  shift_.resize(std::max<std::size_t>(shift_.size(), ntypes), 0.0);
  Sample sample;
  for (int t = 0; t < ntypes; ++t) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < atoms.type.size(); ++i)
      if (atoms.type[i] == t && atoms.distance[i] > 0.0 && std::isfinite(atoms.distance[i]) &&
          std::isfinite(atoms.error[i]))
        ratios.push_back(atoms.error[i] / atoms.distance[i]);
    std::sort(ratios.begin(), ratios.end());
    const std::size_t n = ratios.size(), kept = std::min(n, most_ratios);
    if (n > 0 && scale[t] > 0.0) {
      const auto below = std::upper_bound(ratios.begin(), ratios.end(), scale[t]) - ratios.begin();
      const double atoms_of_type = static_cast<double>(n);
      shift_[t] += memory_.gain * (coverage_ - static_cast<double>(below) / atoms_of_type) *
                   atoms_of_type / (atoms_of_type + half_pace);
    }
    for (std::size_t k = 0; k < kept; ++k) {
      sample.type.push_back(t);
      // the middle of each part
      sample.ratio.push_back(ratios[(2 * k + 1) * n / (2 * kept)]);
    }
    sample.atoms.push_back(static_cast<std::int64_t>(n));
  }
  if (sample.type.empty()) return;
  KnownDistances distances;
  distances.add(atoms.distance);
  sample.largest = distances.largest();
  sample.rms = distances.largest_frame();
  samples_.push_back(std::move(sample));
  if (samples_.size() > memory_.latest) samples_.erase(samples_.begin());
}

void BarCalibration::rescale(double factor)
{
  for (Sample &sample : samples_) {
    for (double &ratio : sample.ratio) ratio *= factor;
    sample.largest /= factor;
    sample.rms /= factor;
  }
}

// 0: of this type there were no atoms.
std::vector<double> BarCalibration::scales(std::size_t ntypes) const
{
  std::vector<std::vector<std::pair<double, double>>> ratios(ntypes);
  double weight = 1.0;
  for (auto sample = samples_.rbegin(); sample != samples_.rend(); ++sample) {
    for (std::size_t k = 0; k < sample->ratio.size(); ++k)
      if (static_cast<std::size_t>(sample->type[k]) < ntypes)
        ratios[sample->type[k]].emplace_back(sample->ratio[k], weight);
    weight *= memory_.kept;
  }
  std::vector<double> scales(ntypes, 0.0);
  for (std::size_t t = 0; t < ntypes; ++t)
    if (!ratios[t].empty())
      scales[t] = quantile(std::move(ratios[t]), coverage_) *
                  (t < shift_.size() ? std::exp(shift_[t]) : 1.0);
  return scales;
}

ErrorBars BarCalibration::bars(std::size_t ntypes, const std::string &source) const
{
  ErrorBars unknown;
  unknown.coverage = coverage_;
  if (samples_.empty()) return unknown;
  ErrorBars bars = unknown;
  bars.atoms.assign(ntypes, 0);
  for (const Sample &sample : samples_)
    for (std::size_t t = 0; t < sample.atoms.size(); ++t) bars.atoms.at(t) += sample.atoms[t];
  bars.scale = scales(ntypes);
  const double largest = *std::max_element(bars.scale.begin(), bars.scale.end());
  if (!(largest > 0.0)) return unknown;
  for (double &scale : bars.scale)
    if (!(scale > 0.0)) scale = largest;
  const auto median_of_latest = [&](double Sample::*value) {
    std::vector<double> values;
    for (auto sample = samples_.rbegin(); sample != samples_.rend() && values.size() < typical;
         ++sample)
      values.push_back((*sample).*value);
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
  };
  bars.known_atom = median_of_latest(&Sample::largest);
  bars.known_frame = median_of_latest(&Sample::rms);
  bars.frames = static_cast<std::int64_t>(samples_.size());
  bars.source = fmt::format("{} {}", bars.frames, source);
  return bars;
}

std::string BarCalibration::damage() const
{
  if (count_ < 0 || samples_.size() > memory_.latest) return "a number of labels is wrong";
  for (const double shift : shift_)
    if (!std::isfinite(shift)) return "a shift of the bars is not finite";
  for (const Sample &sample : samples_) {
    if (sample.type.size() != sample.ratio.size()) return "types and ratios do not fit";
    if (!std::isfinite(sample.largest) || !std::isfinite(sample.rms))
      return "a distance is not finite";
    for (const double ratio : sample.ratio)
      if (!std::isfinite(ratio) || ratio < 0.0) return "a ratio is negative or not finite";
    for (const int type : sample.type)
      if (type < 0 || static_cast<std::size_t>(type) >= sample.atoms.size())
        return "a type is not there";
  }
  return "";
}

void BarCoverage::add(const AtomErrors &atoms)
{
  for (std::size_t i = 0; i < atoms.bar.size(); ++i) {
    const auto type = static_cast<std::size_t>(atoms.type[i]);
    inside_.resize(std::max(inside_.size(), type + 1), 0);
    all_.resize(inside_.size(), 0);
    ++all_[type];
    inside_[type] += atoms.error[i] <= atoms.bar[i];
  }
}

std::vector<double> BarCoverage::numbers(std::size_t ntypes) const
{
  std::vector<double> numbers(2 * std::max(ntypes, all_.size()), 0.0);
  for (std::size_t t = 0; t < all_.size(); ++t) {
    numbers.at(2 * t) = static_cast<double>(inside_[t]);
    numbers.at(2 * t + 1) = static_cast<double>(all_[t]);
  }
  return numbers;
}

void BarCoverage::add(const std::vector<double> &numbers)
{
  inside_.resize(std::max(inside_.size(), numbers.size() / 2), 0);
  all_.resize(inside_.size(), 0);
  for (std::size_t t = 0; 2 * t < numbers.size(); ++t) {
    inside_[t] += static_cast<std::int64_t>(numbers[2 * t]);
    all_[t] += static_cast<std::int64_t>(numbers[2 * t + 1]);
  }
}

std::int64_t BarCoverage::atoms() const
{
  return std::accumulate(all_.begin(), all_.end(), std::int64_t(0));
}

double BarCoverage::found() const
{
  const auto inside = std::accumulate(inside_.begin(), inside_.end(), std::int64_t(0));
  return atoms() > 0 ? static_cast<double>(inside) / static_cast<double>(atoms()) : 0.0;
}

std::string BarCoverage::text(const ErrorBars &bars, const std::vector<std::string> &type_map) const
{
  std::string types;
  for (std::size_t t = 0; t < all_.size(); ++t)
    if (all_[t] > 0)
      types += fmt::format("{}{} {:.0f} %", types.empty() ? "" : ", ", type_map[t],
                           100.0 * static_cast<double>(inside_[t]) / static_cast<double>(all_[t]));
  return fmt::format("promised {:.3g} %, found {:.0f} % of {} atoms ({})", 100.0 * bars.coverage,
                     100.0 * found(), atoms(), types);
}

std::string BarCoverage::damage() const
{
  if (inside_.size() != all_.size()) return "numbers of atoms do not fit";
  for (std::size_t t = 0; t < all_.size(); ++t)
    if (inside_[t] < 0 || inside_[t] > all_[t]) return "a number of atoms is wrong";
  return "";
}

double rank_correlation(const std::vector<double> &a, const std::vector<double> &b)
{
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = 0.5 * (static_cast<double>(x.size()) - 1.0);
  double xx = 0.0, xy = 0.0, yy = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    xx += (x[k] - mean) * (x[k] - mean);
    xy += (x[k] - mean) * (y[k] - mean);
    yy += (y[k] - mean) * (y[k] - mean);
  }
  return xx > 0.0 && yy > 0.0 ? xy / std::sqrt(xx * yy) : 0.0;
}

}  // namespace dptrain
