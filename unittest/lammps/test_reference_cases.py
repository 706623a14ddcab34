"""`pair_style dptrain` against DeePMD-kit's numbers: every frame of every case in unittest/reference (and of the shared
acceptance cases, where that folder exists) on 1, 2 and 4 ranks.

All frames run one after the other in one LAMMPS process per rank count, because starting LAMMPS costs more than the frames.
If that process dies, each case runs in its own, so that the report names the case.
"""

import json
import lzma
import os
from pathlib import Path

import numpy as np
import pytest

from lammps_runner import REFERENCE, run_lammps

SHARED = Path(os.environ.get("DPTRAIN_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "cases"
PAIR = "dptrain precision {precision}"
COEFF = "* * {model} {elements}"
NKTV2P = 1.6021765e6  # bar Angstrom^3 per eV in LAMMPS' metal units
SINGLE = 1e-5  # relative: what precision single promises; float32 has 6e-8, sums and derivatives lose two digits
FLOOR = 1e-2  # eV, eV/A: below this magnitude errors count as absolute errors divided by it
STRESS_ORDER = [0, 4, 8, 3, 6, 7, 1, 2, 5]  # xx yy zz xy xz yz yx zx zy of the row-major virial [force][coordinate]


def find_cases():
    """{name: (folder, expected.json)} of all inference cases."""
    found = {}
    for prefix, root in (("", REFERENCE), ("shared/", SHARED)):
        for path in sorted(root.glob("*/expected.json")):
            expected = json.loads(path.read_text())
            if "frames" in expected:
                found[prefix + path.parent.name] = (path.parent, expected)
    return found


CASES = find_cases()


def model_file(name, folder, scratch):
    """The case's model.dp; a compressed one is unpacked into `scratch`."""
    if (folder / "model.dp").exists():
        return folder / "model.dp"
    unpacked = scratch / (name.replace("/", "_") + ".dp")
    if not unpacked.exists():
        unpacked.write_bytes(lzma.decompress((folder / "model.dp.xz").read_bytes()))
    return unpacked


def frame_input(name, k, precision, scratch):
    """LAMMPS commands for one frame; results go to dump and to a line of the screen output."""
    folder, expected = CASES[name]
    frame = expected["frames"][k]
    model = model_file(name, folder, scratch)
    key = f"{name.replace('/', '_')}.{k}"
    coeff = COEFF.format(model=model, elements=" ".join(frame["lammps_elements"]))
    return f"""clear
units metal
boundary {"p p p" if frame["pbc"] else "f f f"}
atom_modify map yes
neighbor 2.0 bin
read_data {folder / frame["data"]}
pair_style {PAIR.format(precision=precision)}
pair_coeff {coeff}
compute pea all pe/atom
compute cva all centroid/stress/atom NULL virial
thermo_style custom step pe pxx pyy pzz pxy pxz pyz vol
dump 1 all custom 1 {key}.dump id fx fy fz c_pea c_cva[*]
dump_modify 1 sort id format float %.17g
run 0
print "RESULT {key} $(pe:%.17g) $(pxx:%.17g) $(pyy:%.17g) $(pzz:%.17g) $(pxy:%.17g) $(pxz:%.17g) $(pyz:%.17g) $(vol:%.17g)"
"""


def run_cases(names, precision, ranks, scratch):
    """Exit status and output of one LAMMPS process that computes all frames of the named cases."""
    text = "".join(frame_input(n, k, precision, scratch) for n in names for k in range(len(CASES[n][1]["frames"])))
    done = run_lammps(scratch, text, ranks)
    return done.status, done.output


@pytest.fixture(scope="module", params=[("double", 1), ("double", 2), ("double", 4), ("single", 2)],
                ids=lambda p: f"{p[0]}-{p[1]}ranks")
def results(request, tmp_path_factory):
    """Precision, and function: case name -> (status, output, folder with the dumps)."""
    precision, ranks = request.param
    scratch = tmp_path_factory.mktemp("all")
    status, output = run_cases(CASES, precision, ranks, scratch)
    alone = {}

    def of(name):
        if status == 0:
            return status, output, scratch
        if name not in alone:
            folder = tmp_path_factory.mktemp("one")
            alone[name] = (*run_cases([name], precision, ranks, folder), folder)
        return alone[name]

    return precision, of


def relative(value, expected):
    """Largest deviation over the largest expected magnitude."""
    expected = np.asarray(expected, float)
    return float(np.abs(np.asarray(value) - expected).max() / max(np.abs(expected).max(), FLOOR))


def deviations(line, dump, python):
    """Relative error of each quantity of a frame."""
    pe, *pressure, volume = line
    virial = np.array(python["virial"])[STRESS_ORDER[:6]]
    errors = {
        "energy": relative(pe, python["energy"]),
        "virial": relative(np.array(pressure) * volume / NKTV2P, virial),
        "force": relative(dump[:, 1:4], python["force"]),
        "atom_energy": relative(dump[:, 4], python["atom_energy"]),
    }
    if "atom_virial" in python:  # per-atom stress of LAMMPS is minus the virial, in pressure times volume
        errors["atom_virial"] = relative(-dump[:, 5:] / NKTV2P, np.array(python["atom_virial"])[:, STRESS_ORDER])
    return errors


@pytest.mark.parametrize("name", CASES)
def test_case(name, results):
    precision, of = results
    status, output, folder = of(name)
    assert status == 0, output[-3000:]
    lines = {w[1]: [float(x) for x in w[2:]] for w in map(str.split, output.splitlines()) if w[:1] == ["RESULT"]}
    expected = CASES[name][1]
    tolerance = expected["tolerance"] if precision == "double" else max(expected["tolerance"], SINGLE)
    wrong = {}
    for k, frame in enumerate(expected["frames"]):
        key = f"{name.replace('/', '_')}.{k}"
        dump = np.loadtxt(folder / f"{key}.dump", skiprows=9, ndmin=2)
        errors = deviations(lines[key], dump, frame["python"])
        if not max(errors.values()) <= tolerance:  # NaN counts as wrong
            wrong[frame["name"]] = errors
    assert not wrong, json.dumps(wrong, indent=1)


def test_the_repository_has_its_own_cases():
    assert sum(not n.startswith("shared/") for n in CASES) >= 28
