"""`pair_style dptrain` as a citizen of LAMMPS: units, hybrid styles, restart files, rerun, minimization, finite
differences. The numbers of the model itself are compared with DeePMD-kit in test_reference_cases.py.
"""

import shutil
import struct

import numpy as np
import pytest

from lammps_runner import REFERENCE

WATER = REFERENCE / "two_side"
ALLOY = REFERENCE / "triclinic_3type"
RANKS = [1, 2, 4]

SYSTEM = """units metal
atom_modify map yes
{before}
read_data {data}
"""


def water(before="", frame="liquid", pair=f"pair_style dptrain\npair_coeff * * {WATER}/model.dp O H\n"):
    boundary = "boundary f f f" if frame == "cluster" else ""
    return SYSTEM.format(before=f"{boundary}\n{before}", data=WATER / f"{frame}.data") + pair


def alloy(before=""):
    return SYSTEM.format(before=before, data=ALLOY / "all3.data") + \
        f"pair_style dptrain\npair_coeff * * {ALLOY}/model.dp Al Cu Ni\n"


REPORT = """dump report all custom 1 {name}.dump id fx fy fz
dump_modify report sort id format float %.17g
run 0
print "RESULT pe $(pe:%.17g)"
print "RESULT pxx $(pxx:%.17g)"
print "RESULT pxy $(pxy:%.17g)"
undump report
"""

# energy and length units of each style in eV and Angstrom (CODATA; LAMMPS' own constants are older: 1e-6 is allowed)
JOULE = 1 / 1.602176634e-19
UNITS = {"real": (1 / 23.0605480, 1.0), "si": (JOULE, 1e10), "cgs": (JOULE * 1e-7, 1e8),
         "electron": (27.211386, 0.529177211), "micro": (JOULE * 1e-15, 1e4), "nano": (JOULE * 1e-21, 10.0)}


def rescale(text, factor):
    """A data file in another length unit."""
    lines, section = [], ""
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words and words[0] in ("Masses", "Atoms"):
            section = words[0]
        elif len(words) in (4, 6) and words[-1].endswith("hi") or words[-3:] == ["xy", "xz", "yz"]:
            n = 3 if words[-1] == "yz" else 2
            line = " ".join([repr(float(w) * factor) for w in words[:n]] + words[n:])
        elif section == "Atoms" and len(words) >= 5:
            line = " ".join(words[:2] + [repr(float(w) * factor) for w in words[2:5]] + words[5:])
        lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("style", UNITS)
def test_units(style, lammps, tmp_path):
    energy, length = UNITS[style]
    metal = lammps(water() + REPORT.format(name="metal")).check()
    (tmp_path / "scaled.data").write_text(rescale((WATER / "liquid.data").read_text(), 1 / length))
    text = water().replace("units metal", f"units {style}").replace(str(WATER / "liquid.data"), "scaled.data")
    text = text.replace("read_data", f"neighbor {2.0 / length} bin\nread_data")
    other = lammps(text + REPORT.format(name="other")).check()
    assert other.value("pe") * energy == pytest.approx(metal.value("pe"), rel=1e-6)
    forces = metal.dump("metal.dump")[:, 1:]
    assert np.abs(other.dump("other.dump")[:, 1:] * energy / length - forces).max() < 1e-6 * np.abs(forces).max()


