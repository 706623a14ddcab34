"""The styles on the arrays of LAMMPS' KOKKOS package, against the plain ones. They are there in a LAMMPS that was built with both
packages (tools/build-in-tree); skipped elsewhere."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from active import decisions, events
from committee import make_member
from lammps_runner import REFERENCE, kokkos_has_threads, lammps_packages, run_lammps
from salt import MESH, PRISM, atoms, make_models, pair
from silicon import ATOMS, learn, write_input

WATER, ALLOY = REFERENCE / "two_side", REFERENCE / "triclinic_3type"


pytestmark = pytest.mark.skipif(not {"KOKKOS", "USER-DPTRAIN"} <= set(lammps_packages()), reason="LAMMPS has no KOKKOS package with these styles")

GPUS = os.environ.get("DPTRAIN_TEST_GPUS", "0")  # that LAMMPS is to use (tools/gpu-kit)
THREADS = GPUS == "0" and kokkos_has_threads()
ON = ["-k", "on", *(["g", GPUS] if GPUS != "0" else [])]
# threads, newton and neighbor lists of a rank: those of processors, and those that are usual on GPUs
WAYS = {"serial": (1, "on", "half"), "threads": (2, "on", "half"), "gpu_like": (2, "off", "full"), "newton_off": (1, "off", "half")}
SYSTEMS = {"water": (WATER / "liquid.data", WATER / "model.dp", "O H"), "triclinic": (ALLOY / "all3.data", ALLOY / "model.dp", "Al Cu Ni"),
           "nep": (ALLOY / "all3.data", REFERENCE / "nep" / "nep4_five.txt", "Al Cu Pd")}
REPORT = """dump report all custom 1 {name}.dump id fx fy fz
dump_modify report sort id format float %.17g
thermo_style custom step pe pxx pyy pzz pxy pxz pyz
thermo_modify format float %.17g
"""


def options(way):
    """Words of the command line."""
    threads, newton, neigh = WAYS[way]
    return [*ON, "t", str(threads if THREADS else 1), "-sf", "kk", "-pk", "kokkos", "newton", newton, "neigh", neigh]


def system(name, style="", before="", units="metal"):
    data, model, elements = SYSTEMS[name]
    return f"units {units}\natom_modify map yes\n{before}\nread_data {data}\npair_style dptrain {style}\npair_coeff * * {model} {elements}\n"


def both(folder, text, way, ranks):
    """Result and last frame of the dump: plain, then with KOKKOS."""
    results = []
    for name, words in (("plain", ()), ("kk", options(way))):
        result = run_lammps(folder, text.format(name=name), ranks, words, OMP_WAIT_POLICY="passive").check()
        results.append((result, result.dump(f"{name}.dump")))
    assert "kk/device" in results[1][0].output  # of its neighbor list
    return results


def same_thermo(plain, kokkos, tolerance):
    mine, other = plain.thermo(), kokkos.thermo()
    assert mine.keys() == other.keys() and len(mine["Step"]) > 0
    pressures = [name for name in mine if name.startswith("P") and name != "PotEng"]
    scale = max(np.abs(mine[name]).max() for name in pressures) if pressures else 1.0
    for name in mine:
        size = scale if name in pressures else np.abs(mine[name]).max()
        assert np.abs(mine[name] - other[name]).max() <= tolerance * size, name


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_same_numbers(name, way, ranks, tmp_path):
    """Only the order of sums differs."""
    text = system(name) + REPORT + "run 0\n"
    (plain, mine), (kokkos, other) = both(tmp_path, text, way, ranks)
    same_thermo(plain, kokkos, 1e-12)
    assert np.abs(mine[:, 1:] - other[:, 1:]).max() < 1e-12 * np.abs(mine[:, 1:]).max()


@pytest.fixture(scope="module")
def salt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("salt")
    make_models(folder)
    return folder


@pytest.mark.parametrize("file", ["salt.dp", "net.dp"])
@pytest.mark.parametrize("words", ["kspace no", MESH])
@pytest.mark.parametrize("way", ["threads", "gpu_like"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_charges(file, words, way, ranks, salt):
    """Sums of the library, and a mesh of LAMMPS, which reads the atoms on the host, in steps that move them. A mesh sums in the order of atoms."""
    text = atoms(PRISM) + pair(file, words) + "compute q all dptrain/charge/atom\n" + REPORT.replace("custom 1", "custom 5").replace("fz", "fz c_q") + \
        "fix n all nve\nthermo 5\nrun 10\n"
    (plain, mine), (kokkos, other) = both(salt, text, way, ranks)
    same_thermo(plain, kokkos, 1e-10)
    assert np.abs(mine[:, 4]).min() > 0.5
    assert np.abs(mine[:, 1:] - other[:, 1:]).max() < 1e-9 * np.abs(mine[:, 1:]).max()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranks", [1, 2])
def test_same_trajectory(way, ranks, tmp_path):
    """fix nve/kk, sorting of atoms and rebuilt lists; rounding grows by some thousands in these steps."""
    text = system("triclinic", before="atom_modify sort 5 3.0") + REPORT.replace("custom 1", "custom 40") + \
        "neigh_modify every 2 delay 0 check yes\nvelocity all create 900 4711 loop geom\nfix n all nve\ntimestep 0.001\nthermo 20\nrun 40\n"
    (plain, mine), (kokkos, other) = both(tmp_path, text, way, ranks)
    same_thermo(plain, kokkos, 1e-10)
    assert np.abs(mine[:, 1:] - other[:, 1:]).max() < 1e-9 * np.abs(mine[:, 1:]).max()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranks", [1, 2])
def test_values_of_atoms(way, ranks, tmp_path):
    text = system("triclinic") + "compute e all pe/atom\ncompute s all stress/atom NULL virial\ncompute c all centroid/stress/atom NULL virial\n" + \
        REPORT.replace("fx fy fz", "c_e c_s[*] c_c[*]") + "run 2\n"
    (_, mine), (_, other) = both(tmp_path, text, way, ranks)
    assert mine.shape[1] == 17
    for k in range(1, 17):
        assert np.abs(mine[:, k] - other[:, k]).max() < 1e-12 * np.abs(mine[:, 1 if k == 1 else slice(2, None)]).max()


@pytest.mark.parametrize("way", ["threads", "gpu_like"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_hybrid_overlay(way, ranks, tmp_path):
    data, model, elements = SYSTEMS["water"]
    pair = f"pair_style hybrid/overlay dptrain zbl 1.0 2.0\npair_coeff * * dptrain {model} {elements}\n" \
           "pair_coeff 1 1 zbl 8 8\npair_coeff 1 2 zbl 8 1\npair_coeff 2 2 zbl 1 1\n"
    text = f"units metal\natom_modify map yes\nread_data {data}\n{pair}" + REPORT + "run 0\n"
    (plain, mine), (kokkos, other) = both(tmp_path, text, way, ranks)
    assert kokkos.output.count("kk/device") >= 2
    same_thermo(plain, kokkos, 1e-12)
    assert np.abs(mine[:, 1:] - other[:, 1:]).max() < 1e-12 * np.abs(mine[:, 1:]).max()


def test_hybrid_with_types_that_the_model_has_not(tmp_path):
    data, model, _ = SYSTEMS["water"]
    pair = f"pair_style hybrid dptrain zero 4.0\npair_coeff * * dptrain {model} O NULL\npair_coeff 1*2 2 zero\n"
    text = f"units metal\natom_modify map yes\nread_data {data}\n{pair}" + REPORT + "run 0\n"
    (plain, mine), (kokkos, other) = both(tmp_path, text, "threads", 2)
    same_thermo(plain, kokkos, 1e-12)
    assert np.abs(mine[:, 1:] - other[:, 1:]).max() < 1e-12 * np.abs(mine[:, 1:]).max()


def test_units_with_another_length(tmp_path):
    """Positions are then brought to Angstrom in memory of the style."""
    text = system("water", units="metal") + REPORT + "run 0\n"
    metal = run_lammps(tmp_path, text.format(name="metal"), 1, options("threads")).check()
    scaled = (tmp_path / "nano.data")
    lines, atoms = [], False
    for line in (WATER / "liquid.data").read_text().splitlines():
        words = line.split("#")[0].split()
        if words and words[0] in ("Masses", "Atoms"):
            atoms = words[0] == "Atoms"
        elif len(words) == 4 and words[-1].endswith("hi"):
            line = " ".join([repr(float(w) / 10) for w in words[:2]] + words[2:])
        elif atoms and len(words) >= 5:
            line = " ".join(words[:2] + [repr(float(w) / 10) for w in words[2:5]])
        lines.append(line)
    scaled.write_text("\n".join(lines) + "\n")
    text = system("water", units="nano").replace(str(WATER / "liquid.data"), scaled.name).replace("read_data", "neighbor 0.2 bin\nread_data")
    nano = run_lammps(tmp_path, (text + REPORT).format(name="nano") + "run 0\n", 1, options("threads")).check()
    ratio = nano.dump("nano.dump")[:, 1:] / metal.dump("metal.dump")[:, 1:]
    assert np.abs(ratio / np.median(ratio) - 1).max() < 1e-6  # LAMMPS' constants have seven digits


@pytest.mark.parametrize("style", ["dptrain/kk", "dptrain/kk/device", "dptrain/kk/host"])
def test_names(style, tmp_path):
    """Without a suffix, by the name alone."""
    text = system("water").replace("pair_style dptrain", f"pair_style {style}") + REPORT.format(name="named") + "run_style verlet/kk\nrun 0\n"
    named = run_lammps(tmp_path, text, 2, ON).check()
    plain = run_lammps(tmp_path, system("water") + REPORT.format(name="plain") + "run 0\n", 2).check()
    mine, other = plain.dump("plain.dump"), named.dump("named.dump")
    assert np.abs(mine - other).max() < 1e-12 * np.abs(mine[:, 1:]).max()


@pytest.mark.parametrize("ranks", [1, 2])
def test_plain_styles_beside_kokkos(ranks, tmp_path):
    """`suffix off`: the plain pair style in a run whose atoms are KOKKOS'."""
    text = system("triclinic") + REPORT + "fix n all nve\nrun 10\n"
    plain = run_lammps(tmp_path, text.format(name="plain"), ranks).check()
    beside = run_lammps(tmp_path, text.format(name="beside").replace("pair_style", "suffix off\npair_style"), ranks, [*ON, "-sf", "kk"]).check()
    same_thermo(plain, beside, 1e-11)


