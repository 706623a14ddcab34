// The net of a global term in both passes: what it has for the atoms goes out before the energy is known, and derivatives of the energy
// come back.

#include "potential/native/deep_pot_engine.h"

namespace dptrain {

// work(k, frame, atom) for the centers of a chunk, k: their number in it.
template <class Real>
template <class Work>
void DeepPotEngine<Real>::for_atoms(const Chunk &chunk, const Work &work) const
{
  if (const EngineLists *lists = frames().engine_lists()) {
    std::vector<int> atoms(chunk.n);
    kernels::copy_out(atoms.data(), lists->centers(chunk.type) + chunk.begin,
                      atoms.size() * sizeof(int));
    for (int k = 0; k < chunk.n; ++k) work(k, 0, atoms[k]);
    return;
  }
  const auto *centers = frames().centers(chunk.type).data() + chunk.begin;
  for (int k = 0; k < chunk.n; ++k)
    work(k, centers[k].frame, centers[k].atom - frames().offset(centers[k].frame));
}

template <class Real> AtomValues DeepPotEngine<Real>::no_values() const
{
  AtomValues values(frames().size());
  for (int f = 0; f < frames().size(); ++f) values[f].assign(frames().num_atoms(f), 0.0);
  return values;
}

template <class Real>
void DeepPotEngine<Real>::add_values(const Chunk &chunk, const kernels::Array<Real> &of_centers,
                                     AtomValues &values) const
{
  const std::vector<Real> host = of_centers.to_host();
  for_atoms(chunk, [&](int k, int frame, int atom) { values[frame][atom] = host[k]; });
}

template <class Real>
std::vector<double> DeepPotEngine<Real>::of_centers(const Chunk &chunk,
                                                    const AtomValues &values) const
{
  std::vector<double> result(chunk.n);
  for_atoms(chunk, [&](int k, int frame, int atom) {
    result[k] = values[frame].empty() ? 0.0 : values[frame][atom];
  });
  return result;
}

// Chunks are kept for forward(), within the memory budget.
template <class Real>
AtomValues DeepPotEngine<Real>::second_values(const Domain *domains, int n, bool keep)
{
  set_frames(domains, n, keep);
  AtomValues values;
  bool direct = net_->descriptor().is_direct();
  do {
    begin_sweep();
    net_->set_direct(direct);
    net_->begin_sweep();
    values = no_values();
    std::size_t bytes = 0;
    std::size_t &kept = sweep_->num_kept = 0;
    for_chunks(direct, [&](int type, int begin, int size) {
      const bool keeps = !direct && bytes < keep_limit_;
      Chunk &chunk = chunk_at(kept, type, begin, size);
      find_edges(chunk, Edges::all);
      net_->value(type, edges_of(0, chunk), keep, state_of(0, chunk), nullptr);
      add_values(chunk, net_->second_values(state_of(0, chunk)), values);
      bytes += chunk.memory_bytes();
      if (keeps) ++kept;
    });
  } while (sweep_again(nullptr, direct));
  sweep_->direct = direct;
  sweep_->has_values = true;
  return values;
}

template <class Real>
AtomValues DeepPotEngine<Real>::second_tangents(Tape &tape, const GradientSeed *seeds)
{
  bool direct = false;
  const std::size_t kept = open_tape(tape, seeds, direct);
  net_->set_direct(direct);
  net_->begin_sweep();
  AtomValues values = no_values();
  const auto add = [&](Chunk &chunk) {
    add_values(
        chunk,
        net_->second_tangents(chunk.type, edges_of(0, chunk), direction(), state_of(0, chunk)),
        values);
  };
  for_all_chunks(kept, direct, add, [&](int type, int begin, int size) {
    Chunk &chunk = chunk_at(kept, type, begin, size);
    find_edges(chunk, Edges::of_pass_b);
    net_->value(type, edges_of(0, chunk), true, state_of(0, chunk), nullptr);
    add(chunk);
  });
  return values;
}

template AtomValues DeepPotEngine<double>::second_values(const Domain *, int, bool);
template AtomValues DeepPotEngine<float>::second_values(const Domain *, int, bool);
template AtomValues DeepPotEngine<double>::second_tangents(Tape &, const GradientSeed *);
template AtomValues DeepPotEngine<float>::second_tangents(Tape &, const GradientSeed *);
template std::vector<double> DeepPotEngine<double>::of_centers(const Chunk &,
                                                               const AtomValues &) const;
template std::vector<double> DeepPotEngine<float>::of_centers(const Chunk &,
                                                              const AtomValues &) const;

}  // namespace dptrain
