#pragma once

#include "kernels/edges.h"
#include "kernels/environment.h"
#include "kernels/force_sums.h"
#include "kernels/table.h"
#include "kernels/workers.h"

namespace dptrain::kernels {

/// What the contraction of one chunk is made of: T_i = scale * sum_e row_e (rows) x G(arg_e) (width), row and argument
/// derived from the distance vectors of the edges, G read from a table by the type of the neighbor; plus, where the number of
/// neighbors has a limit, padding rows (p, 0, 0, ...) with G(p), in closed form.
///
/// `Rows` says what the row of an edge d = (x, y, z) is (Environment is an example). It has the constants rows (how many
/// numbers), argument_is_first (the argument of G is number 0 of the row) and kept (numbers of an edge that `gradient` needs),
/// and
///   value(x, y, z)                          what follows from the edge; a struct with the argument `arg`
///   put_row(value, scale, x, y, z, put)     put(k, scale * row_k)
///   put_tangent(value, scale, x, y, z, u, put)   put(k, scale * tangent of row_k along u); returns that of the argument
///   put_kept(value, put)                    put(k, number)
///   gradient(kept, sum, scale, x, y, z, g)  g = dE/dd from the numbers kept(k) and sum(k) = dE/d(scale * row_k), and
///                                           sum(rows) = dE/darg, or, with argument_is_first, sum(0) = dE/darg in all
template <class Real, class Rows = Environment<Real>> struct Contraction {
  Edges<Real> edges;
  Rows row;
  Table<Real> table;
  Real scale = 1;        ///< se_e2_a: 1 / sum(sel)
  Real padding_arg = 0;  ///< p of this center type
  int padding_row = 0;   ///< which of the table's padding rows
  int first_net = 0,
      net_step = 1;  ///< net of the table for neighbor type t: first_net + t * net_step

  KOKKOS_FORCEINLINE_FUNCTION int net_of(int type) const { return first_net + type * net_step; }
};

// Arrays over centers are [num_centers][rows][width]. The library has these functions for Environment; contraction_kernels.h
// is for other rows.

/// Value: T.
template <class Real, class Rows> void contraction_value(const Contraction<Real, Rows> &c, Real *t);

/// Reverse: forces and virials from g_t = dE/dT: F_i += g, F_j -= g, W -= g (x) d with g = dE/d(r_j - r_i).
template <class Real, class Rows>
void contraction_reverse(const Contraction<Real, Rows> &c, const Real *g_t, const ForceSums &sums);

/// JVP: the tangent of T along r [atoms][3] (or null) and the strains C [frames][9]: edge tangents r_j - r_i + C d, so
/// that the tangent of E is minus sum_k r_k . F_k + C : W.
template <class Real, class Rows>
void contraction_jvp(const Contraction<Real, Rows> &c, const double *r, const double *strain,
                     Real *t_dot);

/// Parameter side of the reverse of S = c E - E_dot with the same tangents: adds dS/dtable to table_gradient (laid out like
/// the table) from g_t = dS/dT and e_t = dE/dT = -dS/dT_dot. This is the transpose of the interpolation. A direct chunk
/// takes one copy: there centers touch each other's rows, and rows are too many to be there more than once.
template <class Real, class Rows>
void contraction_gradient(const Contraction<Real, Rows> &c, const double *r, const double *strain,
                          const Real *g_t, const Real *e_t, Real *table_gradient,
                          const Copies &copies = {});

/// The same without atomic additions, for tables: what the edges of center i give to row k of the table is
/// sum_a q_iak g_t[i][a][:] + p_iak e_t[i][a][:], so matrix products over the centers replace them.
/// Fills q and p, [ntypes][n][rows][net_size / width] and all zero before, for centers [begin, begin + n): one block for each
/// type of neighbor, hence for each net of this center type.
template <class Real, class Rows>
void contraction_bins(const Contraction<Real, Rows> &c, int begin, int n, const double *r,
                      const double *strain, Real *q, Real *p);

/// The arguments of the nets, by slot; unused slots are left as they are.
template <class Real, class Rows> void edge_arguments(const Contraction<Real, Rows> &c, Real *arg);

}  // namespace dptrain::kernels