@pytest.mark.parametrize("way", ["threads", "gpu_like"])
def test_committee_and_what_other_styles_read(way, tmp_path):
    """The deviation of a committee: by the compute, and by fix pair."""
    for seed in range(3):
        make_member(WATER / "model.dp", tmp_path / f"m{seed}.dp", seed)
    text = system("water", style="committee m1.dp m2.dp end").replace(str(WATER / "model.dp"), "m0.dp") + \
        "compute d all dptrain/uncertainty/atom committee\nfix p all pair 1 dptrain deviation 1\n" + \
        REPORT.replace("fx fy fz", "c_d f_p") + "run 2\n"
    if GPUS != "0":  # the forces of a committee are compared on the host
        refused = run_lammps(tmp_path, text.format(name="kk"), 1, options(way))
        assert refused.status != 0 and any("use pair_style dptrain/kk/host" in line for line in refused.errors()), refused.output
        return
    (_, mine), (_, other) = both(tmp_path, text, way, 2)
    assert mine[:, 1].max() > 0.0
    assert np.array_equal(mine[:, 1], mine[:, 2]) and np.array_equal(other[:, 1], other[:, 2])
    assert np.abs(mine - other).max() < 1e-11 * mine[:, 1].max()


@pytest.mark.parametrize("ranks", [1, 2])
def test_learning(ranks, tmp_path):
    """fix dptrain/kk: the same labels, decisions and errors as the plain fix, and forces of the reference go to the device."""
    text = learn("mode active every 5 train 10 accuracy 0.04 save 100000 si.dp", run="run 60")
    outputs = {}
    for name, words in (("plain", ()), ("kk", options("threads" if ranks == 1 else "serial"))):
        folder = tmp_path / name
        folder.mkdir()
        write_input(folder)
        outputs[name] = run_lammps(folder, text + "compute u all dptrain/uncertainty/atom\nfix p all pair 1 dptrain uncertainty 0\n"
                                   f"dump u all custom 10 {name}.dump id c_u f_p\ndump_modify u sort id format float %.17g\n"
                                   "info computes fixes\nrun 10\n", ranks, words).check()
    plain, kokkos = outputs["plain"], outputs["kk"]
    assert "dptrain/kk" in kokkos.output and "dptrain/uncertainty/atom/kk" in kokkos.output
    assert decisions(plain.output) == decisions(kokkos.output)
    assert len(decisions(plain.output)) > 3
    mine, other = plain.thermo(), kokkos.thermo()
    # as long as the reference moves the atoms; then rounding, which the optimizer amplifies: 1 and 2 ranks of the plain fix differ by 1e-5
    first = next(int(event["step"]) for event in events(plain.output) if event["moved_by"] == "model")
    exact = mine["Step"] < first
    assert exact.sum() > 3 and np.allclose(mine["PotEng"][exact], other["PotEng"][exact], rtol=1e-9)
    assert np.allclose(mine["PotEng"], other["PotEng"], rtol=3e-4)
    u, v = plain.dump("plain.dump"), kokkos.dump("kk.dump")
    assert u[:, 1].max() > 0.0 and np.array_equal(u[:, 1], u[:, 2]) and np.array_equal(v[:, 1], v[:, 2])
    assert np.allclose(u[:, 1], v[:, 1], rtol=0.05)