@pytest.mark.parametrize("newton", ["on", "off"])
@pytest.mark.parametrize("ranks", RANKS)
def test_forces_and_virial_against_finite_differences(ranks, newton, lammps):
    """fix numdiff moves each atom and strains the box by 1e-4: central differences err by about 1e-7 of the forces."""
    text = alloy(f"newton {newton}") + """fix f all numdiff 1 1e-4
fix v all numdiff/virial 1 1e-4
compute p all pressure NULL virial
dump d all custom 1 numdiff.dump id fx fy fz f_f[1] f_f[2] f_f[3]
dump_modify d format float %.17g
thermo_style custom step pe c_p[1] c_p[2] c_p[3] c_p[4] c_p[5] c_p[6] f_v[1] f_v[2] f_v[3] f_v[6] f_v[5] f_v[4]
thermo_modify format float %.17g
run 0
"""
    result = lammps(text, ranks).check()
    table = result.dump("numdiff.dump")
    force = np.abs(table[:, 1:4]).max()
    assert np.abs(table[:, 1:4] - table[:, 4:7]).max() < 2e-6 * force
    thermo = result.thermo()
    pressure = np.array([thermo[f"c_p[{k}]"][0] for k in (1, 2, 3, 4, 5, 6)])
    differences = np.array([thermo[f"f_v[{k}]"][0] for k in (1, 2, 3, 6, 5, 4)])
    assert np.abs(pressure - differences).max() < 1e-5 * np.abs(pressure).max()
    assert np.abs(table[:, 1:4].sum(0)).max() < 1e-12 * force * len(table)


@pytest.mark.parametrize("newton", ["on", "off"])
@pytest.mark.parametrize("ranks", RANKS)
def test_atom_values_add_up(ranks, newton, lammps):
    """Energies and stresses of atoms sum to the global ones, in the symmetric and the centroid form."""
    text = alloy(f"newton {newton}") + """compute e all pe/atom
compute s all stress/atom NULL virial
compute c all centroid/stress/atom NULL virial
compute sum all reduce sum c_e c_s[*] c_c[*]
thermo_style custom step pe pxx pyy pzz pxy pxz pyz vol c_sum[*]
thermo_modify format float %.17g
run 0
"""
    thermo = lammps(text, ranks).check().thermo()
    sums = np.array([thermo[f"c_sum[{k}]"][0] for k in range(1, 17)])
    virial = -np.array([thermo[k][0] for k in ("Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz")]) * thermo["Volume"][0]
    assert sums[0] == pytest.approx(thermo["PotEng"][0], rel=1e-12)
    assert np.abs(sums[1:7] - virial).max() < 1e-11 * np.abs(virial).max()
    assert np.abs(sums[7:13] - virial).max() < 1e-11 * np.abs(virial).max()
    assert np.abs(sums[13:16] - virial[3:]).max() < 1e-11 * np.abs(virial).max()  # yx zx zy: the sum is symmetric


@pytest.mark.parametrize("ranks", [2, 4])
def test_newton_off_where_ranks_have_little_in_common(ranks, lammps):
    """A slab in a long box, cut across its gap: some ranks have many more ghosts than atoms, or no atoms. Nothing but sums differs."""
    results = {}
    for newton in ("on", "off"):
        text = water(f"newton {newton}\nprocessors * 1 1") + \
            "change_box all x final -20 60 units box\ncompute s all stress/atom NULL virial\n" + \
            REPORT.format(name=newton).replace("fx fy fz", "fx fy fz c_s[*]").replace("run 0", "fix n all nve\ntimestep 1e-5\nrun 3")
        result = lammps(text, ranks).check()
        results[newton] = result.dump(f"{newton}.dump"), result.value("pe"), result.value("pxx")
    (mine, *sums), (other, *other_sums) = results["on"], results["off"]
    for columns in (slice(1, 4), slice(4, None)):
        assert np.abs(mine[:, columns] - other[:, columns]).max() < 1e-11 * np.abs(mine[:, columns]).max()
    assert np.allclose(sums, other_sums, rtol=1e-11)


@pytest.mark.parametrize("suffix", ["omp", "opt"])
def test_beside_other_accelerators(suffix, lammps):
    """The plain style runs where a suffix has no variant of it."""
    plain = lammps(water() + REPORT.format(name="plain")).check()
    beside = lammps(water() + REPORT.format(name="beside"), options=["-sf", suffix]).check()
    assert beside.value("pe") == plain.value("pe")


