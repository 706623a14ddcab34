"""tools/gpu-kit: builds, makes cases, packs."""

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from importlib import util
from pathlib import Path

from .pack import archive, copy_data, copy_kokkos_lammps, copy_lammps, copy_libraries, copy_mpi, copy_programs, sizes
from .cases import ROOT, KitError, call, make_cases
from dpbench.gpu_kernels import MULTIPROCESSORS  # its folder is known since .cases

LARGEST = 60 << 20  # bytes of the archive
DESCRIPTION = """Makes an archive that tests and measures this project on a machine with a GPU: tests, benchmarks and plugin compiled for
it, LAMMPS, MPICH and the libraries that they need, models and data, and what a processor computes from them. No GPU is needed.
On the machine with the GPU: tar -xf gpu-kit.tar.xz && gpu-kit/gpu-check"""
EPILOG = """To be called with the Python of tools/install (.venv/bin/python, or with that environment active).
Environment: DPTRAIN_SHARED   folder with larger cases: they go into the kit; CMAKE_BUILD_PARALLEL_LEVEL   default all cores"""


def parser():
    p = argparse.ArgumentParser(prog="tools/gpu-kit", description=DESCRIPTION, epilog=EPILOG,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kokkos", type=Path, required=True, metavar="SOURCE", help="source tree of Kokkos (tools/cuda-build --help)")
    p.add_argument("--lammps", type=Path, metavar="SOURCE", help="source tree of LAMMPS (tools/lammps-source): the kit gets one with the "
                   "KOKKOS package and this package inside, too (an hour more to compile)")
    p.add_argument("--arch", default="sm_90", choices=sorted(MULTIPROCESSORS, key=lambda name: int(name[3:])),
                   help="of the GPU (default sm_90)")
    p.add_argument("--output", type=Path, metavar="FILE", help="the archive (default gpu-kit.tar.xz in the folder of --build)")
    p.add_argument("--build", type=Path, default=ROOT / "build-kit", metavar="DIR",
                   help="build folders host/, cuda/ and lammps/, and the kit as a folder (default build-kit of this checkout, ignored by git)")
    p.add_argument("--cpu", action="store_true", help="a kit whose kernels run on processors: tries gpu-check where there is no GPU")
    return p


def kokkos_version(folder):
    """Version of a source tree of Kokkos; raises KitError where the folder is none."""
    if not (folder / "core" / "src" / "Kokkos_Core.hpp").is_file():
        raise KitError(f"gpu-kit: --kokkos {folder} is no source tree of Kokkos: core/src/Kokkos_Core.hpp is missing. Give the unpacked "
                       "folder of a release (https://github.com/kokkos/kokkos/releases; doc/developer/gpu.md says which)")
    found = re.findall(r"^set\(Kokkos_VERSION_(?:MAJOR|MINOR|PATCH) +(\d+)\)", (folder / "CMakeLists.txt").read_text(), re.M)
    return ".".join(found) or "unknown"


def lammps_version(folder):
    """Version of a source tree of LAMMPS with its KOKKOS package; raises KitError where the folder is none."""
    if not (folder / "src" / "KOKKOS" / "kokkos_type.h").is_file():
        raise KitError(f"gpu-kit: --lammps {folder} is no source tree of LAMMPS: src/KOKKOS is missing. `tools/lammps-source trixie FOLDER` "
                       "gets one")
    return (folder / "src" / "version.h").read_text().split('"')[1]


def lock(folder):
    """Keeps another gpu-kit out of the folder as long as the returned file is open."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / "lock", "w")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise KitError(f"gpu-kit: another gpu-kit works in {folder}: wait for it, or give another folder with --build") from error
    except OSError as error:
        raise KitError(f"gpu-kit: {folder} cannot be written ({error}): give another folder with --build") from error
    return file


def package_folder(name):
    """Folder of a Python package of this environment, without importing it."""
    spec = util.find_spec(name)
    if spec is None:
        raise KitError(f"gpu-kit: {sys.executable} has no package {name}: run tools/install, and call gpu-kit with .venv/bin/python")
    return Path(list(spec.submodule_search_locations)[0])


class Machine:
    """This machine: its Python environment and where shared libraries are."""

    def __init__(self):
        self.torch, self.lammps = package_folder("torch"), package_folder("lammps")
        package_folder("numpy")
        self.folder = Path(sys.executable).parent.parent
        nvidia = sorted(self.torch.parent.glob("nvidia/*/lib"))
        toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
        self.libraries = [self.torch / "lib", *nvidia, self.folder / "lib", self.folder / "lib" / "mpich", toolkit / "lib64"]

    def library_path(self, *more):
        return os.pathsep.join(map(str, [*more, *self.libraries]))

    def environment(self, **more):
        path = os.pathsep.join([str(self.folder / "bin"), os.environ["PATH"]])
        return {**os.environ, "VIRTUAL_ENV": str(self.folder), "PATH": path, **more}


def cmake_options(tests):
    return ["-DDPTRAIN_NATIVE=OFF", "-DDPTRAIN_BUILD_PYTHON=OFF", "-DDPTRAIN_BUILD_BENCH=ON", "-DDPTRAIN_TEST_DATA=unittest/reference",
            f"-DDPTRAIN_BUILD_TESTS={tests}", f"-DDPTRAIN_BUILD_PLUGIN={tests}"]


def build_host(build, kokkos, machine, everything):
    """A build for processors: the whole kit with --cpu, else what the models and the expected numbers need."""
    environment = machine.environment()
    jobs = environment.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DDPTRAIN_KIT=ON", f"-DFETCHCONTENT_SOURCE_DIR_KOKKOS={kokkos.resolve()}",
               *cmake_options("ON" if everything else "OFF")]
    if shutil.which("ccache"):
        options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    call(["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *options], ROOT, environment)
    call(["cmake", "--build", build, "--parallel", jobs], ROOT, environment)


def build_cuda(build, kokkos, arch, machine):
    call([ROOT / "tools" / "cuda-build", "--kokkos", kokkos, "--arch", arch, "--build", build, "--kit", "--", *cmake_options("ON")],
         ROOT, machine.environment())


def install_host_kokkos(prefix, kokkos, machine):
    """Kokkos for processors, as tools/cuda-build installs it for GPUs."""
    environment = machine.environment()
    options = ["-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
               "-DKokkos_ENABLE_SERIAL=ON", "-DKokkos_ENABLE_OPENMP=ON", "-DKokkos_ENABLE_IMPL_VIEW_LEGACY=ON"]
    call(["cmake", "-G", "Ninja", "-S", kokkos, "-B", prefix.with_name("kokkos-build"), *options], ROOT, environment)
    call(["cmake", "--build", prefix.with_name("kokkos-build"), "--target", "install"], ROOT, environment)


def build_lammps(build, kokkos, args, machine):
    """LAMMPS with KOKKOS and this package inside; `kokkos`: an installation."""
    device = ["-D", "Kokkos_ENABLE_OPENMP=on"] if args.cpu else ["-D", "DPTRAIN_CUDA=on"]
    # a launcher such as ccache would hide the compiler from that of Kokkos
    environment = {name: value for name, value in machine.environment().items() if args.cpu or name != "CMAKE_CXX_COMPILER_LAUNCHER"}
    environment["PATH"] += os.pathsep + str(Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin")
    call([ROOT / "tools" / "build-in-tree", args.lammps, "--build", build, "-D", "PKG_KOKKOS=on", "-D", "EXTERNAL_KOKKOS=on",
          "-D", f"Kokkos_ROOT={kokkos}", "-D", "PKG_MANYBODY=on", "-D", "DPTRAIN_NATIVE=OFF", "-D", "CMAKE_SKIP_RPATH=ON",
          "-D", "WITH_JPEG=off", "-D", "WITH_PNG=off", "-D", "WITH_GZIP=off", *device], ROOT, environment)


def commit_of(folder):
    """The commit of a checkout, with `-dirty` where files have changed since."""
    return subprocess.run(["git", "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"], cwd=folder, capture_output=True,
                          text=True).stdout.strip()


def facts(args, machine):
    """kit.json: what this kit is."""
    commit = commit_of(ROOT)
    version = next(line.split("'")[1] for line in (machine.torch / "version.py").read_text().splitlines()
                   if line.startswith("__version__"))
    return {"device": "cpu" if args.cpu else "cuda", "arch": "none" if args.cpu else args.arch, "commit": commit, "torch": version,
            "kokkos": kokkos_version(args.kokkos), "lammps with KOKKOS": lammps_version(args.lammps) if args.lammps else "none", "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}


def fill(kit, build, lammps, cases, args, machine):
    if kit.exists():
        shutil.rmtree(kit)
    copy_programs(kit, build)
    copy_mpi(kit, machine.folder)
    copy_lammps(kit, machine.lammps)
    if args.lammps:
        copy_kokkos_lammps(kit, lammps)
    copy_libraries(kit, machine.library_path(kit / "lib"))
    copy_data(kit)
    shutil.copytree(cases, kit / "data")
    (kit / "kit.json").write_text(json.dumps(facts(args, machine), indent=1) + "\n")


def timed(what, work):
    begin = time.monotonic()
    print(f"gpu-kit: {what} ...", flush=True)
    result = work()
    print(f"gpu-kit: {what}: {time.monotonic() - begin:.0f} s", flush=True)
    return result


def make(args):
    kokkos_version(args.kokkos)  # before anything is built
    if args.lammps:
        lammps_version(args.lammps)
    machine, base = Machine(), args.build.resolve()
    with lock(base):
        make_in(base, args, machine)


def make_in(base, args, machine):
    host, cuda, cases, kit = base / "host", base / "cuda", base / "cases", base / "gpu-kit"
    lammps = base / ("lammps-host" if args.cpu else "lammps-cuda")
    timed("build for processors", lambda: build_host(host, args.kokkos, machine, args.cpu))
    if not args.cpu:
        timed(f"build for {args.arch}", lambda: build_cuda(cuda, args.kokkos, args.arch, machine))
    if args.lammps:
        kokkos = base / "host-kokkos" / "installed" if args.cpu else cuda / "kokkos"
        if args.cpu:
            timed("Kokkos for LAMMPS", lambda: install_host_kokkos(kokkos, args.kokkos, machine))
        timed("LAMMPS with KOKKOS", lambda: build_lammps(lammps, kokkos, args, machine))
    environment = machine.environment(LD_LIBRARY_PATH=machine.library_path(host / "lib" / "dptrain"), OMP_NUM_THREADS="1")
    shutil.rmtree(cases, ignore_errors=True)
    timed("models and numbers of a processor", lambda: make_cases(cases, host / "bench", environment))
    timed("files of the kit", lambda: fill(kit, host if args.cpu else cuda, lammps, cases, args, machine))
    output = args.output or base / "gpu-kit.tar.xz"
    size = timed("archive", lambda: archive(kit, output))
    for name, used in sizes(kit):
        print(f"  {used / 2**20:8.1f} MiB  {name}")
    print(f"gpu-kit: {output}: {size / 2**20:.1f} MiB")
    if size > LARGEST:
        raise KitError(f"gpu-kit: the archive has {size / 2**20:.1f} MiB, more than {LARGEST >> 20}: "
                       "leave out the larger cases (unset DPTRAIN_SHARED)")


def main(words):
    args = parser().parse_args(words)
    try:
        make(args)
    except KitError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