def test_model_that_is_trained_moves_the_atoms(tmp_path):
    """A passive training beside a run with sw/kk: `model` gives the fix one of its own."""
    write_input(tmp_path)
    text = f"{ATOMS}pair_style sw\npair_coeff * * Si.sw Si\nfix t all dptrain reference run every 5 train 5 warmup 2 model input.json Si\n" \
           "fix n all nve\nthermo_style custom step pe f_t\nthermo_modify format float %.17g\nthermo 10\nrun 30\n"
    plain = run_lammps(tmp_path, text).check().thermo()
    kokkos = run_lammps(tmp_path, text, 1, options("threads")).check()
    assert "kk/device" in kokkos.output
    assert np.allclose(kokkos.thermo()["f_t"], plain["f_t"], rtol=1e-4) and plain["f_t"][-1] > 0.0


def test_minimization(tmp_path):
    text = system("triclinic") + REPORT + "minimize 0 1e-6 20 100\n"
    plain = run_lammps(tmp_path, text.format(name="plain")).check().thermo()
    kokkos = run_lammps(tmp_path, text.format(name="kk"), 1, options("threads")).check().thermo()
    assert np.allclose(plain["PotEng"], kokkos["PotEng"], rtol=1e-9)


@pytest.mark.parametrize("way", ["threads", "gpu_like"])
def test_no_array_is_copied_in_a_step(way, tmp_path):
    """Counted by a tool of Kokkos, for runs of 5 and 25 steps without new lists: what else is copied is so at the begin and the end."""
    if shutil.which("c++") is None:
        pytest.skip("no compiler for the tool")
    tool = tmp_path / "copies.so"
    subprocess.run(["c++", "-shared", "-fPIC", "-O1", "-o", tool, Path(__file__).with_name("kokkos_copies.cpp")], check=True)
    runs = []
    for steps in (5, 25):
        text = system("triclinic") + "replicate 5 5 5\nneigh_modify delay 1000\ntimestep 0.0001\nfix n all nve\nthermo 1000\n" + f"run {steps}\n"
        runs.append(run_lammps(tmp_path, text, 1, options(way), KOKKOS_TOOLS_LIBS=str(tool), OMP_WAIT_POLICY="passive").check())
    assert runs[1].value("kernels") - runs[0].value("kernels") >= 20 * 5  # the library's are LAMMPS' Kokkos', too
    more = runs[1].value("copied") - runs[0].value("copied")
    # on a GPU control numbers (sums, maxima of lists) come to the host in a step; the positions of these atoms are 27 kB
    assert more == 0 if GPUS == "0" else more < 20 * 4096


