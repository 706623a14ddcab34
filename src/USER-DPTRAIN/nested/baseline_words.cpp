/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/baseline_words.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mpi.h>

#include "atom.h"
#include "dptrain/base/error.h"
#include "lammps.h"
#include "nested/pair_set.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;

using dptrain::Baseline;
using Words = std::vector<std::string>;

namespace {

constexpr double SAME_CHARGE = 1e-9;  // elementary charges

std::string expanded(LAMMPS *lmp, const std::string &text)
{
  return utils::join_words(expanded_words(lmp, text), " ");
}

Words expanded(LAMMPS *lmp, const Words &texts)
{
  Words result;
  for (const std::string &text : texts) result.push_back(expanded(lmp, text));
  return result;
}

bool is_range(const std::string &word)
{
  return word.find_first_not_of("0123456789*") == std::string::npos;
}

// Whether type `t` is in a range of types: N, *, N*, *M, N*M.
bool holds(const std::string &range, int t)
{
  const auto star = range.find('*');
  if (star == std::string::npos) return std::stoi(range) == t;
  const std::string low = range.substr(0, star), high = range.substr(star + 1);
  return (low.empty() || std::stoi(low) <= t) && (high.empty() || t <= std::stoi(high));
}

/// Coefficients for other atom types.
class Translation {
 public:
  Translation(const Baseline &baseline, const Words &elements) :
      baseline_(baseline), from_(baseline.elements), to_(elements)
  {
  }

  // The arguments of a pair_coeff command, as those of one or more for these types.
  void add(const std::string &text, Words &lines) const
  {
    const Words words = utils::split_words(text);
    if (words.size() < 2 || !is_range(words[0]) || !is_range(words[1])) refuse(text);
    if (words[0] == "*" && words[1] == "*") {
      lines.push_back(of_all_types(words, text));
      return;
    }
    for (std::size_t i = 1; i <= to_.size(); ++i)
      for (std::size_t j = i; j <= to_.size(); ++j)
        if (is_meant(words[0], words[1], type_of(i), type_of(j)))
          lines.push_back(utils::join_words(with(words, i, j), " "));
  }

 private:
  // The first atom type of these words that is the element of type i.
  int type_of(std::size_t i) const
  {
    return static_cast<int>(std::find(from_.begin(), from_.end(), to_[i - 1]) - from_.begin()) + 1;
  }
  static bool is_meant(const std::string &first, const std::string &second, int a, int b)
  {
    return (holds(first, a) && holds(second, b)) || (holds(first, b) && holds(second, a));
  }
  static Words with(Words words, std::size_t i, std::size_t j)
  {
    words[0] = std::to_string(i);
    words[1] = std::to_string(j);
    return words;
  }
  // Numbers alone hold for all types; a list at the end that is that of the elements follows them.
  std::string of_all_types(Words words, const std::string &text) const
  {
    const std::size_t n = from_.size();
    if (words.size() >= 2 + n && std::equal(from_.begin(), from_.end(), words.end() - n)) {
      words.resize(words.size() - n);
      words.insert(words.end(), to_.begin(), to_.end());
      return utils::join_words(words, " ");
    }
    const auto is_value = [&](const std::string &word) {
      return utils::is_double(word) ||
             baseline_.pair_style.find(word) != std::string::npos;  // of a hybrid style
    };
    if (!std::all_of(words.begin() + 2, words.end(), is_value)) refuse(text);
    return text;
  }
  [[noreturn]] void refuse(const std::string &text) const
  {
    throw dptrain::Error(fmt::format("its pair_coeff {} is for the atom types {}, and cannot be "
                                     "told for {}: give the atom types in that order",
                                     text, utils::join_words(from_, " "),
                                     utils::join_words(to_, " ")));
  }

  const Baseline &baseline_;
  const Words &from_, &to_;
};

}  // namespace

Baseline LAMMPS_NS::baseline_of(LAMMPS *lmp, const PairOptions &options, const Words &elements)
{
  Baseline baseline;
  baseline.pair_style = options.style;
  for (const std::string &arg : options.args) baseline.pair_style += " " + expanded(lmp, arg);
  baseline.pair_coeff = expanded(lmp, options.coeffs);
  for (std::string &text : baseline.pair_coeff) {
    Words words = utils::split_words(text);
    for (std::size_t k = 0; k < std::min<std::size_t>(2, words.size()); ++k)
      if (char *number = utils::expand_type(FLERR, words[k], Atom::ATOM, lmp)) {  // a label
        words[k] = number;
        delete[] number;
      }
    text = utils::join_words(words, " ");
  }
  baseline.pair_modify = expanded(lmp, options.modify);
  baseline.kspace_style = expanded(lmp, options.kspace);
  baseline.kspace_modify = expanded(lmp, options.kspace_modify);
  baseline.units = lmp->update->unit_style;
  baseline.elements = elements;
  return baseline;
}

std::map<std::string, double> LAMMPS_NS::charges_of(LAMMPS *lmp, const Words &elements)
{
  const Atom *atom = lmp->atom;
  std::map<std::string, double> charges;
  if (!atom->q_flag) return charges;
  // of each element the largest charge, and the largest of its negative
  std::map<std::string, std::array<double, 2>> found;
  constexpr double none = -std::numeric_limits<double>::max();
  for (const std::string &element : elements) found[element] = {none, none};
  for (int i = 0; i < atom->nlocal; ++i) {
    auto &of_element = found.at(elements[atom->type[i] - 1]);
    of_element[0] = std::max(of_element[0], atom->q[i]);
    of_element[1] = std::max(of_element[1], -atom->q[i]);
  }
  bool any = false;
  for (auto &[element, of_element] : found) {
    MPI_Allreduce(MPI_IN_PLACE, of_element.data(), 2, MPI_DOUBLE, MPI_MAX, lmp->world);
    if (of_element[0] == none) of_element = {0.0, 0.0};  // no such atom
    if (of_element[0] + of_element[1] > SAME_CHARGE) return {};
    charges[element] = of_element[0];
    any = any || of_element[0] != 0.0;
  }
  return any ? charges : std::map<std::string, double>();
}

Baseline LAMMPS_NS::for_elements(const Baseline &baseline, const Words &elements)
{
  if (elements == baseline.elements) return baseline;
  for (const std::string &element : elements)
    if (std::find(baseline.elements.begin(), baseline.elements.end(), element) ==
        baseline.elements.end())
      throw dptrain::Error(fmt::format("it acts on all atoms, and knows {}, but not {}: give each "
                                       "atom type one of these elements",
                                       utils::join_words(baseline.elements, " "), element));
  const Translation translation(baseline, elements);
  Baseline result = baseline;
  result.elements = elements;
  result.pair_coeff.clear();
  for (const std::string &text : baseline.pair_coeff) translation.add(text, result.pair_coeff);
  return result;
}

PairOptions LAMMPS_NS::options_of(const Baseline &baseline)
{
  PairOptions options;
  options.args = utils::split_words(baseline.pair_style);
  options.style = options.args.at(0);
  options.args.erase(options.args.begin());
  options.coeffs = baseline.pair_coeff;
  options.modify = baseline.pair_modify;
  options.kspace = baseline.kspace_style;
  options.kspace_modify = baseline.kspace_modify;
  return options;
}
