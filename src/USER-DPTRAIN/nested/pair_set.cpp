/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/pair_set.h"

#include <algorithm>
#include <cstring>

#include "adapter/dptrain_adapter.h"
#include "adapter/lammps_compat.h"
#include "atom.h"
#include "error.h"
#include "force.h"
#include "input.h"
#include "memory.h"
#include "neighbor.h"
#include "pair.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

// Pointers into the words, as the functions of LAMMPS take them.
std::vector<char *> pointers(std::vector<std::string> &words)
{
  std::vector<char *> result;
  for (std::string &word : words) result.push_back(word.data());
  return result;
}

std::string expand_variables(LAMMPS *lmp, const std::string &text)
{
  int max_copy = static_cast<int>(text.size()) + 1, max_work = max_copy;
  char *copy = static_cast<char *>(lmp->memory->smalloc(max_copy, "dptrain:copy"));
  char *work = static_cast<char *>(lmp->memory->smalloc(max_work, "dptrain:work"));
  strcpy(copy, text.c_str());
  lmp->input->substitute(copy, work, max_copy, max_work, 0);
  std::string result(copy);
  lmp->memory->sfree(copy);
  lmp->memory->sfree(work);
  return result;
}

}  // namespace

std::vector<std::string> LAMMPS_NS::expanded_words(LAMMPS *lmp, const std::string &text)
{
  return utils::split_words(expand_variables(lmp, text));
}

PairSet::PairSet(LAMMPS *lmp, const std::string &who, const PairOptions &options) :
    Pointers(lmp), style_(options.style), name_(fmt::format("{} pair {}", who, options.style))
{
  check_style();
  make_parts(options);
  number_parts();
  const std::size_t n = atom->ntypes + 1;
  map_.assign(n, std::vector<std::vector<int>>(n));
  set_.assign(n, std::vector<bool>(n, false));
  for (const std::string &coeff : options.coeffs) read_coefficients(coeff);
  for (const std::string &text : options.modify) modify(text);
  check_coefficients();
  if (hybrid()) mask_types();
}

PairSet::~PairSet() = default;

void PairSet::check_style() const
{
  if (utils::strmatch(style_, "^hybrid") && !hybrid())
    error->all(FLERR,
               "{} is not possible: use hybrid or hybrid/overlay, or make {} the pair style of the "
               "run, with 'reference run' and the model in 'model FILE'",
               name_, style_);
  if (style_ == "none")
    error->all(FLERR, "{} gives no energies and forces: name a pair style", name_);
}

// hybrid and hybrid/overlay: a word that is the name of a pair style begins the next sub-style
void PairSet::make_parts(const PairOptions &options)
{
  std::vector<std::string> words;
  for (const std::string &arg : options.args) words.push_back(expand_variables(lmp, arg));
  if (!hybrid()) return add_part(style_, words);
  const auto is_style = [this](const std::string &word) {
    return force->pair_map->count(word) > 0 || lmp->match_style("pair", word.c_str());
  };
  if (words.empty())
    error->all(FLERR, "{} needs its sub-styles: {} STYLE args STYLE args coeff \"...\" end", name_,
               style_);
  for (auto next = words.begin(); next != words.end();) {
    const std::string sub_style = *next++;
    if (sub_style == "none" || utils::strmatch(sub_style, "^hybrid"))
      error->all(FLERR, "{} cannot have {} as a sub-style: name others", name_, sub_style);
    const auto end = std::find_if(next, words.end(), is_style);
    add_part(sub_style, {next, end});
    next = end;
  }
}

void PairSet::add_part(const std::string &name, std::vector<std::string> args)
{
  if (force->pair_map->find(name) == force->pair_map->end())
    error->all(FLERR, "{}: {}", name_, utils::check_packages_for_style("pair", name, lmp));
  int suffix = 0;
  Part part;
  part.name = name;
  part.pair.reset(force->new_pair(name, 0, suffix));
  if (part.pair->kokkosable)
    error->all(FLERR, "{}: {} works on the arrays of KOKKOS: use the plain style, without a suffix",
               name_, name);
  std::vector<char *> list = pointers(args);
  part.pair->settings(static_cast<int>(list.size()), list.data());
  parts_.push_back(std::move(part));
}

void PairSet::number_parts()
{
  for (std::size_t m = 0; m < parts_.size(); ++m) {
    const auto same = [&](const Part &part) { return part.name == parts_[m].name; };
    if (std::count_if(parts_.begin(), parts_.end(), same) > 1)
      parts_[m].number =
          static_cast<int>(std::count_if(parts_.begin(), parts_.begin() + m + 1, same));
  }
}

