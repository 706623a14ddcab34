// write_script_toy FILE [VARIANT]: an archive for the tests that run LAMMPS.

#include <cstdio>
#include <string>

#include "io/file.h"
#include "support/script_toy.h"

int main(int argc, char **argv)
{
  const std::string wanted = argc > 2 ? argv[2] : "local";
  for (const auto &[name, toy] : dptrain::test::script_toys())
    if (argc > 1 && name == wanted) {
      dptrain::write_file(argv[1], dptrain::test::script_toy(toy));
      return 0;
    }
  std::fprintf(stderr, "write_script_toy FILE [VARIANT], where VARIANT is one of:");
  for (const auto &toy : dptrain::test::script_toys())
    std::fprintf(stderr, " %s", toy.first.c_str());
  std::fprintf(stderr, "\n");
  return 1;
}
