#include "reference_socket.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "dptrain/frames/whole_frame.h"
#include "error.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

const char WHO[] = "Fix dptrain";
constexpr double LONG = 3600.0;  // seconds of one wait for an answer; any number will do

// A broadcast from rank 0, for which the others may wait for hours without using their cores: MPI's own way of waiting
// is a busy loop. They look more rarely the longer it takes.
void patient_broadcast(void *data, int count, MPI_Datatype type, MPI_Comm comm)
{
  MPI_Request request;
  MPI_Ibcast(data, count, type, 0, comm, &request);
  std::chrono::microseconds nap(20);
  const std::chrono::microseconds longest(10000);
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  while (!done) {
    std::this_thread::sleep_for(nap);
    nap = std::min(nap + nap / 10, longest);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

void broadcast_text(std::string &text, int size, MPI_Comm comm)
{
  text.resize(size);
  MPI_Bcast(text.data(), size, MPI_CHAR, 0, comm);
}

}  // namespace

ReferenceSocket::ReferenceSocket(LAMMPS *lmp, const SocketOptions &options,
                                 const std::string &fix_id, FindSlot find_slot) :
    Pointers(lmp),
    options_(options),
    structure_path_(fix_id + ".init.xyz"),
    find_slot_(std::move(find_slot))
{
  const auto log = [this](const std::string &text) {
    utils::logmesg(this->lmp, "{}: {}\n", WHO, text);
    for (FILE *out : {screen, logfile})  // who waits wants to know for whom
      if (out) fflush(out);
  };
  collective(lmp, WHO, [&] {
    dptrain::guarded(*world_communicator(lmp), [&] {
      if (comm->me != 0) return;
      dptrain::LabelServerOptions server;
      server.address = options_.address;
      server.timeout = options_.timeout;
      server.wait = options_.wait;
      server.retries = options_.retries;
      server.virial = options_.virial;
      server_ = std::make_unique<dptrain::LabelServer>(server, log);
    });
  });
}

dptrain::WholeFrame ReferenceSocket::gather(std::vector<tagint> *tags) const
{
  const ModelSlot &slot = find_slot_();
  const double *f = atom->nlocal ? atom->f[0] : nullptr;  // not looked at
  return gather_atoms(lmp, slot.model_type, f, slot.cutoff, unit_factors(lmp, WHO), tags);
}

void ReferenceSocket::init()
{
  if (!options_.virial && domain->box_change && comm->me == 0)
    error->warning(FLERR,
                   "{}: with 'virial no' the pressure does not know of the reference: where that "
                   "moves the atoms, what "
                   "changes the box acts on the pressure of the model",
                   WHO);
}

void ReferenceSocket::setup()
{
  const dptrain::WholeFrame frame = gather(nullptr);
  const std::array<bool, 3> periodic = {domain->xperiodic != 0, domain->yperiodic != 0,
                                        domain->zperiodic != 0};
  collective(lmp, WHO, [&] {
    dptrain::guarded(*world_communicator(lmp), [&] {
      if (comm->me == 0)
        dptrain::write_structure(structure_path_, frame, find_slot_().type_map, periodic);
    });
  });
}

void ReferenceSocket::request()
{
  const dptrain::WholeFrame frame = gather(&tags_);
  step_ = update->ntimestep;
  if (server_) server_->submit(frame);
  pending_ = true;
}

// On rank 0.
dptrain::LabelAnswer ReferenceSocket::await_answer()
{
  for (;;)
    for (dptrain::LabelAnswer &answer : server_->poll(LONG)) return std::move(answer);
}

ReferenceAnswer ReferenceSocket::poll()
{
  ReferenceAnswer result;
  if (!pending_) return result;
  pending_ = false;
  dptrain::LabelAnswer answer;
  if (server_) answer = local(lmp, WHO, [&] { return await_answer(); });
  std::array<double, 11> numbers{};  // energy, virial, length of the failure's text
  numbers[0] = answer.label.energy.value_or(0.0);
  if (answer.label.virial)
    std::copy(answer.label.virial->begin(), answer.label.virial->end(), numbers.begin() + 1);
  numbers[10] = static_cast<double>(answer.failure.size());
  patient_broadcast(numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, world);
  broadcast_text(answer.failure, static_cast<int>(numbers[10]), world);
  if (!answer.failure.empty()) {
    if (options_.stop)
      error->all(FLERR, "{}: no label at step {}: {}; 'failed skip' would go on without it", WHO,
                 step_, answer.failure);
    result.status = ReferenceAnswer::Status::failed;
    result.failure = answer.failure;
    return result;
  }
  all_force_ = std::move(answer.label.force);
  take_own_forces();
  const double *w = &numbers[1], unit = unit_factors(lmp, WHO).energy;
  result.status = ReferenceAnswer::Status::label;
  ReferenceLabel &label = result.label;
  label.step = step_;
  label.energy = numbers[0] * unit;
  label.has_virial = options_.virial;
  label.virial = {w[0], w[4], w[8], 0.5 * (w[1] + w[3]), 0.5 * (w[2] + w[6]), 0.5 * (w[5] + w[7])};
  for (double &component : label.virial) component *= unit;
  label.force = force_.data();
  return result;
}

// From rank 0 to the owners of the atoms, wherever these are by now.
void ReferenceSocket::take_own_forces()
{
  all_force_.resize(tags_.size() * 3);
  MPI_Bcast(all_force_.data(), static_cast<int>(all_force_.size()), MPI_DOUBLE, 0, world);
  const double unit = unit_factors(lmp, WHO).force();
  force_.resize(static_cast<std::size_t>(atom->nlocal) * 3);
  for (int i = 0; i < atom->nlocal; ++i) {
    const auto place = std::lower_bound(tags_.begin(), tags_.end(), atom->tag[i]) - tags_.begin();
    for (int k = 0; k < 3; ++k) force_[3 * i + k] = all_force_[3 * place + k] * unit;
  }
}

double ReferenceSocket::memory_usage() const
{
  const std::size_t numbers = all_force_.capacity() + force_.capacity();
  return static_cast<double>(numbers * sizeof(double) + tags_.capacity() * sizeof(tagint));
}
