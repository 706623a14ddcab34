"""Forecast of the time of an MD step and of a training step on a GPU, counted from the kernels: bytes, operations, launches.

    PYTHONPATH=bench python -m dpbench.gpu_forecast [--atoms N]

Nothing here is measured. Every entry of a list says what one kernel or matrix product moves and computes; its formula
follows the source that the entry names. doc/developer/gpu.md, "Forecast", says what is assumed.
"""

import argparse
import math
from dataclasses import dataclass, field

from .models import NETS, RCUT

DENSITY = 0.1003  # atoms per cubic Angstrom of water at 1 g/cm^3
MOST_ATOMS = 10**8  # more than a GPU holds
RCUT_SMTH = 0.5  # models.model_section
CLOSEST = 0.88  # Angstrom, O-H: the table ends at 0.9 of it (deep_pot_engine.cpp, distance_margin)
DEVICE_CHUNK = 4096  # centers (deep_pot_engine.cpp, centers_between_flushes)
TYPES = 2
SEARCHED = 27 * RCUT**3 * DENSITY  # atoms in the cells around a center (cell_grid.h: cells as wide as the cutoff)
BINS_BYTES = 128 << 20  # knot_gradient.h, most_bytes
TEAM_THREADS, LANES = 4, 32  # kokkos_types.h, device_threads and device_lanes
TEAM_SUMS = 12  # numbers in the reduction of a team in edge_forces.h
# s of one core: a pass over the atoms (assumed); Adam for a parameter (bench/results/bench.md, adam_step/double)
HOST_PASS, ADAM = 4e-9, 1.78e-9
# s of one core for an atom, measured with pair_style zero full (water, cutoff 6, skin 1: 143 neighbors): LAMMPS builds its list,
# every 10 steps in gpu-check; the rest of its loop without the pair style
LIST_BUILD, LIST_EVERY, LOOP_REST = 2.9e-6, 10, 9e-9


@dataclass(frozen=True)
class Gpu:
    """Rates of a GPU, per second. The data sheets' ones are marked; the others are assumptions of the forecast."""

    name: str
    memory: float  # bytes, data sheet
    vector: dict  # operations by precision, data sheet
    matrix: dict  # the same in matrix products: tensor cores for float64, vector units for float32
    sms: int = 132  # data sheet
    l1: float = 132 * 128 * 1.98e9  # bytes: 128 per clock and SM at the boost clock
    l2: float = 5.5e12  # bytes; assumed
    latency: float = 0.15e-6  # s, a read that the L2 serves; assumed
    l1_latency: float = 0.02e-6  # s; assumed
    atomics: float = 7e10  # float64 additions to different addresses; assumed: half of the L2's slices in each clock
    same_address: float = 1.7e9  # additions to one address: one in a clock of the L2; assumed
    exchanges: float = 132 * 1.98e9  # of 4 bytes between the lanes of a warp: one per clock and SM
    cache: int = 128 * 1024  # bytes of the L1 that scratch memory leaves
    efficiency: float = 0.8  # of a large matrix product; assumed
    floor: float = 2e-6  # s, the shortest kernel; assumed
    product_floor: float = 5e-6  # s, the shortest matrix product; assumed
    launch: float = 4.5e-6  # s of the host for a kernel, a copy or a clearing; assumed
    product_launch: float = 10e-6  # s of the host for a product through LibTorch; assumed
    copy: float = 10e9  # bytes between host memory that is not pinned and the GPU; assumed


H100 = Gpu("H100 SXM", 3.35e12, {8: 34e12, 4: 67e12}, {8: 67e12, 4: 67e12})
H200 = Gpu("H200", 4.8e12, {8: 34e12, 4: 67e12}, {8: 67e12, 4: 67e12})
GPUS = [H100, H200]
# occupancy in teams per SM: the table of tools/nvcc-report (doc/developer/gpu.md), of kernels that something limits
TEAMS_PER_SM = {"find_rows": {8: 10}, "gather_edges": {8: 10, 4: 10}, "contraction_value": {8: 8, 4: 10},
                "gram_reverse": {8: 12, 4: 16}, "contraction_reverse": {8: 5, 4: 7}, "contraction_jvp": {8: 5, 4: 9},
                "gram_jvp_reverse": {8: 12, 4: 16}, "contraction_bins": {8: 6, 4: 7}, "dense_reverse": {8: 10, 4: 10}}
