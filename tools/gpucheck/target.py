"""The machine that gpu-check runs on: its Python with LibTorch, its CUDA libraries and tools, its GPUs."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .process import Job, run

# prints the folders of torch, of the CUDA wheels beside it, and of what the stage lammps needs, without importing them
FIND_PACKAGES = """
import importlib.util as u
for name in ("torch", "nvidia", "numpy", "pytest"):
    spec = u.find_spec(name)
    print(";".join(spec.submodule_search_locations) if spec else "")
"""
TOOLKIT = [Path("/usr/local/cuda"), Path("/opt/cuda")]
DRIVER = Path("/usr/local/nvidia")  # in containers: tools and libraries of the driver, found through variables alone
UNKNOWN_GPU = "GPU of an unknown model"
SMI_LIMIT = 15.0  # seconds for nvidia-smi to answer


class NoTorch(Exception):
    """No Python with LibTorch was found; the message says what to do."""


def packages(python):
    """Folders of torch, nvidia, numpy and pytest that an interpreter knows, as lists; empty ones where it cannot be run."""
    try:
        done = subprocess.run([python, "-c", FIND_PACKAGES], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return [], [], [], []
    lines = done.stdout.splitlines() + [""] * 4
    return tuple(list(map(Path, filter(None, line.split(";")))) for line in lines[:4])


def candidates(given):
    """Interpreters to look at: the one that was given, or this one, those on the PATH and of virtual environments."""
    if given:
        return [given]
    found = [sys.executable, shutil.which("python3"), shutil.which("python")]
    if "VIRTUAL_ENV" in os.environ:
        found.append(os.path.join(os.environ["VIRTUAL_ENV"], "bin", "python3"))
    found += map(str, sorted(Path("/opt").glob("*/.venv/bin/python3")))  # where container images have theirs
    return list(dict.fromkeys(filter(None, found)))


def find_python(version, given=None):
    """(interpreter, folder of torch, folders of nvidia, names of missing packages) of the first one that has torch in this
    version, else of the first one that has torch."""
    tried, found = candidates(given), []
    for python in tried:
        torch, nvidia, numpy, pytest = packages(python)
        if torch and (torch[0] / "lib" / "libtorch_cpu.so").exists():
            found.append((python, torch[0], nvidia, [n for n, folders in (("numpy", numpy), ("pytest", pytest)) if not folders]))
            if same_version(torch_version(torch[0]), version):
                return found[-1]
    if found:
        return found[0]
    raise NoTorch(f"gpu-check: no Python with torch {version}: tried {', '.join(tried)}. Give one that has it with --python PYTHON")


def toolkit_folders():
    """Folders of installed CUDA toolkits."""
    found = [Path(os.environ["CUDA_HOME"])] if "CUDA_HOME" in os.environ else []
    found += TOOLKIT + sorted(Path("/usr/local").glob("cuda-*"), reverse=True)
    return [folder for folder in found if (folder / "bin").is_dir()]


def find_tool(name):
    """Path of a program of the CUDA toolkit; None without it."""
    places = [os.environ.get("PATH", "")] + [str(folder / "bin") for folder in toolkit_folders()]
    return shutil.which(name, path=os.pathsep.join(places))


def caller_folders(variable, *more):
    """Folders that a variable of the caller names, and those of `more` that are there."""
    return list(filter(None, os.environ.get(variable, "").split(os.pathsep))) + [str(folder) for folder in more if folder.is_dir()]


def caller_path():
    return caller_folders("PATH", DRIVER / "bin")


def caller_libraries():
    return caller_folders("LD_LIBRARY_PATH", DRIVER / "lib64")


def find_smi():
    """Path of nvidia-smi; None without it."""
    return shutil.which("nvidia-smi", path=os.pathsep.join(caller_path()))


def gpus():
    """The GPUs as nvidia-smi lists them (name, memory, driver, compute capability), else as the driver does; empty where there
    is none or no driver. And why nvidia-smi does not tell, where it is there and has not just found none."""
    program = find_smi()
    if program is None:
        return gpus_of_driver(), ""
    query = [program, "--query-gpu=name,memory.total,driver_version,compute_cap", "--format=csv,noheader"]
    outcome = run(Job("nvidia-smi", query, SMI_LIMIT), "/", {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(caller_libraries())})
    lines = [line.strip() for line in outcome.output.splitlines() if line.strip()]
    if outcome.ok and lines:
        return lines, ""
    if outcome.timed_out:
        lines.append(f"no answer within {SMI_LIMIT:g} s")
    trouble = "" if "No devices were found" in outcome.output else "nvidia-smi: " + " ".join(lines or [f"exit status {outcome.status}"])
    return gpus_of_driver(), trouble


def gpus_of_driver(root=Path("/")):
    """Models of the GPUs that have a device file, from what the driver says about them in /proc."""
    names = {int(p.name[len("nvidia"):]): UNKNOWN_GPU for p in (root / "dev").glob("nvidia[0-9]*") if p.name[len("nvidia"):].isdigit()}
    for path in (root / "proc" / "driver" / "nvidia" / "gpus").glob("*/information"):
        facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in path.read_text().splitlines())}
        minor = facts.get("Device Minor", "")
        if minor.isdigit() and int(minor) in names:  # a container may see only some of them
            names[int(minor)] = facts.get("Model", UNKNOWN_GPU)
    return [names[minor] for minor in sorted(names)]


def torch_version(folder):
    """__version__ of torch, from its file."""
    for line in (folder / "version.py").read_text().splitlines():
        if line.startswith("__version__"):
            return line.split("=", 1)[1].strip().strip("'\"")
    return "unknown"


def same_version(one, other):
    """Whether two versions of torch are the same, but for what they were compiled for (+cu130)."""
    return one.split("+")[0] == other.split("+")[0]


class Target:
    """Kit and machine together: how programs of the kit are started here."""

    def __init__(self, kit, facts, work, python=None):
        self.kit, self.facts, self.work = kit, facts, work
        self.python, self.torch, nvidia, self.missing = find_python(facts["torch"], python)
        self.gpus, self.gpu_trouble = gpus()
        self.cuda_works = True  # until the stage device knows better
        libraries = [kit / "lib", self.torch / "lib"]
        libraries += [lib for folder in nvidia for lib in sorted(folder.glob("*/lib"))]
        libraries += [folder / "lib64" for folder in toolkit_folders()] + list(map(Path, caller_libraries()))
        if not self.gpus:  # programs are linked with the driver's library; its stand-in lets those start that do not use it
            libraries += filter(None, [self._driver_stub()])
        self.libraries = os.pathsep.join(str(lib) for lib in libraries if lib.is_dir())
        self.cores = os.cpu_count() or 1

    def _driver_stub(self):
        """A folder where the toolkit's stand-in for libcuda.so.1 has the name that programs look for."""
        for folder in toolkit_folders():
            stub = folder / "lib64" / "stubs" / "libcuda.so"
            if stub.exists():
                place = self.work / "driver-stub"
                place.mkdir(parents=True, exist_ok=True)
                link = place / "libcuda.so.1"
                if not link.exists():
                    link.symlink_to(stub)
                return place
        return None

    def needs_gpu(self):
        """Whether the kernels of this kit run on a GPU: those of a kit for processors, which tries the machinery, do not."""
        return self.facts["device"] == "cuda"

    def can_run_kernels(self):
        return bool(self.gpus) or not self.needs_gpu()

    def environment(self, **more):
        """Variables of the kit's programs; of the caller's environment what names devices and users, and at last its folders."""
        keep = ("HOME", "USER", "LANG", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "PYTHONPATH")
        variables = {name: os.environ[name] for name in keep if name in os.environ}
        variables.update({
            "PATH": os.pathsep.join([str(self.kit / "bin"), "/usr/local/bin", "/usr/bin", "/bin", *caller_path()]),
            "LD_LIBRARY_PATH": self.libraries, "DPTRAIN_KIT_LIBRARIES": self.libraries,
            "LAMMPS_PLUGIN_PATH": str(self.kit / "plugin"), "LAMMPS_POTENTIALS": str(self.kit / "potentials"),
            "DPTRAIN_TEST_BIN": str(self.kit / "bin"), "TMPDIR": str(self.work), "OMP_NUM_THREADS": "1",
            # ranks beyond the cores sleep while they wait
            "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
            "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"})
        variables.setdefault("HOME", str(self.work))
        if (self.kit / "shared").is_dir():
            variables["DPTRAIN_SHARED"] = str(self.kit / "shared")
        variables.update({name: str(value) for name, value in more.items()})
        return variables

    def python_environment(self, **more):
        """Variables of Python and of the driver's tools: libraries are the caller's, not those of the kit."""
        return self.environment(LD_LIBRARY_PATH=os.pathsep.join(caller_libraries()), **more)

    def program(self, name):
        return self.kit / "bin" / name

    def has_kokkos(self):
        """Whether the kit has a LAMMPS with the KOKKOS package."""
        return (self.kit / "kokkos" / "bin" / "lmp").is_file()

    def kokkos_gpus(self):
        """GPUs that it uses: one, as MPICH tells programs nothing by which LAMMPS would give each rank one of several."""
        return 1 if self.needs_gpu() else 0

    def kokkos_variables(self):
        """Variables that name that LAMMPS to the tests, and its number of GPUs."""
        return {"DPTRAIN_TEST_BIN": self.kit / "kokkos" / "bin", "LAMMPS_PLUGIN_PATH": "", "DPTRAIN_TEST_GPUS": self.kokkos_gpus()}

    def kokkos_words(self):
        """Words of the command line for styles with the suffix kk."""
        return ["-k", "on", *(["g", self.kokkos_gpus()] if self.needs_gpu() else ["t", 1]), "-sf", "kk"]

    def ranks(self, number, *command):
        return [self.program("mpiexec"), "-n", number, *command]

    def describe(self):
        """What the numbers of the report belong to."""
        return {"gpus": self.gpus or "none", "processor": processor(), "cores": self.cores, "system": platform.platform(),
                "python": self.python, "torch": torch_version(self.torch), "kit": self.facts, "warnings": list(self.warnings())}

    def warnings(self):
        """What does not fit together here."""
        version = torch_version(self.torch)
        if not same_version(version, self.facts["torch"]):
            yield f"the kit was made with torch {self.facts['torch']}, {self.python} has {version}: programs may not start"
        if self.missing:
            yield f"{self.python} has no {' and no '.join(self.missing)}: the stages lammps and kokkos cannot run"
        if self.gpu_trouble:
            yield self.gpu_trouble
        for gpu in self.gpus if self.needs_gpu() else []:
            capability = re.search(r", (\d+)\.(\d+)$", gpu)  # unknown where nvidia-smi does not tell
            arch = "sm_" + "".join(capability.groups()) if capability else self.facts["arch"]
            if arch != self.facts["arch"]:
                yield f"the kit was compiled for {self.facts['arch']}, {gpu} is another: make one with --arch {arch}"


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
