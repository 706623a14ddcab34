"""MD: us per atom and step of the same model in LAMMPS, this package beside DeePMD-kit, both backends."""

from .errors import BenchError
from .logs import lammps_dump, lammps_loop
from .models import Kind, make_models
from .pairing import best, ratios, summary, take_turns
from .settings import OURS, RANKS, THREADS
from .water import write_data

# name: (environment, model file, run as its own `lmp` runs it; else with what makes it faster, see Peer.adjust)
PEERS = {
    "TensorFlow compressed": ("tensorflow", "model-c.pb", False),
    "TensorFlow": ("tensorflow", "model.pb", False),
    "PyTorch compressed": ("pytorch", "model-c.pth", False),
    "PyTorch": ("pytorch", "model.pth", False),
    "PyTorch compressed, as installed": ("pytorch", "model-c.pth", True),
}
SWEPT = ("TensorFlow compressed",)  # the sides of the peer at other sizes
BASE = (2, 2, 2)  # 1536 atoms
SWEEP = [(1, 1, 1), (3, 3, 3), (4, 5, 5)]  # 192, 5184, 19200 atoms
WARM_UP = 5
REBUILD = 10  # steps between two neighbor builds, as in DeePMD-kit's water example

INPUT = """units metal
atom_style atomic
boundary p p p
read_data {data}
pair_style {style}
pair_coeff * * {coeff}
neighbor 1.0 bin
neigh_modify every {rebuild} delay 0 check no
timestep 0.0005
velocity all create 330.0 4928459
fix nve all nve
thermo 1000
"""


class Side:
    """One pair style with one model file in one environment; `ranks`: where it does not run on all of them."""

    def __init__(self, name, environment, style, coeff, variables=None, ranks=None):
        self.name, self.environment, self.style, self.coeff = name, environment, style, coeff
        self.variables, self.ranks = variables or {}, ranks

    def run(self, what, folder, text, ranks):
        """Output of LAMMPS for an input text."""
        return self.environment.run_lammps(what, folder, text, self.ranks or ranks, self.variables)


def make_sides(kind, files, ours, peers, names=tuple(PEERS), knots="", threads=1):
    """Our side first, a second one with threads instead of ranks where `threads` > 1, then those of `names`.

    Elements follow the model's type_map.
    """
    style = "dptrain" + (" precision single" if kind.precision == "single" else "") + knots
    sides = [Side(RANKS, ours, style, f"{files['model.dp']} O H")]
    if threads > 1:
        sides.append(Side(THREADS, ours, style, sides[0].coeff, {"OMP_NUM_THREADS": threads}, 1))
    for name in names:
        backend, file, as_installed = PEERS[name]
        variables = peers[backend].as_installed() if as_installed else {}
        sides.append(Side(name, peers[backend], f"deepmd {files[file]}", "O H", variables))
    return sides


class Bench:
    """Times sides on one LAMMPS data file, with a number of steps that fits the time of one run."""

    def __init__(self, settings, folder, ranks=None):
        self.settings, self.folder = settings, folder
        self.ranks = ranks or settings.cores
        self.steps = {}
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, side, data, steps, more=""):
        text = INPUT.format(data=data, style=side.style, coeff=side.coeff, rebuild=REBUILD)
        text += f"run {WARM_UP if steps > 4 else 1}\nrun {steps}\n{more}"
        what = f"MD, {side.name}" + ("" if self.ranks == self.settings.cores else f", {self.ranks} rank")
        return lammps_loop(side.run(what, self.folder, text, self.ranks))[0]

    def time(self, side, data, atoms):
        """us per atom and step. The first call finds the number of steps; many are a multiple of the rebuild interval."""
        if side.name not in self.steps:
            trial = self.run(side, data, 2)
            wanted = self.settings.budget / (trial * atoms * 1e-6)
            self.steps[side.name] = max(2, int(wanted)) if wanted < REBUILD else min(int(wanted) // REBUILD * REBUILD, 2000)
        return self.run(side, data, self.steps[side.name])


def compare(settings, sides, folder, data, atoms, repeats, ranks=None):
    """One row of the result: times of all sides in turn, ratios, the best peer."""
    bench = Bench(settings, folder, ranks)
    values = take_turns([s.name for s in sides],
                        lambda name: bench.time(next(s for s in sides if s.name == name), data, atoms), repeats,
                        lambda name, value: print(f"  {atoms} atoms  {name:24s} {value:9.3f} us/atom/step", flush=True))
    return {"atoms": atoms, "ranks": bench.ranks, "us_per_atom": {n: summary(v) for n, v in values.items()},
            "steps": dict(bench.steps), "ratio": ratios(values, OURS), "ours_best": best(values, OURS),
            "peer_best": best(values, PEERS)}


def agreement(settings, sides, folder, data, atoms):
    """Largest differences of force components (eV/Angstrom) and of the energy per atom (eV) from our side, at step 0."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for side in sides:
        text = INPUT.format(data=data, style=side.style, coeff=side.coeff, rebuild=REBUILD)
        text += ("run 0\nwrite_dump all custom force.dump id fx fy fz modify format "
                 'float %.15g\nvariable e equal pe\nprint "ENERGY $(v_e:%.15g)"\n')
        output = side.run(f"agreement, {side.name}", folder, text, settings.cores)
        lines = [line for line in output.splitlines() if line.startswith("ENERGY ")]
        if not lines:
            raise BenchError(f"bench: {side.name} has printed no energy in {folder}")
        found[side.name] = float(lines[-1].split()[1]), lammps_dump(folder / "force.dump")
    energy, force = found[RANKS]
    return {name: {"energy_per_atom": abs(e - energy) / atoms,
                   "force": max(abs(a - b) for k in force for a, b in zip(force[k], f[k]))}
            for name, (e, f) in found.items() if name not in OURS}


def measure(settings, ours, peers):
    """All rows: every backend at 1536 atoms, the compressed models at the other sizes."""
    folder = settings.work / "inference"
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for net in ("standard", "small"):
        for precision in ("double",) if settings.quick and net == "standard" else ("double", "single"):
            kind = Kind(net, precision)
            files = make_models(kind, settings, peers)
            print(f"bench: inference, {kind.name}", flush=True)
            for copies in [BASE] if settings.quick else [BASE, *SWEEP]:
                data = folder / f"water-{'x'.join(map(str, copies))}.data"
                atoms = write_data(data, settings.valid_system, copies)
                # one backend's compressed model is enough to see how the cost goes with the number of atoms
                names = tuple(PEERS) if copies == BASE else SWEPT
                sides = make_sides(kind, files, ours, peers, names, threads=settings.cores)
                row = {"net": net, "precision": precision}
                if copies == BASE:
                    row["agreement"] = agreement(settings, sides, folder / kind.name, data, atoms)
                    for name, difference in row["agreement"].items():
                        print(f"  agreement with {name}: force {difference['force']:.1e} eV/A, "
                              f"energy {difference['energy_per_atom']:.1e} eV/atom", flush=True)
                rows.append({**row, **compare(settings, sides, folder / kind.name, data, atoms, settings.repeats)})
    return rows
