#include "dptrain/models/committee.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

// By type of the main model: type of the member with the same element.
std::vector<int> types_of_member(const ModelInUse &main, const ModelInUse &member)
{
  std::vector<int> type(main.type_map().size(), -1);
  for (std::size_t t = 1; t < main.model_type().size(); ++t)
    if (main.model_type()[t] >= 0) type[main.model_type()[t]] = member.model_type()[t];
  return type;
}

std::string name_or_none(const std::vector<Baseline> &baseline)
{
  return baseline.empty() ? "none" : name_of(baseline);
}

}  // namespace

void Committee::load(const Communicator &comm, const std::vector<std::string> &files,
                     const ModelInUse &main)
{
  members_.clear();
  forget();
  for (const std::string &file : files) {
    Member member;
    member.first_type = std::numeric_limits<int>::max();
    member.slot = std::make_shared<ModelInUse>(main.settings());
    member.slot->load(comm, file, main.elements());
    if (!member.slot->trained())
      throw Error(fmt::format("{} of the committee describes a new model, which has no parameters: "
                              "members of a committee must be trained models or checkpoints",
                              file));
    if (member.slot->baseline() != main.baseline())
      throw Error(fmt::format("{} of the committee has the baseline {}, and {} has {}: use members "
                              "with the same baseline, as forces of nets are compared",
                              file, name_or_none(member.slot->baseline()), main.path(),
                              name_or_none(main.baseline())));
    member.evaluator = std::make_unique<Evaluator>(member.slot->model());
    if (!member.slot->model()->is_local() && comm.size() > 1)
      throw Error(fmt::format("{} of the committee: its atoms pass messages, and members are "
                              "evaluated on divided atoms: run on one rank",
                              file));
    member.type = types_of_member(main, *member.slot);
    for (const int type : member.type)
      if (type >= 0) member.first_type = std::min(member.first_type, type);
    members_.push_back(std::move(member));
  }
}

bool Committee::passes_messages() const
{
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member &member) { return !member.slot->model()->is_local(); });
}

double Committee::cutoff() const
{
  double largest = 0.0;
  for (const Member &member : members_) largest = std::max(largest, member.slot->cutoff());
  return largest;
}

std::vector<std::string> Committee::repeated(const ModelInUse &main) const
{
  std::vector<std::uint64_t> known{main.hash()};
  std::vector<std::string> files;
  for (const Member &member : members_) {
    known.push_back(member.slot->hash());
    if (std::count(known.begin(), known.end(), known.back()) > 1)
      files.push_back(member.slot->path());
  }
  return files;
}

void Committee::show(const Domain &domain, const double *force, const std::array<double, 9> &virial)
{
  const std::size_t size = static_cast<std::size_t>(domain.nall) * 3;
  domain_ = domain;
  x_.assign(domain.x, domain.x + size);
  domain_.x = x_.data();
  forces_.resize(members_.size() + 1);
  virials_.resize(members_.size() + 1);
  forces_[0].assign(force, force + size);
  virials_[0] = virial;
  shown_ = true;
  evaluated_ = false;
}

void Committee::evaluate(Member &member, std::size_t model)
{
  Domain domain = domain_;
  type_.resize(domain.nall);
  for (int i = 0; i < domain.nall; ++i)
    type_[i] = domain_.type[i] < 0 ? -1 : member.type[domain_.type[i]];
  domain.type = type_.data();
  domain.first_type = member.first_type;

  forces_[model].assign(static_cast<std::size_t>(domain.nall) * 3, 0.0);
  ForwardOutput out;
  out.force = forces_[model].data();
  member.evaluator->step(domain, out);
  virials_[model] = out.virial;
}

std::vector<const double *> Committee::forces(const Fold &fold)
{
  if (!evaluated_) {
    fold(forces_[0].data());
    for (std::size_t k = 0; k < members_.size(); ++k) {
      evaluate(members_[k], k + 1);
      fold(forces_[k + 1].data());
    }
  }
  evaluated_ = true;
  std::vector<const double *> all;
  for (const std::vector<double> &force : forces_) all.push_back(force.data());
  return all;
}

double Committee::memory_bytes() const
{
  double numbers = static_cast<double>(x_.capacity());
  for (const std::vector<double> &force : forces_) numbers += static_cast<double>(force.capacity());
  double bytes = numbers * sizeof(double) + static_cast<double>(type_.capacity() * sizeof(int));
  for (const Member &member : members_)
    bytes += static_cast<double>(member.slot->model()->memory_bytes());
  return bytes;
}

}  // namespace dptrain
