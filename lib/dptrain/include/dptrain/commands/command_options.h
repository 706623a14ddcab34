#pragma once

#include <string>
#include <variant>
#include <vector>

#include "dptrain/commands/commands.h"

namespace dptrain {

/// A request for a help text.
struct HelpText {
  std::string text;
};

using CommandOptions =
    std::variant<HelpText, TrainOptions, TestOptions, StatOptions, ConvertOptions>;

/// The words of the command `dptrain` (without its name) as options of one of its subcommands. Throws Error
/// with the usage that fits.
CommandOptions read_command_options(const std::vector<std::string> &words);

}  // namespace dptrain
