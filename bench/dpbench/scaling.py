"""How our cost goes with cores, neighbors (cutoff) and knots of the table."""

from . import inference
from .logs import lammps_dump
from .models import Kind, make_models
from .water import write_data

CUTOFFS = (4.0, 6.0, 8.0)  # Angstrom
KNOTS = (64, 128, 256, 512, 1024)
FINE_KNOTS = 4096  # stands for the exact net in the column of errors
PEER = "TensorFlow compressed"


def measure_cores(settings, ours, peers, data, atoms):
    """Standard net, double: one core and all of them."""
    kind = Kind()
    files = make_models(kind, settings, peers)
    rows = []
    for cores in sorted({1, settings.cores}):
        sides = inference.make_sides(kind, files, ours, peers, (PEER,), threads=cores)
        rows.append(inference.compare(settings, sides, settings.work / "scaling" / "cores", data, atoms, settings.repeats, cores))
    return rows


def measure_neighbors(settings, ours, peers, data, atoms):
    """Standard net, double, with sel in proportion to the volume inside the cutoff."""
    rows = []
    for rcut in CUTOFFS[:1] if settings.quick else CUTOFFS:
        kind = Kind(rcut=rcut)
        sides = inference.make_sides(kind, make_models(kind, settings, peers), ours, peers, (PEER,))
        row = inference.compare(settings, sides, settings.work / "scaling" / kind.name, data, atoms, settings.repeats)
        rows.append({"rcut": rcut, "sel": kind.sel, **row})
    return rows


def forces(settings, side, folder, data):
    text = inference.INPUT.format(data=data, style=side.style, coeff=side.coeff, rebuild=inference.REBUILD)
    text += "run 0\nwrite_dump all custom force.dump id fx fy fz modify format float %.15g\n"
    side.run("forces, knots", folder, text, settings.cores)
    return lammps_dump(folder / "force.dump")


def measure_knots(settings, ours, peers, data, atoms):
    """Standard net: cost, and the largest difference of a force component (eV/Angstrom) from a very fine table."""
    rows = []
    folder = settings.work / "scaling" / "knots"
    for precision in ("double", "single"):
        kind = Kind("standard", precision)
        files = make_models(kind, settings, peers)
        double = Kind("standard", "double")
        fine = inference.make_sides(double, files, ours, peers, (), f" knots {FINE_KNOTS}")[0]
        bench = inference.Bench(settings, folder)
        exact = forces(settings, fine, folder, data)
        for knots in (*KNOTS[:1], "auto") if settings.quick else (*KNOTS, "auto"):
            side = inference.make_sides(kind, files, ours, peers, (), f" knots {knots}")[0]
            side.name = f"knots {knots}"
            found = forces(settings, side, folder, data)
            error = max(abs(a - b) for k in exact for a, b in zip(exact[k], found[k]))
            rows.append({"precision": precision, "knots": knots, "us_per_atom": bench.time(side, data, atoms),
                         "force_error": error})
            print(f"  {side.name}, {precision}: {rows[-1]['us_per_atom']:.2f} us/atom/step, {error:.1e} eV/A", flush=True)
    return rows


def measure(settings, ours, peers):
    """All of them, at 1536 atoms."""
    folder = settings.work / "scaling"
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "water.data"
    atoms = write_data(data, settings.valid_system, inference.BASE)
    print("bench: scaling", flush=True)
    return {"cores": measure_cores(settings, ours, peers, data, atoms),
            "neighbors": measure_neighbors(settings, ours, peers, data, atoms),
            "knots": measure_knots(settings, ours, peers, data, atoms)}