MOST_TEAMS = 16


@dataclass
class Work:
    """One launch for n centers (or rows): totals, not per center. `chain`: reads that a team makes one after the other."""

    name: str
    teams: int = 0
    bytes: float = 0.0  # of the memory
    table: float = 0.0  # bytes of the table, which L1 and L2 serve
    cached: float = 0.0  # other bytes that the L1 serves
    flops: float = 0.0
    atomics: float = 0.0
    same_address: float = 0.0  # additions to the address that gets most
    exchanges: float = 0.0  # of 4 bytes by the lanes of a warp
    chain: float = 0.0
    short_chain: float = 0.0  # the same of exchanges, and of reads that the L1 serves
    table_chain: float = 0.0  # the same of the table
    product: bool = False
    real: int = 8
    source: str = ""

    def seconds(self, gpu, hits):
        """The longest of what it needs: all of that overlaps inside a kernel. `hits`: share of the table's reads in L1."""
        rates = gpu.matrix[self.real] * gpu.efficiency if self.product else gpu.vector[self.real]
        l1 = self.table * hits + self.cached
        resident = gpu.sms * TEAMS_PER_SM.get(self.name, {}).get(self.real, MOST_TEAMS)
        waves = math.ceil(self.teams / resident)
        read = hits * gpu.l1_latency + (1 - hits) * gpu.latency
        times = {"memory": self.bytes / gpu.memory, "caches": l1 / gpu.l1 + self.table * (1 - hits) / gpu.l2,
                 "arithmetic": self.flops / rates, "exchanges": self.exchanges / gpu.exchanges, "atomics": self.atomics / gpu.atomics + self.same_address / gpu.same_address,
                 "latency": waves * (self.chain * gpu.latency + self.short_chain * gpu.l1_latency + self.table_chain * read),
                 "least": gpu.product_floor if self.product else gpu.floor}
        limit = max(times, key=times.get)
        return times[limit], limit


