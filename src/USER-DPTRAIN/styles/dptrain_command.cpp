/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/dptrain_command.h"

#include <cstdio>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "adapter/dptrain_adapter.h"
#include "comm.h"
#include "dptrain/commands/command_options.h"
#include "error.h"
#include "lammps.h"
#include "reference/pair_instance.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

/// One overload for each kind of options.
class Subcommand {
 public:
  explicit Subcommand(LAMMPS *lmp) : lmp_(lmp) {}

  void operator()(const dptrain::HelpText &help) { print(help.text); }
  void operator()(dptrain::TrainOptions &options)
  {
    options.make_baseline = make_baseline();
    if (options.terminal) options.draw = [this](const std::string &text) { draw(text); };
    for (std::string *model : {&options.init_model, &options.finetune})
      if (!model->empty()) *model = find_model(lmp_, "dptrain train", *model);
    work("dptrain train", options.device,
         [&](auto comm, auto log) { run_training(comm, options, log); });
  }
  void operator()(dptrain::TestOptions &options)
  {
    options.make_baseline = make_baseline();
    options.model = find_model(lmp_, "dptrain test", options.model);
    work("dptrain test", options.device,
         [&](auto comm, auto log) { run_test(comm, options, log); });
  }
  void operator()(const dptrain::StatOptions &options)
  {
    work("dptrain stat", {}, [&](auto comm, auto log) { run_statistics(comm, options, log); });
  }
  void operator()(const dptrain::ConvertOptions &options)
  {
    work("dptrain convert", {}, [&](auto comm, auto log) { run_convert(comm, options, log); });
  }

 private:
  dptrain::MakeBaseline make_baseline() const
  {
    return [lmp = lmp_](const auto &baseline, const auto &type_map) {
      return baseline_of_frames(lmp, *world_communicator(lmp), baseline, type_map);
    };
  }
  template <class Work>
  void work(const std::string &who, const dptrain::DeviceRequest &device, Work &&todo)
  {
    start_kernels(lmp_, who, device);
    collective(lmp_, who, [&] {
      todo(world_communicator(lmp_), [this](const std::string &line) { print(line); });
    });
  }
  void print(const std::string &line)
  {
    if (lmp_->comm->me != 0) return;
    utils::logmesg(lmp_, "{}\n", line);
    if (lmp_->screen) fflush(lmp_->screen);
    if (lmp_->logfile) fflush(lmp_->logfile);
  }
  void draw(const std::string &text)
  {
    if (lmp_->comm->me != 0 || !lmp_->screen) return;
    fputs(text.c_str(), lmp_->screen);
    fflush(lmp_->screen);
  }

  LAMMPS *lmp_;
};

}  // namespace

void DPTrainCommand::command(int narg, char **arg)
{
  if (narg < 1) utils::missing_cmd_args(FLERR, "dptrain train|test|stat|convert", error);
  dptrain::CommandOptions options = collective(lmp, "dptrain", [&] {
    return dptrain::read_command_options(std::vector<std::string>(arg, arg + narg));
  });
  std::visit(Subcommand(lmp), options);
}
