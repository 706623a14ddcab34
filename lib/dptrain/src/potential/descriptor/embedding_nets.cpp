#include "potential/descriptor/embedding_nets.h"

#include <utility>

namespace dptrain {

EmbeddingNets::EmbeddingNets(std::vector<Mlp> nets)
{
  for (Mlp &mlp : nets) nets_.push_back({std::move(mlp), {}});
}

bool EmbeddingNets::smooth() const
{
  for (const Net &net : nets_)
    for (const Layer &layer : net.mlp.layers())
      if (!layer.activation.smooth()) return false;
  return true;
}

const double *EmbeddingNets::jets(int k, Place place, const double *parameters, int n, int order,
                                  const double *x)
{
  return nets_[k].mlp.forward(parameters, n, order, x, workspace(k, place));
}

void EmbeddingNets::reverse(int k, Place place, const double *parameters, int n, int order,
                            const double *g, double *gradient)
{
  nets_[k].mlp.reverse(parameters, n, order, g, workspace(k, place), gradient);
}

std::size_t EmbeddingNets::memory_bytes() const
{
  std::size_t n = elsewhere_.memory_bytes();
  for (const Net &net : nets_) n += net.at_knots.memory_bytes();
  return n;
}

}  // namespace dptrain
