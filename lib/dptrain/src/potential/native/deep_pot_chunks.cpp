// Chunks of DeepPotEngine: how many centers they have, and where they are.

#include <algorithm>
#include <climits>

#include "potential/native/deep_pot_engine.h"

namespace dptrain {
namespace {

// What a chunk may take where every slot has rows of its own.
constexpr long direct_bytes = 64L << 20;

}  // namespace

// As many centers as were asked for, unless an int could not count their slots, or the rows of a direct sweep took too
// much memory (which also keeps their offsets within an int).
template <class Real> int DeepPotEngine<Real>::chunk_size(bool direct) const
{
  const long slots = edges_.most_slots(frames());
  long most = INT_MAX / slots;
  if (direct)
    most = std::min(most, direct_bytes /
                              (slots * static_cast<long>(descriptor_->bytes_per_direct_slot())));
  return static_cast<int>(std::clamp<long>(most, 1, chunk_));
}

template <class Real>
typename DeepPotEngine<Real>::Chunk &DeepPotEngine<Real>::chunk_at(std::size_t place, int type,
                                                                   int begin, int n)
{
  std::vector<Chunk> &chunks = sweep_->chunks;
  if (chunks.size() <= place) chunks.resize(place + 1);
  Chunk &chunk = chunks[place];
  chunk.type = type;
  chunk.begin = begin;
  chunk.n = n;
  if (!chunk.descriptor) chunk.descriptor = descriptor_->make_state();
  return chunk;
}

template int DeepPotEngine<double>::chunk_size(bool) const;
template int DeepPotEngine<float>::chunk_size(bool) const;
template DeepPotEngine<double>::Chunk &DeepPotEngine<double>::chunk_at(std::size_t, int, int, int);
template DeepPotEngine<float>::Chunk &DeepPotEngine<float>::chunk_at(std::size_t, int, int, int);

}  // namespace dptrain
