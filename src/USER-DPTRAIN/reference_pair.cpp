#include "reference_pair.h"

#include <algorithm>
#include <cstring>

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "input.h"
#include "lammps_compat.h"
#include "memory.h"
#include "neighbor.h"
#include "pair.h"
#include "update.h"
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

// Variables in quoted arguments are left alone by the input script; this expands them.
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

ReferencePair::ReferencePair(LAMMPS *lmp, const std::string &style,
                             const std::vector<std::string> &args,
                             const std::vector<std::string> &coeffs,
                             const std::vector<std::string> &modify, FoldGhosts fold) :
    Pointers(lmp), style_(style), fold_(std::move(fold))
{
  if (utils::strmatch(style_, "^hybrid"))
    error->all(FLERR,
               "Fix dptrain: reference pair {} is not possible: use a style that is not hybrid, or "
               "make {} the "
               "pair style of the run, with 'reference run' and the model in 'model FILE'",
               style_, style_);
  if (style_ == "none")
    error->all(FLERR, "Fix dptrain: reference pair none gives no labels: name a pair style");
  if (force->pair_map->find(style_) == force->pair_map->end())
    error->all(FLERR, "Fix dptrain: reference pair: {}",
               utils::check_packages_for_style("pair", style_, lmp));
  int suffix = 0;
  pair_ = force->new_pair(style_, 0, suffix);
  check_style();

  std::vector<std::string> words;
  for (const std::string &arg : args) words.push_back(expand_variables(lmp, arg));
  std::vector<char *> list = pointers(words);
  pair_->settings(static_cast<int>(list.size()), list.data());
  for (const std::string &coeff : coeffs) read_coefficients(expand_variables(lmp, coeff));
  for (const std::string &text : modify) {
    words = utils::split_words(expand_variables(lmp, text));
    list = pointers(words);
    pair_->modify_params(static_cast<int>(list.size()), list.data());
  }

  if (!pair_->allocated)
    error->all(FLERR,
               "Fix dptrain: reference pair {} has no coefficients: add coeff \"...\" with the "
               "arguments of its "
               "pair_coeff command",
               style_);
  for (int i = 1; i <= atom->ntypes; ++i)
    if (!pair_->setflag[i][i])
      error->all(FLERR,
                 "Fix dptrain: reference pair {} has no coefficients for atom type {}: each type "
                 "needs a coeff "
                 "\"...\"",
                 style_, i);
}

ReferencePair::~ReferencePair()
{
  if (raised_ghost_cutoff_ && comm->cutghostuser == *raised_ghost_cutoff_)
    comm->cutghostuser = user_ghost_cutoff_;
  delete pair_;
}

void ReferencePair::check_style() const
{
  if (pair_->ewaldflag || pair_->pppmflag || pair_->msmflag || pair_->dispersionflag ||
      pair_->tip4pflag)
    error->all(FLERR,
               "Fix dptrain: reference pair {} needs a kspace style, which a second pair style "
               "cannot have: make "
               "it the pair style of the run, with 'reference run' and the model in 'model FILE'",
               style_);
}

// What the pair_coeff command does with its arguments before the style sees them.
void ReferencePair::read_coefficients(const std::string &text)
{
  std::vector<std::string> words = utils::split_words(text);
  if (words.size() < 2)
    error->all(FLERR,
               "Fix dptrain: reference coeff \"{}\" needs the arguments of a pair_coeff command",
               text);
  if (pair_->one_coeff && (words[0] != "*" || words[1] != "*"))
    error->all(
        FLERR,
        "Fix dptrain: reference pair {} takes one coeff, and it must start with * *: found \"{}\"",
        style_, text);
  for (int k = 0; k < 2; ++k)
    if (char *number = utils::expand_type(FLERR, words[k], Atom::ATOM, lmp)) {
      words[k] = number;
      delete[] number;
    }
  if (utils::is_integer(words[0]) && utils::is_integer(words[1]) &&
      std::stoi(words[1]) < std::stoi(words[0]))
    std::swap(words[0], words[1]);
  std::vector<char *> list = pointers(words);
  pair_->coeff(static_cast<int>(list.size()), list.data());
}

