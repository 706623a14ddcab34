// Prints each input file with all its defaults written out, or {"error": "..."}: for comparison with other readers.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "dptrain/base/error.h"
#include "dptrain/input/config.h"

int main(int argc, char **argv)
{
  for (int i = 1; i < argc; ++i) {
    try {
      std::puts(dptrain::resolved_input_text(dptrain::read_input(argv[i])).c_str());
    } catch (const dptrain::Error &error) {
      std::puts(nlohmann::json{{"error", error.what()}}.dump().c_str());
    }
  }
}
