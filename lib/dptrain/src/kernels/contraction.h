#pragma once

#include "kernels/edges.h"
#include "kernels/environment.h"
#include "kernels/table.h"
#include "kernels/workers.h"

namespace dptrain::kernels {

/// What the contraction of one chunk is made of: T_i = scale * sum_e row_e (4) x G(arg_e) (width), all derived from the
/// distance vectors of the edges, plus the padding rows (p, 0, 0, 0) with G(p), in closed form.
template <class Real> struct Contraction {
  Edges<Real> edges;
  Environment<Real> environment;
  Table<Real> table;
  Real scale = 1;                   ///< 1 / sum(sel)
  Real padding_arg = 0;             ///< p of this center type
  int padding_row = 0;              ///< which of the table's padding rows
  int first_net = 0, net_step = 1;  ///< embedding net of neighbor type t: first_net + t * net_step
};

/// Where kernels add what several centers share. Forces and virials in float64. Each array is there once per copy.
struct ForceSums {
  double *force = nullptr;        ///< [atoms][3], -dE/dx
  double *virial = nullptr;       ///< [frames][9], sum F (x) x
  double *atom_virial = nullptr;  ///< optional [atoms][9], the pair term given to the neighbor
  int copies = 1;                 ///< see workers.h
  int atoms = 0, frames = 0;      ///< the sizes above: a copy follows the other
};

// Arrays over centers are [num_centers][4][width].

/// Value: T.
template <class Real> void contraction_value(const Contraction<Real> &c, Real *t);

/// Reverse: forces and virials from g_t = dE/dT: F_i += g, F_j -= g, W -= g (x) d with g = dE/d(r_j - r_i).
template <class Real>
void contraction_reverse(const Contraction<Real> &c, const Real *g_t, const ForceSums &sums);

/// JVP: the tangent of T along r [atoms][3] (or null) and the strains C [frames][9]: edge tangents r_j - r_i + C d, so
/// that the tangent of E is minus sum_k r_k . F_k + C : W.
template <class Real>
void contraction_jvp(const Contraction<Real> &c, const double *r, const double *strain,
                     Real *t_dot);

/// Parameter side of the reverse of S = c E - E_dot with the same tangents: adds dS/dtable to table_gradient (laid out like
/// the table) from g_t = dS/dT and e_t = dE/dT = -dS/dT_dot. This is the transpose of the interpolation. A direct chunk
/// takes one copy: there centers touch each other's rows, and rows are too many to be there more than once.
template <class Real>
void contraction_gradient(const Contraction<Real> &c, const double *r, const double *strain,
                          const Real *g_t, const Real *e_t, Real *table_gradient,
                          const Copies &copies = {});

/// The arguments of the embedding nets, by slot; unused slots are left as they are.
template <class Real> void edge_arguments(const Contraction<Real> &c, Real *arg);

}  // namespace dptrain::kernels
