/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/nested_kspace.h"

#include <algorithm>

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "kspace.h"
#include "nested/pair_set.h"
#include "utils.h"

using namespace LAMMPS_NS;

NestedKSpace::NestedKSpace(LAMMPS *lmp, const std::string &who, const PairOptions &options) :
    Pointers(lmp), who_(who)
{
  std::vector<std::string> words = expanded_words(lmp, options.kspace);
  if (words.empty() || words[0] == "none")
    error->all(FLERR, "{}: kspace \"{}\" needs the arguments of a kspace_style command", who_,
               options.kspace);
  style_name_ = words[0];
  if (force->kspace_map->find(style_name_) == force->kspace_map->end())
    error->all(FLERR, "{}: {}", who_, utils::check_packages_for_style("kspace", style_name_, lmp));
  if (style_name_.find("/kk") != std::string::npos)
    error->all(FLERR, "{}: {} works on the arrays of KOKKOS: use the plain style, without a suffix",
               who_, style_name_);
  int suffix = 0;
  kspace_.reset(force->new_kspace(style_name_, 0, suffix));
  std::vector<char *> list;
  for (std::size_t k = 1; k < words.size(); ++k) list.push_back(words[k].data());
  kspace_->settings(static_cast<int>(list.size()), list.data());
  for (const std::string &text : options.kspace_modify) modify(text);
}

NestedKSpace::~NestedKSpace() = default;

void NestedKSpace::modify(const std::string &words)
{
  std::vector<std::string> split = expanded_words(lmp, words);
  std::vector<char *> list;
  for (std::string &word : split) list.push_back(word.data());
  kspace_->modify_params(static_cast<int>(list.size()), list.data());
}

void NestedKSpace::init()
{
  if (kspace_->scalar_pressure_flag)
    error->all(FLERR,
               "{}: kspace style {} must compute the whole virial: add kspace_modify "
               "\"pressure/scalar no\"",
               who_, style_name_);
  kspace_->init();
}

void NestedKSpace::setup()
{
  box_ = box();
  division_ = division();
  kspace_->setup();
}

std::vector<double> NestedKSpace::box() const
{
  std::vector<double> result(domain->boxlo, domain->boxlo + 3);
  result.insert(result.end(), domain->boxhi, domain->boxhi + 3);
  result.insert(result.end(), {domain->xy, domain->xz, domain->yz});
  return result;
}

// How the box is divided over the ranks, in fractions of it.
std::vector<double> NestedKSpace::division() const
{
  if (comm->layout == Comm::LAYOUT_TILED) return {&comm->mysplit[0][0], &comm->mysplit[0][0] + 6};
  std::vector<double> result(comm->xsplit, comm->xsplit + comm->procgrid[0] + 1);
  result.insert(result.end(), comm->ysplit, comm->ysplit + comm->procgrid[1] + 1);
  result.insert(result.end(), comm->zsplit, comm->zsplit + comm->procgrid[2] + 1);
  return result;
}

void NestedKSpace::follow_box()
{
  int changed = division() != division_;
  MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, world);
  if (changed) kspace_->reset_grid();
  if (changed || box() != box_) setup();
}

bool NestedKSpace::compute(int eflag, int vflag)
{
  follow_box();
  kspace_->qsum_qsq(0);
  if (!kspace_->compute_flag) return false;
  // in a triclinic box positions go to fractions of the box and back, which changes their last
  // digits
  const bool restore = domain->triclinic && atom->nlocal;
  if (restore) x_.assign(atom->x[0], atom->x[0] + 3 * static_cast<std::size_t>(atom->nlocal));
  kspace_->compute(eflag, vflag);
  if (restore) std::copy(x_.begin(), x_.end(), atom->x[0]);
  return true;
}

double NestedKSpace::memory_usage() const
{
  return kspace_->memory_usage() + static_cast<double>(x_.capacity() * sizeof(double));
}
