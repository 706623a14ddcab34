/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/pair_instance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <mpi.h>

#include "adapter/dptrain_adapter.h"
#include "atom.h"
#include "domain.h"
#include "force.h"
#include "input.h"
#include "lammps.h"
#include "library.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace {

constexpr double MARGIN = 1.0;  // Angstrom, of a box around atoms without cell

/// Edges of a box in the order of the region style prism, and where it begins.
struct Box {
  std::array<double, 3> low{}, high{};
  double xy = 0.0, xz = 0.0, yz = 0.0;
};

using Matrix = std::array<double, 9>;

// LAMMPS wants the first vector of a cell along x, and the second in the plane of x and y: the axes
// of such a frame of reference, as rows. An angle between the vectors may turn left.
Matrix axes_of(const dptrain::WholeFrame &frame)
{
  Matrix axes{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  if (!frame.periodic) return axes;
  for (int k = 0; k < 3; ++k) {
    double *axis = &axes[3 * k];
    std::copy_n(&frame.box[3 * k], 3, axis);
    for (int before = 0; before < k; ++before) {
      const double *other = &axes[3 * before];
      double along = 0.0;
      for (int c = 0; c < 3; ++c) along += frame.box[3 * k + c] * other[c];
      for (int c = 0; c < 3; ++c) axis[c] -= along * other[c];
    }
    const double length = std::hypot(axis[0], axis[1], axis[2]);
    for (int c = 0; c < 3; ++c) axis[c] /= length;
  }
  return axes;
}

// Vectors [n][3] in the frame of reference of these axes.
template <class Values> void turn(Values &values, const Matrix &axes)
{
  for (std::size_t i = 0; i < values.size(); i += 3) {
    const double v[3] = {values[i], values[i + 1], values[i + 2]};
    for (int k = 0; k < 3; ++k)
      values[i + k] = v[0] * axes[3 * k] + v[1] * axes[3 * k + 1] + v[2] * axes[3 * k + 2];
  }
}

Matrix transposed(const Matrix &m)
{
  return {m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]};
}

Box box_of(const dptrain::WholeFrame &frame, double length)
{
  Box box;
  for (int k = 0; k < 3; ++k) {
    box.high[k] = frame.box[4 * k] * length;
    if (frame.periodic) continue;
    for (std::size_t i = k; i < frame.coord.size(); i += 3) {
      const double x = frame.coord[i];
      box.low[k] =
          (i == static_cast<std::size_t>(k) ? x - MARGIN : std::min(box.low[k], x - MARGIN));
      box.high[k] =
          (i == static_cast<std::size_t>(k) ? x + MARGIN : std::max(box.high[k], x + MARGIN));
    }
    box.low[k] *= length;
    box.high[k] *= length;
  }
  if (!frame.periodic) return box;
  box.xy = frame.box[3] * length;
  box.xz = frame.box[6] * length;
  box.yz = frame.box[7] * length;
  return box;
}

}  // namespace

/// The LAMMPS of one computation. Functions throw dptrain::Error.
class PairInstance::Instance {
 public:
  explicit Instance(const PairInstance &owner) : owner_(owner)
  {
    LAMMPS::argv words{"dptrain", "-log", "none", "-screen", "none", "-nocite"};
    guarded([&] { lammps_ = std::make_unique<LAMMPS>(words, MPI_COMM_SELF); });
    // styles of plugins
    const auto &known = *owner.lmp_->force->pair_map;
    lammps_->force->pair_map->insert(known.begin(), known.end());
    command(fmt::format("units {}", owner_.words_.units));
    guarded([&] { units_ = unit_factors(lammps_.get(), owner_.who_); });
  }

  void make_box(const Box &box, bool periodic)
  {
    const dptrain::Baseline &words = owner_.words_;
    command(words.charges.empty() ? "atom_style atomic" : "atom_style charge");
    command(periodic ? "boundary p p p" : "boundary f f f");
    command("box tilt large");
    const bool tilted = box.xy != 0.0 || box.xz != 0.0 || box.yz != 0.0;
    std::string region = fmt::format("region box {}", tilted ? "prism" : "block");
    for (int k = 0; k < 3; ++k) region += fmt::format(" {:.17g} {:.17g}", box.low[k], box.high[k]);
    if (tilted) region += fmt::format(" {:.17g} {:.17g} {:.17g}", box.xy, box.xz, box.yz);
    command(fmt::format("{} units box", region));
    command(fmt::format("create_box {} box", owner_.ntypes_));
    command("mass * 1.0");
    command("pair_style " + words.pair_style);
    const auto each = [&](const char *name, const std::vector<std::string> &arguments) {
      for (const std::string &text : arguments) command(fmt::format("{} {}", name, text));
    };
    each("pair_coeff", words.pair_coeff);
    each("pair_modify", words.pair_modify);
    if (words.kspace_style.empty()) return;
    command("kspace_style " + words.kspace_style);
    each("kspace_modify", words.kspace_modify);
  }