// What the pair_coeff command does with its arguments before the style sees them.
void PairSet::read_coefficients(const std::string &text)
{
  std::vector<std::string> words = expanded_words(lmp, text);
  if (words.size() < (hybrid() ? 3 : 2))
    error->all(FLERR, "{}: coeff \"{}\" needs the arguments of a pair_coeff command{}", name_, text,
               hybrid() ? ", with the name of a sub-style" : "");
  for (int k = 0; k < 2; ++k)
    if (char *number = utils::expand_type(FLERR, words[k], Atom::ATOM, lmp)) {
      words[k] = number;
      delete[] number;
    }
  if (utils::is_integer(words[0]) && utils::is_integer(words[1]) &&
      std::stoi(words[1]) < std::stoi(words[0]))
    std::swap(words[0], words[1]);
  if (!hybrid()) return give_coefficients(parts_[0], words);

  std::size_t next = 2;
  const int m = named_part(words, next);
  const std::string first = words[0], second = words[1];
  words.erase(words.begin() + 2, words.begin() + next);
  if (m >= 0) give_coefficients(parts_[m], words);
  map_types(m, first, second, text);
}

// The sub-style that words[next] names, with its number where there are several; -1 for none. Moves
// `next` behind it.
int PairSet::named_part(const std::vector<std::string> &words, std::size_t &next) const
{
  const std::string name = words[next++];
  if (name == "none") return -1;
  std::string known;
  for (const Part &part : parts_) {
    known += part.number ? fmt::format(" '{} {}'", part.name, part.number)
                         : fmt::format(" '{}'", part.name);
    if (part.name != name) continue;
    const int m = static_cast<int>(&part - parts_.data());
    if (part.number == 0) return m;
    if (next < words.size() && words[next] == std::to_string(part.number)) {
      ++next;
      return m;
    }
  }
  error->all(FLERR, "{}: \"{}\" must name a sub-style: one of{}", name_,
             utils::join_words(words, " "), known);
}

void PairSet::give_coefficients(Part &part, std::vector<std::string> words)
{
  if (part.pair->one_coeff && (words[0] != "*" || words[1] != "*"))
    error->all(FLERR, "{}: {} takes one coeff, and it must start with * *: found \"{}\"", name_,
               part.name, utils::join_words(words, " "));
  std::vector<char *> list = pointers(words);
  with_text_before_abort([&] { part.pair->coeff(static_cast<int>(list.size()), list.data()); });
}

// Which sub-styles act on which pairs of types: the last one given with hybrid, all with
// hybrid/overlay.
void PairSet::map_types(int m, const std::string &first, const std::string &second,
                        const std::string &text)
{
  const int ntypes = atom->ntypes;
  const bool overlay = style_ == "hybrid/overlay";
  int ilo, ihi, jlo, jhi, count = 0;
  utils::bounds(FLERR, first, 1, ntypes, ilo, ihi, error);
  utils::bounds(FLERR, second, 1, ntypes, jlo, jhi, error);
  // elements of a style with a list of them may have changed
  if (m >= 0 && parts_[m].pair->one_coeff && !overlay)
    for (int i = 1; i <= ntypes; ++i)
      for (int j = i; j <= ntypes; ++j)
        if (map_[i][j] == std::vector<int>{m}) {
          map_[i][j].clear();
          set_[i][j] = false;
        }
  for (int i = ilo; i <= ihi; ++i)
    for (int j = std::max(jlo, i); j <= jhi; ++j) {
      std::vector<int> &styles = map_[i][j];
      if (m >= 0 && !parts_[m].pair->setflag[i][j]) continue;
      if (m < 0 || !overlay) styles.clear();
      if (m >= 0 && std::find(styles.begin(), styles.end(), m) == styles.end()) styles.push_back(m);
      set_[i][j] = true;
      ++count;
    }
  if (count == 0)
    error->all(FLERR, "{}: coeff \"{}\" sets no pair of atom types: give types from 1 to {}", name_,
               text, atom->ntypes);
}

