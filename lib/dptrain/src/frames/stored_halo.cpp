#include "frames/stored_halo.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/advice.h"

namespace dptrain {

StoredHalo::StoredHalo(std::shared_ptr<const Communicator> comm, int nlocal,
                       const std::vector<int> &owner_rank, const std::vector<int> &owner_index) :
    comm_(std::move(comm)), nlocal_(nlocal)
{
  const int size = comm_->size(), me = comm_->rank();
  const std::vector<std::int64_t> atoms_of_rank = comm_->all_gather(nlocal);
  guarded(*comm_, [&] { check_owners(owner_rank, owner_index, atoms_of_rank); });

  ghost_counts_.assign(size, 0);
  for (int owner : owner_rank)
    if (owner != me) ++ghost_counts_[owner];
  std::vector<int> next(size, 0);
  for (int r = 1; r < size; ++r) next[r] = next[r - 1] + ghost_counts_[r - 1];
  const int num_foreign = next[size - 1] + ghost_counts_[size - 1];
  ghosts_.resize(num_foreign);
  std::vector<std::int64_t> wanted(num_foreign);
  for (std::size_t g = 0; g < owner_rank.size(); ++g) {
    const int ghost = nlocal + static_cast<int>(g);
    if (owner_rank[g] == me) {
      own_ghost_.push_back(ghost);
      own_atom_.push_back(owner_index[g]);
    } else {
      const int k = next[owner_rank[g]]++;
      ghosts_[k] = ghost;
      wanted[k] = owner_index[g];
    }
  }

  // tell every owner which of its atoms are wanted here
  std::vector<std::int64_t> counts(ghost_counts_.begin(), ghost_counts_.end()), asked(size);
  const std::vector<int> ones(size, 1);
  comm_->all_to_all(counts.data(), ones, asked.data(), ones);
  atom_counts_.assign(asked.begin(), asked.end());
  std::int64_t total = 0;
  for (std::int64_t n : asked) total += n;
  std::vector<std::int64_t> requests(total);
  comm_->all_to_all(wanted.data(), ghost_counts_, requests.data(), atom_counts_);
  atoms_.assign(requests.begin(), requests.end());
}

void StoredHalo::check_owners(const std::vector<int> &owner_rank,
                              const std::vector<int> &owner_index,
                              const std::vector<std::int64_t> &atoms_of_rank) const
{
  if (owner_rank.size() != owner_index.size())
    throw internal_error("StoredHalo: as many owner ranks as owner indices are needed");
  for (std::size_t g = 0; g < owner_rank.size(); ++g) {
    const int rank = owner_rank[g];
    if (rank < 0 || rank >= comm_->size() || owner_index[g] < 0 ||
        owner_index[g] >= atoms_of_rank[rank])
      throw internal_error(
          fmt::format("StoredHalo: ghost {} has no owner: atom {} of rank {} does not exist", g,
                      owner_index[g], rank));
  }
}

// One set for all halos of a thread: a replay buffer has thousands of them.
struct StoredHalo::Buffers {
  std::vector<int> ghost_lengths, atom_lengths;
  std::vector<double> ghosts, atoms;
};

StoredHalo::Buffers &StoredHalo::buffers(int width) const
{
  static thread_local Buffers shared;
  const int size = comm_->size();
  shared.ghost_lengths.resize(size);
  shared.atom_lengths.resize(size);
  for (int r = 0; r < size; ++r) {
    shared.ghost_lengths[r] = ghost_counts_[r] * width;
    shared.atom_lengths[r] = atom_counts_[r] * width;
  }
  shared.ghosts.resize(ghosts_.size() * width);
  shared.atoms.resize(atoms_.size() * width);
  return shared;
}

void StoredHalo::exchange(double *values, int width) const
{
  for (std::size_t k = 0; k < own_ghost_.size(); ++k)
    std::copy_n(values + std::size_t(own_atom_[k]) * width, width,
                values + std::size_t(own_ghost_[k]) * width);
  if (comm_->size() == 1) return;
  Buffers &b = buffers(width);
  for (std::size_t k = 0; k < atoms_.size(); ++k)
    std::copy_n(values + std::size_t(atoms_[k]) * width, width, &b.atoms[k * width]);
  comm_->all_to_all(b.atoms.data(), b.atom_lengths, b.ghosts.data(), b.ghost_lengths);
  for (std::size_t k = 0; k < ghosts_.size(); ++k)
    std::copy_n(&b.ghosts[k * width], width, values + std::size_t(ghosts_[k]) * width);
}

void StoredHalo::reduce(double *values, int width) const
{
  for (std::size_t k = 0; k < own_ghost_.size(); ++k)
    for (int c = 0; c < width; ++c)
      values[std::size_t(own_atom_[k]) * width + c] +=
          values[std::size_t(own_ghost_[k]) * width + c];
  if (comm_->size() == 1) return;
  Buffers &b = buffers(width);
  for (std::size_t k = 0; k < ghosts_.size(); ++k)
    std::copy_n(values + std::size_t(ghosts_[k]) * width, width, &b.ghosts[k * width]);
  comm_->all_to_all(b.ghosts.data(), b.ghost_lengths, b.atoms.data(), b.atom_lengths);
  for (std::size_t k = 0; k < atoms_.size(); ++k)
    for (int c = 0; c < width; ++c)
      values[std::size_t(atoms_[k]) * width + c] += b.atoms[k * width + c];
}

std::size_t StoredHalo::memory_bytes() const
{
  std::size_t ints = 0;
  for (const auto *list :
       {&own_ghost_, &own_atom_, &ghosts_, &atoms_, &ghost_counts_, &atom_counts_})
    ints += list->capacity();
  return sizeof(StoredHalo) + ints * sizeof(int);
}

}  // namespace dptrain
