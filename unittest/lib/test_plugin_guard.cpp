// The decision whether the plugin may run in a LAMMPS. Exact texts matter little: that each difference is refused and
// the message names both sides does.

#include "plugin/plugin_guard.h"

#include <gtest/gtest.h>

namespace {

using dptrain::LammpsFacts;
using dptrain::plugin_refusal;

LammpsFacts lammps()
{
  LammpsFacts facts;
  facts.version = 20250722;
  facts.tagint_bytes = 4;
  facts.bigint_bytes = 8;
  facts.imageint_bytes = 4;
  facts.mpi_family = "mpich";
  return facts;
}

void expect_in(const std::string &text, const std::string &part)
{
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

TEST(PluginGuard, SameLammpsIsAccepted)
{
  EXPECT_EQ(plugin_refusal(lammps(), lammps()), "");
}

TEST(PluginGuard, OtherVersion)
{
  LammpsFacts running = lammps();
  running.version = 20260704;
  const std::string text = plugin_refusal(lammps(), running);
  expect_in(text, "22 Jul 2025");
  expect_in(text, "4 Jul 2026");
}

TEST(PluginGuard, EachIntegerSize)
{
  for (const auto size :
       {&LammpsFacts::tagint_bytes, &LammpsFacts::bigint_bytes, &LammpsFacts::imageint_bytes}) {
    LammpsFacts running = lammps();
    running.*size = 16;
    expect_in(plugin_refusal(lammps(), running), "16");
  }
}

TEST(PluginGuard, OtherMpi)
{
  LammpsFacts running = lammps();
  running.mpi_family = "openmpi";
  expect_in(plugin_refusal(lammps(), running), "openmpi");
  running.mpi_family = "";
  expect_in(plugin_refusal(lammps(), running), "without");
  running = lammps();
  running.mpi_initialized = false;
  expect_in(plugin_refusal(lammps(), running), "another copy");
}

TEST(PluginGuard, SharedKokkosBesideKokkosPackage)
{
  LammpsFacts compiled = lammps(), running = lammps();
  running.kokkos_package = true;
  EXPECT_EQ(plugin_refusal(compiled, running), "");
  compiled.kokkos_shared = true;
  expect_in(plugin_refusal(compiled, running), "KOKKOS");
  running.kokkos_package = false;
  EXPECT_EQ(plugin_refusal(compiled, running), "");
}

TEST(PluginGuard, MpiFamilies)
{
  EXPECT_EQ(dptrain::mpi_family_of("MPICH Version:\t5.0.2\nMPICH Release date: x"), "mpich");
  EXPECT_EQ(dptrain::mpi_family_of("Intel(R) MPI Library 2021.13 for Linux* OS"), "mpich");
  EXPECT_EQ(dptrain::mpi_family_of("Open MPI v4.1.4, package: Debian OpenMPI"), "openmpi");
  EXPECT_EQ(dptrain::mpi_family_of("LAMMPS MPI STUBS"), "LAMMPS");
}

}  // namespace
