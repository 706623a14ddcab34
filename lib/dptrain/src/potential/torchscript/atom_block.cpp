#include "potential/torchscript/atom_block.h"

#include <algorithm>
#include <fmt/format.h>

#include "dptrain/base/error.h"

namespace dptrain {

std::vector<int> BlockMaker::centers_of(const Domain &domain) const
{
  std::vector<int> centers;
  centers.reserve(domain.num_centers);
  for (int k = 0; k < domain.num_centers; ++k)
    if (domain.type[domain.centers[k]] >= 0) centers.push_back(domain.centers[k]);
  return centers;
}

// The neighbors of one atom into row_.
void BlockMaker::add_row(const Domain &domain, int center)
{
  const double cutoff = facts_.cutoff * facts_.cutoff;
  const double *x = domain.x + 3L * center;
  std::vector<int> of_type(facts_.sel.size(), 0);
  row_.clear();
  for (int k = 0; k < domain.num_neighbors[center]; ++k) {
    const int atom = domain.neighbor(center, k) & domain.neighbor_mask;
    if (domain.type[atom] < 0) continue;
    double square = 0.0;
    for (int d = 0; d < 3; ++d) {
      const double difference = domain.x[3L * atom + d] - x[d];
      square += difference * difference;
    }
    if (square > cutoff) continue;
    if (square == 0.0)
      throw Error(
          fmt::format("Two atoms are at the same position: neighbor distance 0 of atom {} of this "
                      "rank; check the time step, the start configuration and the model",
                      center));
    row_.push_back({square, atom});
    ++of_type[of_type.size() == 1 ? 0 : domain.type[atom]];
  }
  for (std::size_t t = 0; t < of_type.size(); ++t)
    if (of_type[t] > facts_.sel[t]) {
      ++overflow_;
      break;
    }
  const auto nearer = [](const Neighbor &a, const Neighbor &b) {
    return a.square != b.square ? a.square < b.square : a.atom < b.atom;
  };
  std::sort(row_.begin(), row_.end(), nearer);
  if (static_cast<int>(row_.size()) > facts_.max_neighbors) row_.resize(facts_.max_neighbors);
}

int BlockMaker::place_of(int atom, AtomBlock &block)
{
  if (place_[atom] < 0) {
    place_[atom] = static_cast<std::int64_t>(block.atoms.size());
    block.atoms.push_back(atom);
  }
  return static_cast<int>(place_[atom]);
}

AtomBlock BlockMaker::make(const Domain &domain, const int *centers, int n)
{
  AtomBlock block;
  block.atoms.assign(centers, centers + n);
  if (facts_.padding_has_type) choose_first(domain, block);
  block.centers = static_cast<int>(block.atoms.size());
  if (place_.size() < static_cast<std::size_t>(domain.nall)) place_.resize(domain.nall, -1);
  for (int i = 0; i < block.centers; ++i)
    if (block.atoms[i] >= 0) place_[block.atoms[i]] = i;
  try {
    fill_rows(domain, block);
    fill_tensors(domain, block);
  } catch (...) {
    forget(block);
    throw;
  }
  forget(block);
  return block;
}

void BlockMaker::choose_first(const Domain &domain, AtomBlock &block) const
{
  const auto first = std::find_if(block.atoms.begin(), block.atoms.end(),
                                  [&](int atom) { return domain.type[atom] == domain.first_type; });
  if (first == block.atoms.end())
    block.atoms.insert(block.atoms.begin(), -1);
  else
    std::iter_swap(block.atoms.begin(), first);
}

void BlockMaker::forget(const AtomBlock &block)
{
  for (const int atom : block.atoms)
    if (atom >= 0) place_[atom] = -1;
}

void BlockMaker::fill_rows(const Domain &domain, AtomBlock &block)
{
  rows_.resize(std::max<std::size_t>(rows_.size(), block.centers));
  for (int i = 0; i < block.centers; ++i) {
    rows_[i].clear();
    if (block.atoms[i] < 0) continue;
    add_row(domain, block.atoms[i]);
    for (const Neighbor &neighbor : row_) rows_[i].push_back(place_of(neighbor.atom, block));
  }
}

void BlockMaker::fill_tensors(const Domain &domain, AtomBlock &block) const
{
  if (!facts_.is_local && !domain.owner)
    throw Error("A model whose atoms pass messages needs whole frames: run this on one rank");
  const int n = block.centers;
  std::size_t longest = 1;
  for (int i = 0; i < n; ++i) longest = std::max(longest, rows_[i].size());
  const auto integers = torch::TensorOptions().dtype(torch::kInt64);
  const std::int64_t size = static_cast<std::int64_t>(block.atoms.size());
  ScriptAtoms &tensors = block.tensors;
  tensors.coord = torch::empty({1, size, 3}, torch::kFloat64);
  tensors.type = torch::empty({1, size}, integers);
  tensors.neighbors = torch::full({1, n, static_cast<std::int64_t>(longest)}, -1, integers);
  double *coord = tensors.coord.data_ptr<double>();
  std::int64_t *type = tensors.type.data_ptr<std::int64_t>();
  std::int64_t *neighbors = tensors.neighbors.data_ptr<std::int64_t>();
  for (std::int64_t k = 0; k < size; ++k) {
    const int atom = block.atoms[k];
    if (atom >= 0) std::copy_n(domain.x + 3L * atom, 3, coord + 3 * k);
    if (atom < 0) std::fill_n(coord + 3 * k, 3, 0.0);
    type[k] = atom < 0 ? domain.first_type : domain.type[atom];
  }
  for (int i = 0; i < n; ++i)
    std::copy(rows_[i].begin(), rows_[i].end(), neighbors + i * static_cast<long>(longest));
  if (!facts_.is_local) set_owners(domain, block);
  for (torch::Tensor *tensor : {&tensors.coord, &tensors.type, &tensors.neighbors, &tensors.owner})
    if (tensor->defined() && !device_.is_cpu()) *tensor = tensor->to(device_);
}

void BlockMaker::set_owners(const Domain &domain, AtomBlock &block) const
{
  block.tensors.owner =
      torch::empty({1, static_cast<std::int64_t>(block.atoms.size())}, torch::kInt64);
  std::int64_t *owner = block.tensors.owner.data_ptr<std::int64_t>();
  for (const int atom : block.atoms)
    *owner++ = atom < 0 ? 0 : std::max<std::int64_t>(place_[domain.owner[atom]], 0);
}

}  // namespace dptrain
