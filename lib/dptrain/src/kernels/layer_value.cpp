#include "kernels/activation_jets.h"
#include "kernels/kokkos_types.h"
#include "kernels/layer.h"
#include "kernels/skip.h"

// A file of its own: sums of layer.cpp may be taken in any order, and with those options tanh would not be exact.

namespace dptrain::kernels {

namespace {

template <class Real, ActivationKind kind, int order>
void run(const LayerShape<Real> &s, const Activation &activation, const Real *bias, const Real *x,
         Real *f0, Real *f1, Real *f2, Real *y)
{
  launch(
      "dptrain::layer_value", one_team_each(s.n), KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank(), row = i * s.out;
        const Real *idt = s.idt;
        Real *value = f0 + row, *first = f1 + row, *second = order > 1 ? f2 + row : nullptr,
             *target = y + row;
        team_for(team, s.out, [=](int m) DPTRAIN_ALWAYS_INLINE {
          const Jet<Real> at = jet<Real, kind>(activation, value[m] + bias[m]);
          value[m] = at.f[0];
          first[m] = at.f[1];
          if (order > 1) second[m] = at.f[2];
          target[m] = (idt ? idt[m] : Real(1)) * at.f[0];
        });
        add_skip(team, s, i, x, y);
      });
}

}  // namespace

template <class Real>
void layer_value(const LayerShape<Real> &s, const Activation &activation, const Real *bias,
                 const Real *x, Real *f0, Real *f1, Real *f2, Real *y)
{
  with_kind(activation.kind, [&](auto kind) {
    if (f2)
      run<Real, kind.value, 2>(s, activation, bias, x, f0, f1, f2, y);
    else
      run<Real, kind.value, 1>(s, activation, bias, x, f0, f1, f2, y);
  });
}

template void layer_value(const LayerShape<double> &, const Activation &, const double *,
                          const double *, double *, double *, double *, double *);
template void layer_value(const LayerShape<float> &, const Activation &, const float *,
                          const float *, float *, float *, float *, float *);

}  // namespace dptrain::kernels
