"""tools/build-in-tree, tools/test-in-tree and tools/lammps-source: what they say of words and folders that cannot be. What they build
is tested by tools/test."""

import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def run(tool, *words):
    done = subprocess.run([TOOLS / tool, *map(str, words)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def tree(folder, version):
    """As much of a source tree as is looked at before anything is compiled."""
    (folder / "cmake").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "src" / "version.h").write_text(f'#define LAMMPS_VERSION "{version}"\n')
    (folder / "cmake" / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(lammps CXX)\n")
    return folder


@pytest.mark.parametrize("tool, words, text", [
    ("build-in-tree", [], "no SOURCE"),
    ("build-in-tree", ["/nowhere"], "/nowhere is no source tree of LAMMPS"),
    ("build-in-tree", ["/nowhere", "PKG_KOKKOS=on"], "options of CMake begin with -"),
    ("build-in-tree", ["/nowhere", "-D"], "-D needs a value"),
    ("build-in-tree", ["/nowhere", "--build"], "--build needs a folder"),
    ("build-in-tree", ["/nowhere", "--build="], "--build needs a folder"),
    ("build-in-tree", ["/nowhere", "--parallel", "2"], "--parallel is no option of build-in-tree"),
    ("build-in-tree", ["/nowhere", "-j", "2"], "set CMAKE_BUILD_PARALLEL_LEVEL"),
    ("test-in-tree", ["/nowhere"], "/nowhere has no program lmp"),
    ("lammps-source", ["buster", "/nowhere"], "'buster' is no release: give trixie or sid"),
    ("lammps-source", ["trixie"], "expected a release and a folder"),
    ("wheel", ["--wrong"], "tools/wheel [FOLDER]")])
def test_wrong_words(tool, words, text):
    status, output = run(tool, *words)
    assert status != 0 and text in output, output


@pytest.mark.parametrize("tool", ["build-in-tree", "test-in-tree", "lammps-source", "wheel"])
def test_help(tool):
    status, output = run(tool, "--help")
    assert status == 0 and f"tools/{tool}" in output and "set -euo" not in output


def test_sources_that_are_there_stay(tmp_path):
    tree(tmp_path / "lammps", "4 Feb 2025")
    status, output = run("lammps-source", "trixie", tmp_path / "lammps")
    assert status == 0 and "has sources already" in output


def test_older_releases_are_refused(tmp_path):
    status, output = run("build-in-tree", tree(tmp_path / "lammps", "2 Aug 2023"), "--build", tmp_path / "build")
    assert status != 0
    assert "20230802" in output and "versions from 20250204 (4 Feb 2025)" in " ".join(output.split()) and "Call Stack" not in output


@pytest.mark.parametrize("option, text", [
    ("PKG_KOKKOS=on", "/lib/kokkos: add -D DOWNLOAD_KOKKOS=on, or -D EXTERNAL_KOKKOS=on -D Kokkos_ROOT=PREFIX"), ("LAMMPS_SIZES=smallsmall", "LAMMPS_SIZES=smallsmall is not supported")])
def test_options_that_cannot_be(option, text, tmp_path):
    status, output = run("build-in-tree", tree(tmp_path / "lammps", "4 Feb 2025"), f"--build={tmp_path / 'build'}", "-D", option)
    assert status != 0 and text in " ".join(output.split()) and "Call Stack" not in output, output
