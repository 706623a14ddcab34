/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/value_source.h"

#include <algorithm>

#include "atom.h"
#include "compute.h"
#include "error.h"
#include "fix.h"
#include "input.h"
#include "modify.h"
#include "update.h"
#include "utils.h"
#include "variable.h"

using namespace LAMMPS_NS;

ValueSource::ValueSource(LAMMPS *lmp, const std::string &what, const std::string &text) :
    Pointers(lmp), what_(what), text_(text)
{
  const std::string prefix = text.substr(0, 2);
  const std::size_t bracket = text.find('[');
  id_ = text.size() > 2 ? text.substr(2, bracket == std::string::npos ? bracket : bracket - 2) : "";
  if (bracket != std::string::npos) {
    const std::string index = text.substr(bracket + 1, text.size() - bracket - 2);
    const bool number = utils::is_integer(index) && index.size() < 9;
    if (text.back() != ']' || !number || std::stoi(index) < 1) id_.clear();
    if (!id_.empty()) index_ = std::stoi(index);
  }
  if (prefix == "f_") kind_ = Kind::fix;
  if (prefix == "v_") kind_ = Kind::variable;
  if (id_.empty() || (kind_ == Kind::compute && prefix != "c_") ||
      (kind_ == Kind::variable && index_ > 0))
    error->all(FLERR,
               "Fix dptrain: reference values {} {}: use the name of a value, c_ID, c_ID[k], f_ID, "
               "f_ID[k] or v_NAME",
               what_, text_);
}

void ValueSource::wrong(const std::string &needed) const
{
  error->all(FLERR, "Fix dptrain: reference values {} {}: needed is {}", what_, text_, needed);
}

void ValueSource::need(bool fine, const std::string &needed) const
{
  if (!fine) wrong(needed);
}

Compute *ValueSource::compute() const
{
  if (kind_ != Kind::compute) return nullptr;
  Compute *compute = modify->get_compute_by_id(id_);
  need(compute, fmt::format("a compute that exists: there is none with the ID {}", id_));
  return compute;
}

Fix *ValueSource::fix() const
{
  if (kind_ != Kind::fix) return nullptr;
  Fix *fix = modify->get_fix_by_id(id_);
  need(fix, fmt::format("a fix that exists: there is none with the ID {}", id_));
  return fix;
}

int ValueSource::variable() const
{
  const int index = input->variable->find(id_.c_str());
  need(index >= 0, fmt::format("a variable that exists: there is none with the name {}", id_));
  return index;
}

void ValueSource::check_scalar() const
{
  const std::string needed =
      "one number: a global scalar, a component of a global vector, or an equal-style variable";
  if (kind_ == Kind::variable) return need(input->variable->equalstyle(variable()), needed);
  const auto has = [this](const auto &style) {
    return index_ == 0 ? style.scalar_flag : style.vector_flag && index_ <= style.size_vector;
  };
  need(kind_ == Kind::fix ? has(*fix()) : has(*compute()), needed);
}

void ValueSource::check_six() const
{
  const std::string needed =
      "a global vector of six numbers (xx yy zz xy xz yz), or a vector-style variable";
  if (kind_ == Kind::variable) return need(input->variable->vectorstyle(variable()), needed);
  const auto has = [this](const auto &style) {
    return index_ == 0 && style.vector_flag && style.size_vector >= 6;
  };
  need(kind_ == Kind::fix ? has(*fix()) : has(*compute()), needed);
}

void ValueSource::check_vectors() const
{
  const auto has = [this](const auto &style) {
    return index_ == 0 && style.peratom_flag && style.size_peratom_cols >= 3;
  };
  need(kind_ != Kind::variable && (kind_ == Kind::fix ? has(*fix()) : has(*compute())),
       "an array with three columns for each atom, or three values that are numbers for each atom");
}