@dataclass(frozen=True)
class Model:
    """What the counts depend on: net, bytes of a real, knots of the table."""

    net: str = "standard"
    real: int = 8
    knots: int = field(default=0)

    @property
    def table_knots(self):
        return self.knots or {8: 257, 4: 97}[self.real]  # radial_table.cpp, first_knots

    @property
    def channels(self):
        return NETS[self.net]["neuron"][-1]

    @property
    def width(self):  # table.h, padded_width
        multiple = {8: 8, 4: 16}[self.real]
        return -(-self.channels // multiple) * multiple

    @property
    def axis(self):
        return NETS[self.net]["axis"]

    @property
    def edges(self):
        """Neighbors of an atom within the cutoff."""
        return DENSITY * 4 / 3 * math.pi * RCUT**3

    @property
    def layers(self):
        """(in, out, skip connection, timestep) of the fitting net's layers."""
        widths = [self.channels * self.axis, *NETS[self.net]["fitting"], 1]
        return [(a, b, a == b, a == b) for a, b in zip(widths, widths[1:])]

    @property
    def embedding(self):
        """(in, out) of the embedding net's layers."""
        widths = [1, *NETS[self.net]["neuron"]]
        return list(zip(widths, widths[1:]))

    @property
    def rows_per_interval(self):  # table.h
        return 3 if self.real == 8 else 6


def table_hits(model, cache=H100.cache):
    """Share of the table's reads that an L1 of this size serves, if it holds the rows that are read most.

    Neighbors are uniform between CLOSEST and the cutoff; the row is that of s(r) (environment.h, edge_value).
    """
    def switch(r):
        u = min(max((r - RCUT_SMTH) / (RCUT - RCUT_SMTH), 0.0), 1.0)
        return (u**3 * (-6 * u * u + 15 * u - 10) + 1) / r

    spacing = switch(0.9 * CLOSEST) / (model.table_knots - 1)
    reads, steps = {}, 2000
    for k in range(steps):
        r = CLOSEST + (k + 0.5) * (RCUT - CLOSEST) / steps
        interval = int(switch(r) / spacing)
        reads[interval] = reads.get(interval, 0.0) + r * r
    interval_bytes = model.rows_per_interval * model.width * model.real * TYPES  # a table for each neighbor type
    kept = sorted(reads.values(), reverse=True)[:cache // interval_bytes]
    return sum(kept) / sum(reads.values())


# --- kernels: each function gives one launch for n centers ------------------------------------------------------------------


def find_rows(m, n):
    """neighbor_search.cpp: the lanes of a thread for each center, run of cells by run (9 of them); each atom of the cells is looked at
    twice by the scan (kokkos_types.h, compress), from the L2 and then from the L1 (24 + 4 bytes); five exchanges and a broadcast."""
    rounds = 9 * math.ceil(SEARCHED / 9 / LANES)
    return Work("find_rows", math.ceil(n / TEAM_THREADS), bytes=n * 4 * m.edges, cached=n * SEARCHED * 2 * 2 * 32,
                flops=n * 2 * 9 * SEARCHED, exchanges=n * 6 * rounds, chain=rounds, short_chain=7 * rounds, source="neighbor_search.cpp")


def gather_edges(m, n):
    """gather.cpp: positions of the list's atoms; places by a scan of the lanes of one thread."""
    per_edge = 4 + 24 + 4 + 2 * 4 + 3 * m.real + 3 * 4  # index, position, type; neighbor, net, d; net counted and rewritten
    return Work("gather_edges", n, bytes=n * m.edges * per_edge, flops=n * m.edges * 12, chain=2 * math.ceil(m.edges / LANES), real=8,
                same_address=n, source="gather.cpp")


def contraction_value(m, n):
    """contraction_kernels.h, value_kernel: 6 + 4 multiply-adds for each edge and channel, six rows of the table; one edge after the
    other, its numbers from the scratch memory first (the compiler does not unroll this)."""
    per_channel = n * m.edges * m.width
    return Work("contraction_value", n, bytes=n * (m.edges * (3 * m.real + 4) + 4 * m.width * m.real),
                table=per_channel * 6 * m.real, flops=per_channel * 20 + n * m.edges * 90, short_chain=m.edges, table_chain=m.edges,
                real=m.real, source="contraction_kernels.h")


def contraction_reverse(m, n):
    """contraction_kernels.h, reverse_kernel: value and slope (12 + 12 operations), products with g_t (8 + 6 + 8); for each edge one reduction
    of four sums, five exchanges and a broadcast of each; then one of the team with twelve sums in float64, and atomic
    additions: 3 for each edge, 3 for the center, 9 for its frame, whose virial is in one line of the L2."""
    per_channel = n * m.edges * m.width
    edges = math.ceil(m.edges / TEAM_THREADS)  # of a thread
    return Work("contraction_reverse", n, bytes=n * (m.edges * (6 * m.real + 8) + 4 * m.width * m.real),
                table=per_channel * 6 * m.real, cached=per_channel * 4 * m.real, flops=per_channel * 46,
                atomics=n * (3 * m.edges + 12), same_address=9 * n,
                exchanges=n * 6 * (4 * m.edges * m.real / 4 + TEAM_THREADS * TEAM_SUMS * 2), chain=1.5, short_chain=6 * edges + 6,
                table_chain=edges * math.ceil(m.width / LANES), real=m.real, source="contraction_kernels.h")


def contraction_jvp(m, n):
    """contraction_kernels.h, jvp_kernel: value and slope, 8 multiply-adds; residuals of the neighbors."""
    per_channel = n * m.edges * m.width
    return Work("contraction_jvp", n, bytes=n * (m.edges * (3 * m.real + 8 + 24) + 4 * m.width * m.real),
                table=per_channel * 6 * m.real, flops=per_channel * 40 + n * m.edges * 140, short_chain=m.edges, table_chain=m.edges,
                real=m.real, source="contraction_kernels.h")


def contraction_bins(m, n):
    """contraction_kernels.h: 8 lanes, each edge reads and writes six bins after the edge before it."""
    return Work("contraction_bins", n, bytes=n * m.edges * 8 * 6 * 2 * m.real, flops=n * m.edges * 8 * 6 * 4,
                chain=2 * m.edges, real=m.real, source="contraction_kernels.h")


def gram_products(m, n, name, products):
    """gram_kernels.h, product: D = T^T T_<, 8 operations for each of its elements; written once for each product."""
    d = m.channels * m.axis
    return Work(name, n, bytes=n * (products * 4 * m.width + (2 * products - 1) * d) * m.real, flops=n * 8 * d * products,
                cached=n * d * 8 * m.real * products, real=m.real, source="gram_kernels.h")


def gram_transposes(m, n, name, products):
    """gram_kernels.h, transpose: gd goes to the scratch memory (read and written in lines); a lane reads it there along the axis
    channels, with a number of y that is the same for all lanes (a line of 128 bytes for a warp); lanes of the axis channels,
    half of a warp, go through all channels, and the team waits for them."""
    d = m.channels * m.axis
    lines = 2 * d * m.real + 4 * d * (m.real + 128 / LANES) + 4 * m.channels * math.ceil(m.axis / LANES) * 2 * 128
    lanes = TEAM_THREADS * LANES
    return Work(name, n, bytes=n * (d + 8 * m.width) * m.real * products, flops=n * 16 * d * products, cached=n * lines * products,
                chain=products * math.ceil(math.ceil(d / lanes) / 4),  # four reads at a time, as the compiler unrolls it
                short_chain=products * (m.axis + m.channels) * math.ceil(4 * m.width / lanes) / 2, real=m.real,
                source="gram_kernels.h")


def elements(m, n, name, numbers, out, flops=2, source="layer.cpp"):
    """A kernel that reads and writes `numbers` arrays of n rows with `out` numbers."""
    return Work(name, n, bytes=n * out * numbers * m.real, flops=n * out * flops, real=m.real, source=source)


def product(m, a, b, k, read=0):
    """Matrix product [a][k] x [k][b] (fitting_net.cpp, knot_gradient.h); `read`: the target is read as well."""
    return Work(f"product {k}x{b}" if a > b else f"product {a}x{b}", bytes=(a * k + k * b + (1 + read) * a * b) * m.real,
                flops=2 * a * b * k, product=True, real=m.real, source="gemm.cpp")


def column_sums(m, rows, columns, name, source):
    """layer_gradient, add_column_sums (kokkos_types.h, add_rows): a team for 32 columns, of which one thread has work; a lane adds
    up a column, four rows at a time as the compiler unrolls it."""
    return Work(name, math.ceil(columns / 32), bytes=rows * columns * 3 * m.real, flops=rows * columns * 4, chain=rows / 4, real=m.real,
                source=source)


# --- steps --------------------------------------------------------------------------------------------------------------------


def search(m, atoms):
    """neighbor_search.cpp, set: count, scan (two kernels), place, sort; positions and types go in before, grid and offsets."""
    bytes_of = [("count_atoms", 40), ("sum_counts", 4), ("sum_counts", 4), ("place_atoms", 12), ("sort_cells", 8)]
    return [Work(name, math.ceil(atoms / 128), bytes=atoms * size, chain=1, source="neighbor_search.cpp") for name, size in bytes_of]


def pass_a(m, n, train):
    """deep_pot_engine.cpp, forward_chunk; fitting_net.cpp, forward and reverse."""
    works = [find_rows(m, n), gather_edges(m, n), contraction_value(m, n), gram_products(m, n, "gram_value", 1)]
    for inputs, out, skip, _ in m.layers:
        works += [product(m, n, out, inputs), elements(m, n, "activation_jet", 4 if train else 3, out, 40, "activation.cpp"),
                  elements(m, n, "layer_value", 4 if skip else 2, out)]
    for inputs, out, skip, _ in reversed(m.layers):
        works += [elements(m, n, "layer_reverse", 5 if skip else 3, out), product(m, n, inputs, out, skip)]
    return works + [gram_transposes(m, n, "gram_reverse", 1), contraction_reverse(m, n), elements(m, n, "convert", 2, 1)]


def pass_b(m, n):
    """deep_pot_gradient.cpp, gradient_chunk; fitting_net.cpp, tangents and gradient; knot_gradient.h."""
    works = [contraction_jvp(m, n), gram_products(m, n, "gram_jvp", 2)]
    for k, (inputs, out, skip, _) in enumerate(m.layers):
        works.append(product(m, n, out, inputs))
        if k + 1 < len(m.layers):
            works.append(elements(m, n, "layer_tangent", 5 if skip else 3, out))
    for inputs, out, skip, timestep in reversed(m.layers):
        sums = column_sums(m, n, out, "layer_gradient", "layer.cpp")
        if timestep:
            sums.chain *= 2
        works += [elements(m, n, "layer_reverse_tangent", 8 if skip else 6, out), sums,
                  elements(m, n, "scale_and_subtract", 3, inputs), product(m, inputs, out, 2 * n),
                  product(m, n, inputs, out, skip)]
    works += [elements(m, n, "scale_and_subtract", 3, m.channels * m.axis), gram_transposes(m, n, "gram_jvp_reverse", 2)]
    rows = m.rows_per_interval * m.table_knots + TYPES  # of a net's table, with those of padding
    block = max(1, min(n, BINS_BYTES // (TYPES * 4 * rows * m.real)))
    for begin in range(0, n, block):
        size = min(block, n - begin)
        works += [Work("clear bins", bytes=TYPES * 4 * rows * size * m.real, real=m.real, source="knot_gradient.h")] * 2
        works += [contraction_bins(m, size)] + [product(m, rows, m.width, 4 * size, 1)] * (2 * TYPES)
    return works


def tables(m):
    """radial_table.cpp, fill and end_gradient for the nets (one for each neighbor type), in float64; mlp.cpp."""
    double = Model(m.net, 8)
    knots = m.table_knots + TYPES
    net = [elements(double, 3 * knots, "convert", 2, 1, 1)]
    for inputs, out in m.embedding:
        net += [product(double, 3 * knots, out, inputs), elements(double, knots, "activation_jet", 7, out, 60, "activation.cpp"),
                elements(double, knots, "dense_value", 10, out, 12, "dense.cpp")]
    net.append(elements(double, knots, "fill_table", 6, m.width, 4, "table.cpp"))
    net.append(elements(double, knots, "table_gradient", 6, m.width, 4, "table.cpp"))
    for k, (inputs, out) in reversed(list(enumerate(m.embedding))):
        net += [elements(double, knots, "dense_reverse", 14, out, 20, "dense.cpp"), product(double, inputs, out, 3 * knots, 1),
                column_sums(double, knots, out, "add_column_sums", "dense.cpp")]
        if k > 0:
            net.append(product(double, 3 * knots, inputs, out, 1))
    return net * TYPES


def centers(atoms):
    """Centers of each type of water."""
    return [atoms // 3, atoms - atoms // 3]


def chunks(atoms):
    """Sizes of the chunks: one type each, at most DEVICE_CHUNK centers."""
    return [min(DEVICE_CHUNK, n - begin) for n in centers(atoms) for begin in range(0, n, DEVICE_CHUNK)]


def md_step(m, atoms):
    return search(m, atoms) + [w for n in chunks(atoms) for w in pass_a(m, n, False)]


def training_step(m, atoms):
    parts = [pass_a(m, n, True) for n in chunks(atoms)] + [pass_b(m, n) for n in chunks(atoms)]
    return search(m, atoms) + tables(m) + [w for part in parts for w in part]


def transfers(m, atoms, train):
    """Copies and clearings, each a launch: frame_set.cpp 2 in; neighbor_search.cpp 2 in, 1 clearing; reports, forces, virials
    cleared and read 6, energies 1; one in for each chunk. Training: strains, residuals, parameters, gradient; inputs of the
    tables; gradients of tables and nets cleared; seeds and the biases of each chunk."""
    number = 2 + 3 + 7 + len(chunks(atoms))
    if not train:
        return number
    return number + 4 + TYPES + (2 + TYPES) + len(chunks(atoms)) + TYPES * (len(m.layers) + sum(t for *_, t in m.layers))


def parameters(m):
    """Weights, biases and time steps: a fitting net for each type, an embedding net for each type of neighbor."""
    fitting = sum(a * b + b + (b if timestep else 0) for a, b, _, timestep in m.layers)
    return TYPES * (fitting + sum(a * b + b for a, b in m.embedding))


def serial(gpu, m, atoms, train):
    """Seconds in which neither kernels nor launches go on: the host's passes over the atoms (frame_set.cpp, set;
    cell_grid.cpp; edge_chunk.cpp; deep_pot_engine.cpp, sum_energies and add_forces) and copies; in training those of
    parameters and gradient in float64, and Adam on one core."""
    seconds = atoms * (5 * HOST_PASS + (24 + 4 + 20 + 24 + 8) / gpu.copy)
    return seconds + (parameters(m) * (16 / gpu.copy + ADAM) if train else 0.0)


@dataclass
class Forecast:
    """Of one step; seconds."""

    gpu: float  # all kernels and products
    host: float  # all launches
    serial: float
    kernels: int
    products: int
    copies: int
    lammps: float  # LAMMPS' loop around the pair style: its own neighbor list on one core, and the rest
    parts: dict  # {name: (seconds on the GPU, what limits it)}

    @property
    def step(self):
        """A training step, or the pair style in an MD step (`Pair` of LAMMPS): the host launches while the GPU works; the
        longer of both, and what overlaps with nothing."""
        return max(self.gpu, self.host) + self.serial

    @property
    def loop(self):
        """With LAMMPS around it: what its `Loop time` says."""
        return self.step + self.lammps


def forecast(gpu, m, atoms, train):
    works = training_step(m, atoms) if train else md_step(m, atoms)
    hits = table_hits(m, gpu.cache)
    limits = {}  # {name: {limit: seconds}}
    for work in works:
        seconds, limit = work.seconds(gpu, hits)
        of_name = limits.setdefault("matrix products" if work.product else work.name, {})
        of_name[limit] = of_name.get(limit, 0.0) + seconds
    parts = {name: (sum(found.values()), max(found, key=found.get)) for name, found in limits.items()}
    products = sum(w.product for w in works)
    clearings = sum(w.name == "clear bins" for w in works)
    kernels, copies = len(works) - products - clearings, transfers(m, atoms, train) + clearings
    return Forecast(sum(s for s, _ in parts.values()), (kernels + copies) * gpu.launch + products * gpu.product_launch,
                    serial(gpu, m, atoms, train), kernels, products, copies,
                    0.0 if train else atoms * (LIST_BUILD / LIST_EVERY + LOOP_REST), parts)


def summary(atoms):
    """The forecast of all nets, precisions and GPUs, in Markdown."""
    lines = [f"| net | precision | GPU | MD, {atoms} atoms: pair style | whole loop | training step, 192 atoms | on the GPU | launching | "
             "copies, Adam |", "|---|---|---|---|---|---|---|---|---|"]
    for net in NETS:
        for real, precision in ((8, "float64"), (4, "float32")):
            for gpu in GPUS:
                md, train = forecast(gpu, Model(net, real), atoms, False), forecast(gpu, Model(net, real), 192, True)
                lines.append(f"| {net} | {precision} | {gpu.name} | {md.step / atoms * 1e6:.2f} us/atom | {md.loop / atoms * 1e6:.2f} us/atom | "
                             f"{train.step * 1e3:.1f} ms | "
                             f"{train.gpu * 1e3:.1f} ms | {train.host * 1e3:.1f} ms | {train.serial * 1e3:.1f} ms |")
    return "\n".join(lines)


def largest_terms(m, atoms, train, gpu=H100, most=8):
    """What takes longest on the GPU, in Markdown: ns/atom of an MD step, us of a training step."""
    found = forecast(gpu, m, atoms, train)
    scale, unit = (1e6, "us") if train else (1e9 / atoms, "ns/atom")
    rows = sorted(found.parts.items(), key=lambda part: -part[1][0])[:most]
    lammps = [f"| all of the pair style (`Pair`) | {found.step * scale:.0f} | |",
              f"| LAMMPS' neighbor list, on one core every {LIST_EVERY} steps | {1e9 * LIST_BUILD / LIST_EVERY:.0f} | |",
              f"| the rest of LAMMPS' loop | {1e9 * LOOP_REST:.0f} | |"]
    return "\n".join([f"| {'training step' if train else 'MD step'}, {gpu.name} | {unit} | limited by |", "|---|---|---|"] +
                     [f"| {name} | {seconds * scale:.0f} | {limit} |" for name, (seconds, limit) in rows] +
                     [f"| all on the GPU | {found.gpu * scale:.0f} | |",
                      f"| launching {found.kernels} kernels, {found.products} products, {found.copies} copies | {found.host * scale:.0f} | |",
                      f"| the rest of the host | {found.serial * scale:.0f} | |"] + ([] if train else lammps))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--atoms", type=int, default=98304, help="of the MD step, default 98304")
    arguments = parser.parse_args()
    if not 3 <= arguments.atoms <= MOST_ATOMS:
        parser.error(f"--atoms {arguments.atoms}: give a number from 3, a molecule of water, to {MOST_ATOMS}")
    print(summary(arguments.atoms))
    for net in NETS:
        print(f"\n{net} net, float64:\n\n" + largest_terms(Model(net), arguments.atoms, False) + "\n\n" +
              largest_terms(Model(net), 192, True))


if __name__ == "__main__":
    main()
