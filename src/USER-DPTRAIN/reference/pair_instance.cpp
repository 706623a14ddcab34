/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/pair_instance.h"

#include <algorithm>
#include <array>
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
#include "nested/pair_set.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace {

constexpr double MARGIN = 1.0;  // Angstrom, of a box around atoms without cell

/// Edges of a box in the order of the region style prism, and where it begins.
struct Box {
  std::array<double, 3> low{}, high{};
  double xy = 0.0, xz = 0.0, yz = 0.0;
};

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
  explicit Instance(const PairInstance &owner) :
      owner_(owner), units_(unit_factors(owner.lmp_, "Fix dptrain"))
  {
    LAMMPS::argv words{"dptrain", "-log", "none", "-screen", "none", "-nocite"};
    guarded([&] { lammps_ = std::make_unique<LAMMPS>(words, MPI_COMM_SELF); });
    // styles of plugins
    const auto &known = *owner.lmp_->force->pair_map;
    lammps_->force->pair_map->insert(known.begin(), known.end());
  }

  void make_box(const Box &box, bool periodic)
  {
    command(fmt::format("units {}", owner_.lmp_->update->unit_style));
    command("atom_style atomic");
    command(periodic ? "boundary p p p" : "boundary f f f");
    command("box tilt large");
    const bool tilted = box.xy != 0.0 || box.xz != 0.0 || box.yz != 0.0;
    std::string region = fmt::format("region box {}", tilted ? "prism" : "block");
    for (int k = 0; k < 3; ++k) region += fmt::format(" {:.17g} {:.17g}", box.low[k], box.high[k]);
    if (tilted) region += fmt::format(" {:.17g} {:.17g} {:.17g}", box.xy, box.xz, box.yz);
    command(fmt::format("{} units box", region));
    command(fmt::format("create_box {} box", owner_.lmp_->atom->ntypes));
    command("mass * 1.0");
    for (const std::string &text : owner_.commands_) command(text);
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
      throw dptrain::Error(fmt::format("pair style {}: {}; check its arguments in 'reference pair'",
                                       owner_.style_, text));
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

PairInstance::PairInstance(LAMMPS *lmp, const PairOptions &options) :
    lmp_(lmp), style_(options.style)
{
  const auto expanded = [lmp](const std::string &command, const std::string &text) {
    std::string line = command;
    for (const std::string &word : expanded_words(lmp, text)) line += " " + word;
    return line;
  };
  std::string words;
  for (const std::string &arg : options.args) words += " " + arg;
  commands_.push_back(expanded("pair_style", options.style + words));
  for (const std::string &text : options.coeffs) commands_.push_back(expanded("pair_coeff", text));
  for (const std::string &text : options.modify) commands_.push_back(expanded("pair_modify", text));
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
  Instance instance(*this);
  instance.make_box(box_of(frame, unit_factors(lmp_, "Fix dptrain").length), frame.periodic);
  instance.place(frame, atom_type);
  return instance.compute();
}
