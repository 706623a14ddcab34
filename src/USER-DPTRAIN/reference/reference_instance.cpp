/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/reference_instance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mpi.h>
#include <string>

#include "adapter/dptrain_adapter.h"
#include "adapter/style_names.h"
#include "atom.h"
#include "dptrain/parallel/broadcast.h"
#include "error.h"
#include "lammps.h"
#include "nested/baseline_words.h"

using namespace LAMMPS_NS;

InstanceSource::InstanceSource(LAMMPS *lmp, const PairOptions &options, FindSlot find_slot) :
    lmp_(lmp),
    comm_(world_communicator(lmp)),
    instance_(lmp, "Fix dptrain", "check its arguments in 'reference pair'",
              baseline_of(lmp, options, {}), lmp->atom->ntypes),
    find_slot_(std::move(find_slot)),
    has_kspace_(!options.kspace.empty())
{
  collective(lmp, FIX_STYLE, [&] {
    dptrain::guarded(*comm_, [&] {
      if (comm_->rank() == 0) instance_.check();
    });
  });
}

void InstanceSource::init()
{
  check_types();
  take_charges();
}

void InstanceSource::check_types() const
{
  const std::vector<std::string> &elements = find_slot_().elements();
  for (auto type = elements.begin(); type != elements.end(); ++type) {
    const auto other = std::find(type + 1, elements.end(), *type);
    if (other == elements.end()) continue;
    lmp_->error->all(
        FLERR,
        "Fix dptrain: atom types {} and {} are both {}, and 'reference pair' would not "
        "know which of the two an atom of a configuration is that the run is not in "
        "(explore, cutout): give each element one type, or remove explore and cutout",
        type - elements.begin() + 1, other - elements.begin() + 1, *type);
  }
}

void InstanceSource::take_charges()
{
  const Atom *atom = lmp_->atom;
  if (!atom->q_flag) return;
  const std::vector<std::string> &elements = find_slot_().elements();
  const std::map<std::string, double> charges = charges_of(lmp_, elements);
  double largest = 0.0;
  for (int i = 0; i < atom->nlocal; ++i) largest = std::max(largest, std::abs(atom->q[i]));
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, lmp_->world);
  if (has_kspace_ && largest > 0.0 && charges.empty())  // other styles may do without
    lmp_->error->all(FLERR,
                     "Fix dptrain: 'reference pair' needs the charges of configurations that the "
                     "run is not in (explore, cutout), and atoms of one element have different "
                     "ones: give each element one charge, or remove explore and cutout");
  if (!charges.empty()) instance_.set_charges(elements, charges);
}

std::int64_t InstanceSource::submit(const dptrain::WholeFrame &frame)
{
  waiting_.emplace_back(++submitted_, frame);
  return submitted_;
}

void InstanceSource::cancel(std::int64_t request)
{
  waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(),
                                [request](const Request &one) { return one.first == request; }),
                 waiting_.end());
}

dptrain::LabelAnswer InstanceSource::compute(const Request &request) const
{
  const std::vector<int> &model_type = find_slot_().model_type();
  std::vector<int> atom_type(find_slot_().type_map().size(), 0);
  for (std::size_t type = model_type.size(); type-- > 1;)  // the first one of an element
    if (model_type[type] >= 0) atom_type[model_type[type]] = static_cast<int>(type);
  dptrain::LabelAnswer answer;
  answer.request = request.first;
  answer.label = instance_.compute(request.second, atom_type);
  return answer;
}

std::vector<dptrain::LabelAnswer> InstanceSource::poll()
{
  const std::vector<Request> requests = std::exchange(waiting_, {});
  std::vector<dptrain::LabelAnswer> answers(requests.size());
  const int ranks = comm_->size();
  dptrain::guarded(*comm_, [&] {
    for (std::size_t k = comm_->rank(); k < requests.size(); k += ranks) try {
        answers[k] = compute(requests[k]);
      } catch (const dptrain::Error &error) {
        if (!may_fail_) throw;
        answers[k].failure = error.what();
      }
  });
  for (std::size_t k = 0; k < requests.size(); ++k) {
    answers[k].request = requests[k].first;
    dptrain::broadcast(*comm_, answers[k], static_cast<int>(k % ranks));
  }
  return answers;
}