void ValueSource::check_column() const
{
  const std::string needed = "a number for each atom: a per-atom vector, a column of a per-atom "
                             "array, or an atom-style variable";
  if (kind_ == Kind::variable) return need(input->variable->atomstyle(variable()), needed);
  const auto has = [this](const auto &style) {
    return style.peratom_flag &&
           (index_ == 0 ? style.size_peratom_cols == 0 : index_ <= style.size_peratom_cols);
  };
  need(kind_ == Kind::fix ? has(*fix()) : has(*compute()), needed);
}

void ValueSource::check_every_step() const
{
  const Fix *source = fix();
  if (!source || (source->peratom_flag ? source->peratom_freq : source->global_freq) == 1) return;
  error->all(FLERR,
             "Fix dptrain: reference values {} {}: in mode active a label may be needed at any "
             "step, and fix {} does not have values at every step: let it have them, or add 'mode "
             "passive'",
             what_, text_, id_);
}

// Fixes have values at multiples of their own number of steps.
void ValueSource::check_step(int frequency) const
{
  if (frequency > 0 && update->ntimestep % frequency == 0) return;
  error->all(FLERR,
             "Fix dptrain: reference values {} {}: fix {} has values every {} steps, and not at "
             "step {}, where a label is needed: choose 'every' as a multiple; until the first "
             "training of a new model has ended, labels are needed at every step",
             what_, text_, id_, frequency, update->ntimestep);
}

double ValueSource::scalar() const
{
  if (kind_ == Kind::variable) return input->variable->compute_equal(variable());
  if (Fix *source = fix()) {
    check_step(source->global_freq);
    return index_ == 0 ? source->compute_scalar() : source->compute_vector(index_ - 1);
  }
  Compute *source = compute();
  const int flag = index_ == 0 ? Compute::INVOKED_SCALAR : Compute::INVOKED_VECTOR;
  if (!(source->invoked_flag & flag)) {
    if (index_ == 0)
      source->compute_scalar();
    else
      source->compute_vector();
    source->invoked_flag |= flag;
  }
  return index_ == 0 ? source->scalar : source->vector[index_ - 1];
}

std::array<double, 6> ValueSource::six() const
{
  std::array<double, 6> result{};
  if (kind_ == Kind::variable) {
    double *values = nullptr;
    const int length = input->variable->compute_vector(variable(), &values);
    need(length == 6, fmt::format("a vector of six numbers: this one has {}", length));
    std::copy(values, values + 6, result.begin());
  } else if (Fix *source = fix()) {
    check_step(source->global_freq);
    for (int k = 0; k < 6; ++k) result[k] = source->compute_vector(k);
  } else {
    Compute *pressure = compute();
    if (!(pressure->invoked_flag & Compute::INVOKED_VECTOR)) {
      pressure->compute_vector();
      pressure->invoked_flag |= Compute::INVOKED_VECTOR;
    }
    std::copy(pressure->vector, pressure->vector + 6, result.begin());
  }
  return result;
}

const Compute *ValueSource::invoke_peratom() const
{
  Compute *source = compute();
  if (!(source->invoked_flag & Compute::INVOKED_PERATOM)) {
    source->compute_peratom();
    source->invoked_flag |= Compute::INVOKED_PERATOM;
  }
  return source;
}

void ValueSource::vectors(double *out) const
{
  double **array = nullptr;
  if (const Fix *source = fix()) {
    check_step(source->peratom_freq);
    array = source->array_atom;
  } else {
    array = invoke_peratom()->array_atom;
  }
  for (int i = 0; i < atom->nlocal; ++i)
    for (int k = 0; k < 3; ++k) out[3 * i + k] = array[i][k];
}

void ValueSource::column(double *out) const
{
  if (kind_ == Kind::variable) {
    input->variable->compute_atom(variable(), 0, out, 3, 0);
    return;
  }
  const auto copy = [this, out](const auto &source) {
    for (int i = 0; i < atom->nlocal; ++i)
      out[3 * i] = index_ == 0 ? source.vector_atom[i] : source.array_atom[i][index_ - 1];
  };
  if (const Fix *source = fix()) {
    check_step(source->peratom_freq);
    copy(*source);
  } else {
    copy(*invoke_peratom());
  }
}
