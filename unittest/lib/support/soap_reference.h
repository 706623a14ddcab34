#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace dptrain::test {

/// SOAP written out with loops, for comparison: means of G G^T and G^T G, eigenvectors by Jacobi rotations at the first
/// step (which changes nothing), each mean cut to diagonal blocks of left_blocks and right_blocks rows, one power step of the shifted matrix with Gram-Schmidt at every `frequency`-th, the mean of the gradient in the original basis.
struct SoapReference {
  using Matrix = std::vector<std::vector<double>>;

  using Lengths = std::vector<int>;

  SoapReference(Lengths left, Lengths right, int frequency, double beta) :
      SoapReference(std::accumulate(left.begin(), left.end(), 0),
                    std::accumulate(right.begin(), right.end(), 0), left, right, frequency, beta)
  {
  }

  SoapReference(int rows, int cols, Lengths left, Lengths right, int frequency, double beta) :
      m(zeros(rows, cols)),
      v(zeros(rows, cols)),
      left_blocks(std::move(left)),
      right_blocks(std::move(right)),
      frequency(frequency),
      beta(beta),
      l(zeros(rows, rows)),
      r(zeros(cols, cols)),
      ql(unit(rows)),
      qr(unit(cols))
  {
  }

  static Matrix zeros(int rows, int cols) { return Matrix(rows, std::vector<double>(cols, 0.0)); }
  static Matrix unit(int n)
  {
    Matrix q = zeros(n, n);
    for (int i = 0; i < n; ++i) q[i][i] = 1.0;
    return q;
  }
  static Matrix product(const Matrix &a, const Matrix &b)
  {
    Matrix c = zeros(a.size(), b[0].size());
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < b[0].size(); ++j)
        for (std::size_t k = 0; k < b.size(); ++k) c[i][j] += a[i][k] * b[k][j];
    return c;
  }
  static Matrix transposed(const Matrix &a)
  {
    Matrix t = zeros(a[0].size(), a.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
    return t;
  }
  static Matrix shifted(Matrix a)
  {
    double trace = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) trace += a[i][i];
    for (std::size_t i = 0; i < a.size(); ++i) a[i][i] += std::pow(0x1p-52, 2.0 / 3.0) * trace;
    return a;
  }
  static void average(Matrix &mean, const Matrix &a, double beta)
  {
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a[0].size(); ++j)
        mean[i][j] = beta * mean[i][j] + (1.0 - beta) * a[i][j];
  }

  /// What is left where all but these diagonal blocks is zero.
  static Matrix cut(Matrix a, const Lengths &lengths)
  {
    std::vector<int> block;
    for (std::size_t k = 0; k < lengths.size(); ++k)
      block.insert(block.end(), lengths[k], static_cast<int>(k));
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a.size(); ++j)
        if (block[i] != block[j]) a[i][j] = 0.0;
    return a;
  }

  /// Eigenvectors as columns, largest eigenvalue first.
  static Matrix eigenvectors(Matrix a)
  {
    const int n = static_cast<int>(a.size());
    Matrix q = unit(n);
    for (int sweep = 0; sweep < 60; ++sweep)
      for (int i = 0; i < n; ++i)
        for (int j = i + 1; j < n; ++j) {
          const double angle = 0.5 * std::atan2(2.0 * a[i][j], a[j][j] - a[i][i]);
          Matrix turn = unit(n);
          turn[i][i] = turn[j][j] = std::cos(angle);
          turn[i][j] = std::sin(angle);
          turn[j][i] = -std::sin(angle);
          a = product(product(transposed(turn), a), turn);
          q = product(q, turn);
        }
    std::vector<std::pair<double, int>> order;
    for (int k = 0; k < n; ++k) order.emplace_back(-a[k][k], k);
    std::sort(order.begin(), order.end());
    Matrix sorted = zeros(n, n);
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < n; ++i) sorted[i][k] = q[i][order[k].second];
    return sorted;
  }

  /// Columns made orthonormal one after the other (twice, for the last digits).
  static Matrix orthonormal(Matrix a)
  {
    const std::size_t n = a.size();
    for (std::size_t k = 0; k < n; ++k) {
      for (int repeat = 0; repeat < 2; ++repeat)
        for (std::size_t j = 0; j < k; ++j) {
          double overlap = 0.0;
          for (std::size_t i = 0; i < n; ++i) overlap += a[i][j] * a[i][k];
          for (std::size_t i = 0; i < n; ++i) a[i][k] -= overlap * a[i][j];
        }
      double norm = 0.0;
      for (std::size_t i = 0; i < n; ++i) norm += a[i][k] * a[i][k];
      for (std::size_t i = 0; i < n; ++i) a[i][k] /= std::sqrt(norm);
    }
    return a;
  }

  /// The change to subtract for gradient g at learning rate lr.
  Matrix step(const Matrix &g, double lr)
  {
    ++t;
    average(l, cut(product(g, transposed(g)), left_blocks), beta);
    average(r, cut(product(transposed(g), g), right_blocks), beta);
    if (t == 1) {
      ql = eigenvectors(l);
      qr = eigenvectors(r);
      return zeros(g.size(), g[0].size());
    }
    if (t % frequency == 0) {
      ql = orthonormal(product(shifted(l), ql));
      qr = orthonormal(product(shifted(r), qr));
    }
    average(m, g, beta);
    Matrix change = product(product(transposed(ql), m), qr);
    const Matrix rotated = product(product(transposed(ql), g), qr);
    const double correction = 1.0 - std::pow(beta, t - 1);
    for (std::size_t i = 0; i < g.size(); ++i)
      for (std::size_t j = 0; j < g[0].size(); ++j) {
        v[i][j] = beta * v[i][j] + (1.0 - beta) * rotated[i][j] * rotated[i][j];
        change[i][j] *= lr / correction / (std::sqrt(v[i][j] / correction) + 1e-8);
      }
    return product(product(ql, change), transposed(qr));
  }

  Matrix m, v;
  Lengths left_blocks, right_blocks;
  int frequency, t = 0;
  double beta;
  Matrix l, r, ql, qr;
};

}  // namespace dptrain::test
