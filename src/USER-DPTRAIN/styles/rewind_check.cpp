/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/rewind_check.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "atom.h"
#include "error.h"
#include "fix.h"
#include "lammps.h"
#include "modify.h"
#include "styles/run_state.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

struct Refusal {
  const char *style;  // a pattern of LAMMPS
  const char *why;
};

const char BODIES[] = "moves bodies that do not go back";
const char ATOMS[] = "adds, removes or exchanges atoms";
const char BONDS[] = "changes bonds";
const char TIME[] = "moves atoms or box by the time alone, which does not go back";
const char HISTORY[] = "has a history that does not go back";
const char OTHERS[] = "follows another program or run, which does not go back";

const Refusal REFUSED[] = {
    {"^rigid", BODIES},  {"^poems", BODIES},    {"^deform", TIME},     {"/uef", TIME},
    {"^move", TIME},     {"gcmc", ATOMS},       {"^deposit", ATOMS},   {"^evaporate", ATOMS},
    {"^pour", ATOMS},    {"^atom/swap", ATOMS}, {"^mol/swap", ATOMS},  {"^hmc", ATOMS},
    {"^charge/", ATOMS}, {"^bond/", BONDS},     {"^colvars", HISTORY}, {"^plumed", HISTORY},
    {"^ttm", HISTORY},   {"^srd", HISTORY},     {"^lb/", HISTORY},     {"^ipi", OTHERS},
    {"^mdi/", OTHERS},   {"^neb", OTHERS},      {"^pimd", OTHERS}};

// These act by what the atoms are now, only look at them, or keep what they know with the atoms.
const char *const HARMLESS[] = {
    "^nve",      "^langevin",  "^gle",          "^viscous",   "^drag",   "^press/berend",
    "^setforce", "^addforce",  "^aveforce",     "^lineforce", "^efield", "^planeforce",
    "^addtorqu", "^enforce2d", "^temp/rescale", "^heat",      "^ehex",   "^momentum",
    "^recenter", "^freeze",    "^gravity",      "^indent",    "^wall/",  "^spring",
    "^restrain", "^shake",     "^rattle",       "^cmap",      "^qeq/",   "^external",
    "^python/",  "^dt/reset",  "^adapt",        "^ave/",      "^store/", "^property/",
    "^vector",   "^print",     "^halt",         "^pair$",     "^dptrain"};

void refuse(LAMMPS *lmp, const Fix *fix, const std::string &why)
{
  lmp->error->all(FLERR,
                  "Fix dptrain: rewind is not possible with fix {} of style {}, which {}: remove "
                  "this fix, or rewind",
                  fix->id, fix->style, why);
}

// Where LAMMPS uses a fix for itself, its style is in capitals.
bool may_remember(const Fix *fix)
{
  return !has_run_state(fix) && !isupper(static_cast<unsigned char>(fix->style[0])) &&
         std::none_of(std::begin(HARMLESS), std::end(HARMLESS),
                      [fix](const char *style) { return utils::strmatch(fix->style, style); });
}

}  // namespace

std::string LAMMPS_NS::check_rewind(LAMMPS *lmp)
{
  Error *error = lmp->error;
  if (lmp->kokkos)
    error->all(FLERR, "Fix dptrain: rewind does not work with the KOKKOS package: run without '-k "
                      "on', or without rewind");
  const Atom &atom = *lmp->atom;
  if (atom.ellipsoid_flag || atom.line_flag || atom.tri_flag || atom.body_flag)
    error->all(FLERR,
               "Fix dptrain: rewind does not work with atom style {}, whose atoms have a shape: "
               "remove rewind",
               atom.atom_style);
  std::string silent;
  for (const Fix *fix : lmp->modify->get_fix_list()) {
    for (const Refusal &refused : REFUSED)
      if (utils::strmatch(fix->style, refused.style)) refuse(lmp, fix, refused.why);
    if (fix->rigid_flag) refuse(lmp, fix, BODIES);
    if (fix->box_change & Fix::BOX_CHANGE_DOMAIN)
      refuse(lmp, fix, "gives atoms to other ranks than those that had them");
    if (may_remember(fix))
      silent += fmt::format("{}{} ({})", silent.empty() ? "" : ", ", fix->id, fix->style);
  }
  return silent;
}