void ReferencePair::init()
{
  // rerun calls this for every frame, but asks for neighbor lists once
  if (!neighbor->find_request(pair_)) {
    pair_->init();
    reach_cutoff();
  }
  set_up_ = false;
}

// Lists are made for the cutoff that the run's pair style has for each pair of types.
bool ReferencePair::looks_further() const
{
  if (!force->pair) return true;
  for (int i = 1; i <= atom->ntypes; ++i)
    for (int j = 1; j <= atom->ntypes; ++j)
      if (pair_->cutsq[i][j] > force->pair->cutsq[i][j]) return true;
  return false;
}

// Lists and ghosts are made for the pair style of the run; this style may look further.
void ReferencePair::reach_cutoff()
{
  // a value that is not the one set here comes from a comm_modify command
  if (!raised_ghost_cutoff_ || comm->cutghostuser != *raised_ghost_cutoff_)
    user_ghost_cutoff_ = comm->cutghostuser;
  comm->cutghostuser = user_ghost_cutoff_;
  raised_ghost_cutoff_.reset();
  if (!looks_further()) return;
  if (comm->mode != Comm::SINGLE)
    error->all(FLERR,
               "Fix dptrain: reference pair {} reaches further than the pair style of the run: use "
               "'comm_modify "
               "mode single'",
               style_);
  // a style asks for up to a few lists, which it numbers from 0 or 1
  for (int id = 0; id < 4; ++id)
    if (NeighRequest *request = neighbor->find_request(pair_, id))
      request->set_cutoff(pair_->cutforce);
  comm->cutghostuser = std::max(user_ghost_cutoff_, pair_->cutforce + neighbor->skin);
  raised_ghost_cutoff_ = comm->cutghostuser;
}

void ReferencePair::setup()
{
  pair_->setup();
  set_up_ = true;
}

void ReferencePair::request()
{
  if (!set_up_) setup();
  const int nall = atom->nlocal + atom->nghost;
  const std::size_t size = static_cast<std::size_t>(nall) * 3;
  double *f = nall ? atom->f[0] : nullptr;
  saved_.assign(f, f + size);
  std::fill(f, f + size, 0.0);
  pair_->compute(ENERGY_GLOBAL, VIRIAL_FDOTR);
  force_.assign(f, f + size);
  std::copy(saved_.begin(), saved_.end(), f);
  fold_(force_.data());

  double sums[7] = {pair_->eng_vdwl + pair_->eng_coul};
  std::copy(pair_->virial, pair_->virial + 6, sums + 1);
  MPI_Allreduce(MPI_IN_PLACE, sums, 7, MPI_DOUBLE, MPI_SUM, world);
  answer_ = ReferenceAnswer();
  answer_.status = ReferenceAnswer::Status::label;
  ReferenceLabel &label = answer_.label;
  label.step = update->ntimestep;
  label.energy = sums[0];
  std::copy(sums + 1, sums + 7, label.virial.begin());
  if (pair_->tail_flag) {
    const double volume = domain->xprd * domain->yprd * domain->zprd;
    label.energy += pair_->etail / volume;
    for (int k = 0; k < 3; ++k) label.virial[k] += pair_->ptail / volume;
  }
  label.force = force_.data();
}

ReferenceAnswer ReferencePair::poll()
{
  ReferenceAnswer answer = answer_;
  answer_ = ReferenceAnswer();
  return answer;
}

int ReferencePair::comm_forward() const
{
  return pair_->comm_forward;
}

int ReferencePair::comm_reverse() const
{
  return std::max(pair_->comm_reverse, pair_->comm_reverse_off);
}

double ReferencePair::memory_usage() const
{
  return pair_->memory_usage() +
         static_cast<double>((saved_.capacity() + force_.capacity()) * sizeof(double));
}