@pytest.mark.parametrize("command, text", [
    ("pair_style dptrain/kk", "Pair style dptrain/kk: KOKKOS is not in use"), ("fix t all dptrain/kk reference run", "Fix dptrain/kk: KOKKOS is not in use"),
    ("compute u all dptrain/uncertainty/atom/kk", "Compute dptrain/uncertainty/atom/kk: KOKKOS is not in use")])
def test_without_kokkos_in_use(command, text, tmp_path):
    """LAMMPS 4 Jul 2026 says the same of any such style itself."""
    result = run_lammps(tmp_path, f"{ATOMS}{command}\n")
    assert result.status != 0
    assert any(text in line or "KOKKOS" in line for line in result.errors()), result.output


@pytest.mark.parametrize("reference, style", [
    ('sw/kk coeff "* * Si.sw Si"', "sw/kk"), ('coul/long 5.0 coeff "* *" kspace "pppm/kk 1e-4"', "pppm/kk")])
def test_reference_that_is_a_kokkos_style(reference, style, tmp_path):
    write_input(tmp_path)
    result = run_lammps(tmp_path, learn("every 5", reference=f"reference pair {reference} end"), 1, options("serial"))
    assert result.status != 0
    assert any(f"{style} works on the arrays of KOKKOS" in line for line in result.errors()), result.output
