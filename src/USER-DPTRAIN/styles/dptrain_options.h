#pragma once

#include <string>
#include <variant>
#include <vector>

#include "dptrain/commands/commands.h"

namespace LAMMPS_NS {

/// A request for a help text.
struct HelpText {
  std::string text;
};

/// `dptrain convert FROM TO` for files that need no other program.
struct ConvertOptions {
  std::string from, to;
};

using CommandOptions = std::variant<HelpText, dptrain::TrainOptions, dptrain::TestOptions,
                                    dptrain::StatOptions, ConvertOptions>;

/// The words of the command `dptrain` (without its name) as options of one of its subcommands. Throws dptrain::Error
/// with the usage that fits.
CommandOptions read_command_options(const std::vector<std::string> &words);

}  // namespace LAMMPS_NS