// Arguments of a pair_modify command: for all parts, or for one with `pair STYLE [N]` before them.
void PairSet::modify(const std::string &text)
{
  std::vector<std::string> words = expanded_words(lmp, text);
  int only = -1;
  if (hybrid() && words.size() > 1 && words[0] == "pair") {
    std::size_t next = 1;
    only = named_part(words, next);
    words.erase(words.begin(), words.begin() + next);
  }
  if (hybrid() && !words.empty() && (words[0] == "special" || words[0] == "compute/tally"))
    error->all(FLERR, "{}: modify \"{}\": '{}' is not available in a hybrid style: remove it",
               name_, text, words[0]);
  for (std::size_t m = 0; m < parts_.size(); ++m) {
    if (only >= 0 && only != static_cast<int>(m)) continue;
    std::vector<char *> list = pointers(words);
    parts_[m].pair->modify_params(static_cast<int>(list.size()), list.data());
  }
}

void PairSet::check_coefficients() const
{
  const auto used = [this](int m) {
    for (const auto &row : map_)
      for (const auto &styles : row)
        if (std::find(styles.begin(), styles.end(), m) != styles.end()) return true;
    return false;
  };
  for (const Part &part : parts_)
    if (!part.pair->allocated || (hybrid() && !used(static_cast<int>(&part - parts_.data()))))
      error->all(FLERR,
                 "{}{} has no coefficients: add coeff \"...\" with the arguments of its pair_coeff "
                 "command",
                 name_, hybrid() ? ": " + part.name : "");
  for (int i = 1; i <= atom->ntypes; ++i)
    if (hybrid() ? !set_[i][i] : !parts_[0].pair->setflag[i][i])
      error->all(FLERR, "{} has no coefficients for atom type {}: each type needs a coeff \"...\"",
                 name_, i);
}

// A pair of types that no coeff names belongs to the one sub-style that acts on both types, which
// mixes coefficients.
void PairSet::mask_types()
{
  for (int i = 1; i <= atom->ntypes; ++i)
    for (int j = i + 1; j <= atom->ntypes; ++j) {
      if (set_[i][j]) continue;
      if (map_[i][i].size() != 1 || map_[i][i] != map_[j][j])
        error->all(FLERR,
                   "{} has no coefficients for the atom types {} and {}: add coeff \"{} {} ...\"",
                   name_, i, j, i, j);
      map_[i][j] = map_[i][i];
    }
  for (Part &part : parts_) {
    part.acts = std::vector<std::vector<bool>>(map_.size(), std::vector<bool>(map_.size(), false));
    const int m = static_cast<int>(&part - parts_.data());
    for (int i = 1; i <= atom->ntypes; ++i)
      for (int j = i; j <= atom->ntypes; ++j) {
        const std::vector<int> &styles = map_[i][j];
        part.acts[i][j] = part.acts[j][i] =
            std::find(styles.begin(), styles.end(), m) != styles.end();
      }
  }
}

bool PairSet::acts(const Part &part, int i, int j) const
{
  return part.acts.empty() || part.acts[i][j];
}

void PairSet::init(Part &part)
{
  Pair *pair = part.pair.get();
  if (!hybrid()) {
    pair->init();
    part.cutoff = pair->cutforce;
    return;
  }
  pair->init_style();
  part.cutoff = pair->etail = pair->ptail = 0.0;
  for (int i = 1; i <= atom->ntypes; ++i)
    for (int j = i; j <= atom->ntypes; ++j) {
      if (!acts(part, i, j)) continue;
      const double cutoff = pair->init_one(i, j);
      pair->cutsq[i][j] = pair->cutsq[j][i] = cutoff * cutoff;
      part.cutoff = std::max(part.cutoff, cutoff);
      if (!pair->tail_flag) continue;
      pair->etail += (i == j ? 1.0 : 2.0) * pair->etail_ij;
      pair->ptail += (i == j ? 1.0 : 2.0) * pair->ptail_ij;
    }
  pair->cutforce = part.cutoff;
}

void PairSet::give_lists(Part &part)
{
  if (part.acts.empty()) return;
  for (int id = 0; id < MAX_LISTS; ++id) {
    const NeighList *all = neighbor->find_list(part.pair.get(), id);
    if (!all) continue;
    std::unique_ptr<MaskedList> &masked = part.lists[id];
    if (!masked) masked = std::make_unique<MaskedList>(lmp);
    masked->build(*all, part.acts, atom->type, atom->nlocal, atom->nlocal + atom->nghost);
    part.pair->init_list(id, masked->list());
  }
}

double PairSet::memory_usage() const
{
  double bytes = 0.0;
  for (const Part &part : parts_) {
    bytes += part.pair->memory_usage();
    for (const auto &list : part.lists)
      if (list) bytes += list->memory_usage();
  }
  return bytes;
}