@pytest.mark.parametrize("ranks", [1, 2])
def test_hybrid_overlay_is_the_sum(ranks, lammps):
    repulsion = "zbl 1.0 2.0\npair_coeff 1 1 {0}8 8\npair_coeff 1 2 {0}8 1\npair_coeff 2 2 {0}1 1\n"
    model = lammps(water() + REPORT.format(name="model"), ranks).check()
    zbl = lammps(water(pair="pair_style " + repulsion.format("")) + REPORT.format(name="zbl"), ranks).check()
    both = lammps(water(pair="pair_style hybrid/overlay dptrain zbl 1.0 2.0\n"
                        f"pair_coeff * * dptrain {WATER}/model.dp O H\n" + repulsion.format("zbl ").split("\n", 1)[1])
                  + REPORT.format(name="both"), ranks).check()
    for name in ("pe", "pxx", "pxy"):
        assert both.value(name) == pytest.approx(model.value(name) + zbl.value(name), rel=1e-12)
    total = model.dump("model.dump")[:, 1:] + zbl.dump("zbl.dump")[:, 1:]
    assert np.abs(both.dump("both.dump")[:, 1:] - total).max() < 1e-12 * np.abs(total).max()


@pytest.mark.parametrize("ranks", [1, 2])
def test_hybrid_with_null(ranks, lammps):
    """Atoms of NULL types are not there for the model."""
    pair = f"""pair_style hybrid dptrain zero 4.0
pair_coeff * * dptrain {WATER}/model.dp O NULL
pair_coeff 1*2 2 zero
"""
    hybrid = lammps(water(pair=pair) + REPORT.format(name="hybrid"), ranks).check()
    alone = lammps(water() + "group h type 2\ndelete_atoms group h compress no\n" + REPORT.format(name="alone"), ranks).check()
    assert hybrid.value("pe") == pytest.approx(alone.value("pe"), rel=1e-13)
    assert hybrid.value("pxx") == pytest.approx(alone.value("pxx"), rel=1e-11)
    forces = {int(row[0]): row[1:] for row in hybrid.dump("hybrid.dump")}
    expected = alone.dump("alone.dump")
    assert max(np.abs(forces[int(row[0])] - row[1:]).max() for row in expected) < 1e-12 * np.abs(expected[:, 1:]).max()


@pytest.mark.parametrize("ranks", RANKS)
def test_minimize(ranks, lammps):
    """The energy falls in each step, and the forces go."""
    text = water(frame="cluster") + """change_box all x final -30 30 y final -30 30 z final -30 30
thermo 1
thermo_style custom step pe fnorm
thermo_modify format float %.15g
min_style cg
min_modify line backtrack dmax 0.05
minimize 0 1e-3 500 5000
"""
    result = lammps(text, ranks).check()
    thermo = result.thermo()
    energy = thermo["PotEng"]
    assert len(energy) > 5 and energy[-1] < energy[0] - 1e-3
    assert np.diff(energy).max() < 1e-9
    assert thermo["Fnorm"][-1] < 0.1 * thermo["Fnorm"][0]


def test_rerun(lammps):
    """Frames of a dump have the energies of the run, on another number of ranks, with init called again for each."""
    run = water() + """velocity all create 50 4242
fix 1 all nve
timestep 0.0002
dump 1 all custom 5 traj.dump id type x y z
dump_modify 1 format float %.17g
thermo 5
thermo_modify format float %.15g
run 20
"""
    energies = lammps(run).check().thermo()["E_pair"]
    again = lammps(water() + "thermo 5\nthermo_modify format float %.15g\nrerun traj.dump dump x y z\nrun 0\n", 2).check().thermo()["E_pair"]
    assert np.abs(again[:5] - energies).max() < 1e-9


