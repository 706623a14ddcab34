"""What nvcc and ptxas say about the kernels: warnings, registers, memory, and how many of them an SM can hold.

The text is that of `nvcc -Xptxas -v`, with names demangled (tools/nvcc-report makes it).
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from .models import NETS
from .settings import ROOT

LIBRARY = ROOT / "lib" / "dptrain" / "src"


@dataclass(frozen=True)
class Multiprocessor:
    """What the blocks of an SM share (CUDA programming guide, table of compute capabilities)."""

    registers: int = 65536
    threads: int = 2048
    blocks: int = 32
    shared: int = 228 * 1024
    reserved: int = 1024  # of the shared memory, for each block
    register_unit: int = 256  # for each warp
    schedulers: int = 4  # each has a quarter of the registers


# by --arch; what is not here is not known to this table
MULTIPROCESSORS = {"sm_75": Multiprocessor(threads=1024, blocks=16, shared=64 * 1024, reserved=0),
                   "sm_80": Multiprocessor(shared=164 * 1024), "sm_86": Multiprocessor(threads=1536, blocks=16, shared=100 * 1024),
                   "sm_89": Multiprocessor(threads=1536, blocks=24, shared=100 * 1024), "sm_90": Multiprocessor(),
                   "sm_100": Multiprocessor(), "sm_120": Multiprocessor(threads=1536, blocks=24, shared=100 * 1024)}
TEAM_THREADS = 128  # one_team_each in kernels/kokkos_types.h: 4 threads of 32 lanes
TEAM_REDUCE = 8 * (4 + 2)  # Kokkos' shared memory in front of the scratch memory (Kokkos_Cuda_Parallel_Team.hpp, m_shmem_begin)
LEVEL_ONE = 32768  # one_team_each: larger scratch memory lies in global memory


@dataclass
class Kernel:
    """One compiled kernel. `name` as in launch("dptrain::name"), `precision` of its arrays ("" where it has only one)."""

    name: str
    precision: str
    registers: int = 0
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared: int = 0
    team: bool = True
    variant: str = ""  # template arguments

    @property
    def spills(self):
        return self.spill_stores + self.spill_loads


def warnings(text):
    """(file, line, message) of each warning of nvcc, its host compiler and ptxas; ptxas names no file."""
    found = []
    for line in text.splitlines():
        nvcc = re.match(r"(\S+?)\((\d+)\): warning(?: #\S+)?:\s*(.*)", line)
        host = re.match(r"(\S+?):(\d+):(?:\d+:)? warning: (.*)", line)
        ptxas = re.match(r"ptxas warning\s*: (.*)", line)
        if nvcc or host:
            found.append(((nvcc or host).group(1), int((nvcc or host).group(2)), (nvcc or host).group(3)))
        elif ptxas:
            found.append(("", 0, ptxas.group(1)))
    return found


def of_this_project(warning, root=ROOT, folder=ROOT):
    """Whether a warning comes from a file of this project (paths relative to `folder`), or from ptxas about our kernels."""
    path = (Path(folder) / warning[0]).resolve() if warning[0] else None
    return "dptrain" in warning[2] if path is None else path.is_relative_to(Path(root).resolve())


def kernel_sources(folder=LIBRARY):
    """Files in which kernels are launched: those that are compiled, and templates for others that compile them."""
    return sorted([*Path(folder).rglob("*.cpp"), *Path(folder).rglob("*_kernels.h")])


def launch_names(sources=LIBRARY):
    """{function or functor that makes a kernel: its name in launch()}."""
    names = {}
    for path in kernel_sources(sources):
        function = ""
        for line in path.read_text().splitlines():
            definition = re.match(r"(?:template .*>\s*)?(?:void|int|double)\s+(\w+)\(", line)
            if definition:
                function = definition.group(1)
            for name, functor in re.findall(r'"dptrain::(\w+)"(?:, \w+, (\w+)<)?', line):
                if names.setdefault(functor or function, name) != name:
                    raise ValueError(f"{path}: the kernels {name} and {names[functor or function]} are made by functions of one name")
    return names


def _kernel(entry, names):
    """A kernel from the demangled name of its entry, or None where it is not one of this project."""
    if "dptrain" not in entry:
        return None
    entry = re.sub(r"_INTERNAL_\w+::|dptrain::|kernels::|detail::|\(anonymous namespace\)::", "", entry)
    made_by = re.search(r"Parallel(?:For|Scan)<(?:SharedLoop<)?(\w+)(<.*?>)?\(", entry)
    if not made_by:
        return None
    arguments = made_by.group(2) or ""
    functor = re.match(r"<(\w+)<", arguments)
    name = names.get(functor.group(1) if functor else made_by.group(1))
    kinds = re.findall(r"\b(double|float)\b", arguments)
    precision = {"double": "float64", "float": "float32"}[kinds[0]] if kinds else ""
    return name and Kernel(name, precision, team="TeamPolicy" in entry, variant=arguments)


def kernels(text, names=None):
    """The kernels of this project in the demangled output of ptxas."""
    names = names if names is not None else launch_names()
    found, current = [], None
    for line in text.splitlines():
        entry = re.search(r"Compiling entry function '(.*)' for", line)
        frame = re.match(r"\s*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)
        used = re.search(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?", line)
        if entry:
            current = _kernel(entry.group(1), names)
            if current:
                found.append(current)
        elif current and frame:
            current.stack, current.spill_stores, current.spill_loads = map(int, frame.groups())
        elif current and used:
            current.registers, current.shared = int(used.group(1)), int(used.group(2) or 0)
    return found


def scratch_bytes(kernel, neighbors, net="standard"):
    """Scratch memory of a team whose lists have `neighbors` places (neighbor/gather.cpp, kernels/edge_block.h), of this net
    (kernels/gram_kernels.h)."""
    real = 4 if kernel.precision == "float32" else 8
    if kernel.name == "gather_edges":  # Candidates::bytes
        return (neighbors + 8) // 8 * 8 * 33 + 64
    if kernel.name in POWER_SPECTRUM:
        return POWER_SPECTRUM[kernel.name](neighbors, real)
    if kernel.name in COPY_DESCRIPTOR:  # copy_bytes
        return NETS[net]["neuron"][-1] * (NETS[net]["axis"] + 1) * real + 64
    if kernel.name not in COLUMNS_OF:
        return 0
    columns = block_columns()[COLUMNS_OF[kernel.name]]
    return (neighbors + 15) // 16 * 16 * (columns * real + 4) + 64  # EdgeBlock::bytes


COLUMNS_OF = {"contraction_value": "VALUE", "contraction_reverse": "REVERSE", "contraction_jvp": "TANGENT",
              "contraction_bins": "TANGENT", "contraction_gradient": "TANGENT"}
COPY_DESCRIPTOR = ("gram_reverse", "gram_jvp_reverse")
HARMONICS, CHANNELS, FUNCTIONS = 16, 16, 16  # of a power spectrum with the default keys
BLOCK_EDGES = 64 + 1  # Columns in kernels/moments.cpp
COEFFICIENTS = HARMONICS * CHANNELS


def _copies_of_coefficients(number):
    return lambda neighbors, real: number * COEFFICIENTS * real + 64  # scratch_bytes in kernels/spectrum.cpp


def _moments(neighbors, real):
    return (FUNCTIONS + HARMONICS) * BLOCK_EDGES * real + 128  # Columns::bytes


# {kernel: scratch memory by (neighbors, bytes of a number)}
POWER_SPECTRUM = {"sort_edges": lambda neighbors, real: neighbors * (real + 4) + 64,  # Order::bytes
                  "moments_value": _moments, "moments_jvp": _moments,
                  "moments_reverse": lambda neighbors, real: (FUNCTIONS * HARMONICS + 3 * neighbors) * real + 64,
                  "spectrum_value": _copies_of_coefficients(1), "spectrum_jvp": _copies_of_coefficients(2),
                  "spectrum_reverse": _copies_of_coefficients(2), "spectrum_jvp_reverse": _copies_of_coefficients(3)}
WITH_SCRATCH = {"gather_edges", *COPY_DESCRIPTOR, *COLUMNS_OF, *POWER_SPECTRUM}


# of the environment rows (kernels/environment.h), with which the enumeration in edge_block.h is made
ENVIRONMENT = {"rows": 4, "kept_columns": 4, "sums": 4, "motion_columns": 0}


def block_columns(header=LIBRARY / "kernels" / "edge_block.h"):
    """{VALUE: columns, ...} of the enumeration in edge_block.h, for environment rows."""
    found = re.search(r"enum Columns \{([^}]*)\}", Path(header).read_text())
    columns = {}
    for name, terms in re.findall(r"(\w+) = ([^,]+)", found.group(1)):
        products = [[factor.strip() for factor in term.split("*")] for term in terms.split("+")]
        columns[name] = sum(math.prod(int(ENVIRONMENT.get(factor, factor)) for factor in factors) for factors in products)
    return columns


def occupancy(kernel, scratch, gpu=Multiprocessor(), threads=TEAM_THREADS):
    """(share of the threads that an SM can hold, what limits it)."""
    warps = threads // 32
    unit = gpu.register_unit
    registers_of_warp = -(-kernel.registers * 32 // unit) * unit
    warps_by_registers = gpu.schedulers * (gpu.registers // gpu.schedulers // registers_of_warp)
    dynamic = (TEAM_REDUCE + (scratch if scratch <= LEVEL_ONE else 0)) if kernel.team else 0
    limits = {"threads": gpu.threads // threads, "blocks": gpu.blocks, "registers": warps_by_registers // warps,
              "shared memory": gpu.shared // (-(-(kernel.shared + dynamic) // 128) * 128 + gpu.reserved)}
    limit = min(limits, key=limits.get)
    blocks = limits[limit]
    return blocks * threads / gpu.threads, limit


TANH = "(ActivationKind)1, 2"  # kernels/activation.h: tanh, with the two derivatives that training takes
# in the order of a step; the others are those of the way without a table, of statistics and of uncertainties
MD_STEP = ["count_atoms", "sum_counts", "place_atoms", "sort_cells", "find_rows", "gather_edges", "sort_edges",
           "moments_value", "contraction_value", "spectrum_value", "gram_value", "activation_jet", "layer_value",
           "layer_reverse", "spectrum_reverse", "gram_reverse", "moments_reverse", "contraction_reverse", "convert"]
TRAINING_STEP = ["moments_jvp", "contraction_jvp", "spectrum_jvp", "gram_jvp", "layer_tangent", "layer_reverse_tangent",
                 "layer_gradient", "scale_and_subtract", "spectrum_jvp_reverse", "gram_jvp_reverse", "contraction_bins",
                 "dense_value", "fill_table", "table_gradient", "dense_reverse", "add_column_sums", "add_converted"]


def of_a_step(found):
    """One row for each kernel of an MD step and of a training step: of activations tanh with the derivatives in use."""
    rows = []
    for name in MD_STEP + TRAINING_STEP:
        same = [k for k in found if k.name == name]
        if name == "activation_jet":
            same = [k for k in same if TANH in k.variant]
        by_precision = {}
        for kernel in same:  # the one with most registers stands for its variants
            best = by_precision.get(kernel.precision)
            if best is None or kernel.registers > best.registers:
                by_precision[kernel.precision] = kernel
        rows += [by_precision[p] for p in sorted(by_precision, reverse=True)]
    return rows


def markdown(rows, neighbors, arch="sm_90"):
    """The table of the rows for lists of `neighbors` places: float64 / float32, and kernels that nothing limits in one line."""
    lines = [f"| kernel | registers | stack | spills | static shared | scratch, {neighbors} neighbors | occupancy | limited by |",
             "|---|---|---|---|---|---|---|---|"]
    unlimited = []
    for name in dict.fromkeys(k.name for k in rows):
        same = [k for k in rows if k.name == name]
        scratch = [scratch_bytes(k, neighbors) for k in same]
        reached = [occupancy(k, s, MULTIPROCESSORS[arch]) for k, s in zip(same, scratch)]
        if all(share >= 1 for share, _ in reached) and not any(scratch):
            unlimited += same
            continue
        places = [f"{s} (global)" if s > LEVEL_ONE else f"{s}" for s in scratch]
        columns = [[k.registers for k in same], [k.stack for k in same], [k.spills for k in same], [k.shared for k in same], places,
                   [f"{100 * share:.0f} %" for share, _ in reached], [limit if share < 1 else "nothing" for share, limit in reached]]
        lines.append(f"| {name} | " + " | ".join(" / ".join(dict.fromkeys(map(str, c))) for c in columns) + " |")
    if unlimited:
        lines += ["", f"Nothing limits the others of a step ({', '.join(dict.fromkeys(k.name for k in unlimited))}): at most "
                  f"{max(k.registers for k in unlimited)} registers, {max(k.stack for k in unlimited)} bytes of stack, "
                  f"{max(k.spills for k in unlimited)} spills."]
    return "\n".join(lines) + "\n"
