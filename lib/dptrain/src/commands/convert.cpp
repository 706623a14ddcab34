#include <filesystem>
#include <fmt/format.h>

#include "commands/convert_data.h"
#include "dptrain/base/error.h"
#include "dptrain/commands/commands.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/files/model_format.h"

namespace dptrain {

void run_convert(std::shared_ptr<const Communicator> comm, const ConvertOptions &options,
                 const Log &log)
{
  ConvertedData data;
  guarded(*comm, [&] {
    if (comm->rank() != 0) return;
    const auto &[from, to] = options;
    const ModelFormat *format = format_of_name(to);
    if (!format && is_data_name(to)) {
      data = convert_data(from, to);
      return;
    }
    if (!format)
      throw Error(
          fmt::format("{}: inside LAMMPS only .dp, .pth and .txt (NEP) files of models, and "
                      ".xyz, .extxyz and .frames files and folders of "
                      "data are written; use the program dptrain in a shell for other "
                      "formats: dptrain convert {} {}",
                      to, from, to));
    if (std::filesystem::exists(to) && is_checkpoint(to))
      throw Error(fmt::format(
          "{}: a checkpoint is there, whose training could not go on without it; give another name",
          to));
    if (std::filesystem::exists(to) && format == format_of_name(".txt"))
      throw Error(
          fmt::format("{}: a file is there, perhaps the potential that all began with; give "
                      "another name",
                      to));
    write_model_file(to, read_model_file(from, format == format_of_name(".dp")));
  });
  if (comm->rank() == 0)
    log(fmt::format("wrote {}{}{}", options.to,
                    data.frames > 0 ? fmt::format(": {} frames", data.frames) : "",
                    data.cut.empty()
                        ? ""
                        : fmt::format("; what is behind the last complete frame of {} was left out",
                                      data.cut)));
}

}  // namespace dptrain