def test_restart_file(lammps, tmp_path):
    """Settings come back, pair_coeff is given again; other parameters are noticed."""
    first = lammps(water(pair=f"pair_style dptrain chunk 5\npair_coeff * * {WATER}/model.dp O H\n")
                   + "run 0\nwrite_restart water.restart\nprint \"RESULT pe $(pe:%.17g)\"\n").check()
    read = "read_restart water.restart\n{coeff}\nrun 0\nprint \"RESULT pe $(pe:%.17g)\"\n"
    second = lammps(read.format(coeff=f"pair_coeff * * {WATER}/model.dp O H"), 2).check()
    assert second.value("pe") == pytest.approx(first.value("pe"), rel=1e-13)
    assert "model.dp, elements O H" in second.output
    assert not second.warnings("Pair style dptrain")
    shutil.copy(REFERENCE / "one_side" / "model.dp", tmp_path / "other.dp")
    other = lammps(read.format(coeff="pair_coeff * * other.dp O H")).check()
    assert "the parameters of other.dp differ from those in use when the restart file was written" in other.output
    missing = lammps(read.format(coeff=""))
    assert missing.status != 0 and "All pair coeffs are not set" in missing.output


def test_restart_file_of_other_versions(lammps, tmp_path):
    """What versions before the first release wrote, and what a later one may write, is refused."""
    coeff = f"pair_coeff * * {WATER}/model.dp O H\n"
    lammps(water(pair=f"pair_style dptrain knots 301 chunk 5\n{coeff}") + "run 0\nwrite_restart water.restart\n").check()
    data = (tmp_path / "water.restart").read_bytes()
    now = struct.pack("4i", -8, 301, 5, 0)
    assert data.count(now) == 1

    def read(*numbers):
        (tmp_path / "water.restart").write_bytes(data.replace(now, struct.pack(f"{len(numbers)}i", *numbers)))
        return lammps(f"read_restart water.restart\n{coeff}run 0\nprint \"RESULT pe $(pe:%.17g)\"\n", 2)

    energy = read(-8, 301, 5, 0).check().value("pe")
    assert read(-8, 31, 5, 0).check().value("pe") != energy
    for numbers, message in (((-7, 301, 5, 0), "its settings have format 7, this version reads 8"),
                             ((-9, 301, 5, 0), "its settings have format 9, this version reads 8"),
                             ((-8, 301, 5, 3), "has precision 3, allowed are 0 (double), 1 (single) and 2 (mixed)"),
                             ((-8, 301, 5, -1), "has precision -1")):
        result = read(*numbers)
        assert result.status != 0 and message in result.output, numbers


def bonded_water(special):
    """The water frame as a molecular system with bonds that have no energy."""
    lines = (WATER / "liquid.data").read_text().split("Atoms")[1].splitlines()[1:]
    atoms = sorted((line.split() for line in lines if line.strip()), key=lambda words: int(words[0]))
    create = "\n".join(f"create_atoms {a[1]} single {a[2]} {a[3]} {a[4]} units box" for a in atoms)
    return f"""units metal
atom_style bond
atom_modify map yes
region box block 0 5.4 0 5.7 0 6.1
create_box 2 box bond/types 1 extra/bond/per/atom 2 extra/special/per/atom 4
{create}
mass * 1.0
bond_style zero
bond_coeff 1
special_bonds {special}
pair_style dptrain
pair_coeff * * {WATER}/model.dp O H
create_bonds single/bond 1 1 2
create_bonds single/bond 1 3 4
"""


def test_special_bonds(lammps):
    """Small factors keep bonded pairs in the lists; zero ones would not, and are refused."""
    plain = lammps(water() + REPORT.format(name="plain")).check()
    bonded = lammps(bonded_water("lj/coul 1e-50 1e-50 1e-50") + REPORT.format(name="bonded")).check()
    assert bonded.value("pe") == pytest.approx(plain.value("pe"), rel=1e-13)
    refused = lammps(bonded_water("lj/coul 0 1 1") + REPORT.format(name="refused"), 2)
    assert refused.status != 0 and len(refused.errors()) == 1
    assert "special_bonds factors of zero" in refused.errors()[0]