  void place(const dptrain::WholeFrame &frame, const std::vector<int> &atom_type)
  {
    const int natoms = static_cast<int>(frame.type.size());
    std::vector<tagint> tag(natoms);
    std::vector<int> type(natoms);
    std::vector<double> x(frame.coord);
    for (double &component : x) component *= units_.length;
    for (int i = 0; i < natoms; ++i) {
      tag[i] = i + 1;
      type[i] = atom_type[frame.type[i]];
    }
    guarded([&] {
      lammps_create_atoms(lammps_.get(), natoms, tag.data(), type.data(), x.data(), nullptr,
                          nullptr, 0);
    });
    if (lammps_->atom->nlocal != natoms)
      throw dptrain::Error(fmt::format(
          "LAMMPS has {} of {} atoms of the frame in its box: check that the cell holds them",
          lammps_->atom->nlocal, natoms));
    const dptrain::Baseline &words = owner_.words_;
    if (!words.charges.empty())
      for (int i = 0; i < natoms; ++i)
        lammps_->atom->q[i] = words.charges.at(words.elements[lammps_->atom->type[i] - 1]);
  }

  dptrain::Label compute()
  {
    command("run 0 post no");
    dptrain::Label label;
    const Atom *atom = lammps_->atom;
    label.force.resize(3 * static_cast<std::size_t>(atom->nlocal));
    for (int i = 0; i < atom->nlocal; ++i)
      for (int k = 0; k < 3; ++k)
        label.force[3 * static_cast<std::size_t>(atom->tag[i] - 1) + k] =
            atom->f[i][k] / units_.force();
    label.energy = thermo("pe") / units_.energy;
    // the atoms do not move: the pressure is the virial
    const Domain *domain = lammps_->domain;
    const double to_virial =
        domain->xprd * domain->yprd * domain->zprd / (lammps_->force->nktv2p * units_.energy);
    label.virial.emplace();
    const char *const names[] = {"pxx", "pxy", "pxz", "pxy", "pyy", "pyz", "pxz", "pyz", "pzz"};
    for (int k = 0; k < 9; ++k) (*label.virial)[k] = thermo(names[k]) * to_virial;
    return label;
  }

  /// Of an Angstrom, in its units.
  double length() const { return units_.length; }

 private:
  void guarded(const std::function<void()> &work) const
  {
    try {
      work();
    } catch (const dptrain::Error &) {
      throw;
    } catch (const std::exception &error) {
      std::string text = error.what();
      text.erase(text.find_last_not_of(" \n") + 1);
      throw dptrain::Error(
          fmt::format("pair style {}: {}; {}", owner_.words_.pair_style, text, owner_.advice_));
    }
  }
  void command(const std::string &text)
  {
    guarded([&] { lammps_->input->one(text); });
  }
  double thermo(const char *name) const { return lammps_get_thermo(lammps_.get(), name); }

  const PairInstance &owner_;
  UnitFactors units_;
  std::unique_ptr<LAMMPS> lammps_;
};

PairInstance::PairInstance(LAMMPS *lmp, const std::string &who, const std::string &advice,
                           const dptrain::Baseline &words, int ntypes) :
    lmp_(lmp), who_(who), advice_(advice), words_(words), ntypes_(ntypes)
{
}

void PairInstance::check() const
{
  Box box;
  box.high.fill(100.0);
  Instance(*this).make_box(box, true);
}

dptrain::Label PairInstance::compute(const dptrain::WholeFrame &frame,
                                     const std::vector<int> &atom_type) const
{
  dptrain::WholeFrame turned = frame;
  const Matrix axes = axes_of(frame);
  turn(turned.box, axes);
  turn(turned.coord, axes);
  Instance instance(*this);
  instance.make_box(box_of(turned, instance.length()), frame.periodic);
  instance.place(turned, atom_type);
  dptrain::Label label = instance.compute();
  const Matrix back = transposed(axes);
  turn(label.force, back);
  // both indices of the virial
  turn(*label.virial, back);
  label.virial = transposed(*label.virial);
  turn(*label.virial, back);
  return label;
}

std::function<dptrain::Label(const dptrain::WholeFrame &)>
LAMMPS_NS::baseline_of_frames(LAMMPS *lmp, const dptrain::Communicator &comm,
                              const std::vector<dptrain::Baseline> &baseline,
                              const std::vector<std::string> &type_map)
{
  struct Part {
    PairInstance instance;
    std::vector<int> atom_type;
  };
  std::vector<Part> parts;
  dptrain::guarded(comm, [&] {
    for (const dptrain::Baseline &one : baseline) {
      const auto &elements = one.elements;
      Part part{{lmp, "Baseline", "check the words of the baseline", one,
                 static_cast<int>(elements.size())},
                {}};
      for (const std::string &name : type_map)
        part.atom_type.push_back(static_cast<int>(
            std::find(elements.begin(), elements.end(), name) - elements.begin() + 1));
      if (comm.rank() == 0) part.instance.check();
      parts.push_back(std::move(part));
    }
  });
  return [parts](const dptrain::WholeFrame &frame) {
    dptrain::Label sum = parts.at(0).instance.compute(frame, parts[0].atom_type);
    for (std::size_t k = 1; k < parts.size(); ++k)
      add(sum, parts[k].instance.compute(frame, parts[k].atom_type), 1.0);
    return sum;
  };
}
