"""Walls: no two atoms come much closer than in the labels, in runs, files, trainings and with the keyword of the pair style."""

import json
import re

import h5py
import numpy as np
import pytest

from active import decisions, events, stored_frames
from lammps_runner import REFERENCE as CASES
from lammps_runner import run_lammps
from silicon import ATOMS, REFERENCE
from test_pair_dptrain import SYSTEM

WATER = CASES / "two_side"
NEW = "pair_style dptrain\npair_coeff * * new Si"
SI = "pair_style dptrain {}\npair_coeff * * si.dp Si\n"
CLOSEST = "compute d all pair/local dist\ncompute closest all reduce min c_d inputs local\n" \
          "thermo_style custom step pe etotal c_closest\nthermo_modify format float %.17g\n"
COLD = ATOMS.replace("velocity all create 2000", "velocity all create 300")


def walls_of(path):
    """[types][types] Angstrom where the walls of a model file begin; None: it has none."""
    with h5py.File(path) as file:
        variables = json.loads(file.attrs["json"])["@variables"]
        return file[variables["dptrain_walls"]][()] if "dptrain_walls" in variables else None


def closest_pair(frames):
    """The smallest distance in periodic cells with right angles, wider than twice this distance."""
    closest = np.inf
    for frame in frames:
        cell, x = np.diag(frame["box"].reshape(3, 3)), frame["coord"]
        d = x[:, None] - x[None]
        r = np.linalg.norm(d - cell * np.round(d / cell), axis=-1)
        closest = min(closest, r[np.triu_indices(len(x), 1)].min())
    return closest


@pytest.fixture(scope="module")
def cold(tmp_path_factory):
    """Folder with si.dp, silicon that was learned at 300 K, and its labels."""
    folder = tmp_path_factory.mktemp("cold")
    run_lammps(folder, f"{COLD}{NEW}\nfix t all dptrain {REFERENCE} mode active train 40 save 100000 si.dp\nfix n all nve\nrun 60\n").check()
    return folder


def test_they_begin_at_the_smallest_distance_of_the_labels(cold):
    walls = walls_of(cold / "si.dp")
    assert walls.shape == (1, 1)
    assert abs(walls[0, 0] - closest_pair(stored_frames(cold / "si.dp.frames"))) < 1e-9


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_run_far_outside_of_what_was_learned(cold, ranks):
    """Atoms that were never seen closer than at 300 K, at 6000 K and compressed by a fifth: they do not pass through each other, the
    energy is conserved, and the run says once that it has left what was learned, and at its end how far."""
    hot = ATOMS.replace("diamond 5.431", "diamond 5.1").replace("create 2000", "create 12000")
    run = f"{CLOSEST}fix n all nve\ntimestep 0.0005\nthermo 20\nrun 400"
    result = run_lammps(cold, f"{hot}{SI.format('')}{run}\n", ranks).check()
    thermo, begin = result.thermo(), walls_of(cold / "si.dp")[0, 0]
    assert 0.7 * begin < thermo["c_closest"].min() < 0.95 * begin
    # eV of 64 atoms with 50 eV of kinetic energy
    assert np.ptp(thermo["TotEng"]) < 0.1
    warning, = result.warnings("Pair style dptrain")
    assert "is outside of what si.dp has learned" in warning
    line, = (line for line in result.output.splitlines() if line.startswith("Pair dptrain: watched 5 configurations: outside"))
    pair = re.search(r"closest pair Si-Si ([\d.]+), ([\d.]+) of the smallest learned distance, step (\d+)", line)
    # as often looked at: all pairs of every step count, thermo has every 20th; two digits of the ratio, four of the distance
    assert 0.7 * begin < float(pair[1]) <= thermo["c_closest"].min() + 1e-3
    assert abs(float(pair[1]) - float(pair[2]) * begin) < 0.005 * begin + 0.0006
    without = run_lammps(cold, f"{hot}{SI.format('watch no')}{run}\n", ranks)
    assert not without.warnings("Pair style dptrain") and "watched" not in without.output


def test_what_is_inside_warns_of_nothing(cold):
    result = run_lammps(cold, f"{COLD}{SI.format('')}fix n all nve\nthermo 10\nrun 100\n").check()
    assert not result.warnings("Pair style dptrain")


def crystal(folder, pair, ranks=1, options="", lattice="4.6"):
    """Result of a crystal whose atoms are moved at random."""
    atoms = ATOMS.replace("diamond 5.431", f"diamond {lattice}")
    text = f"{atoms}displace_atoms all random 0.2 0.2 0.2 77\n{pair}dump d all custom 1 f.dump id fx fy fz\n" \
           "dump_modify d format float %.17g sort id\nthermo_style custom step pe press\nthermo_modify format float %.17g\nrun 0\n"
    return run_lammps(folder, text, ranks, options).check()


def numbers_of(result):
    """Its energy, pressure and sorted force components (ids depend on the ranks)."""
    return np.concatenate([result.thermo()["PotEng"], result.thermo()["Press"], np.sort(result.dump("f.dump")[:, 1:].ravel())])


def energies(*arguments, **options):
    return numbers_of(crystal(*arguments, **options))


def test_ranks_and_precisions_agree_inside(cold):
    """Sums in another order; single precision as everywhere."""
    one = energies(cold, SI.format(""))
    assert abs(one - energies(cold, SI.format("wall no"))).max() > 1.0
    for ranks in (2, 4):
        assert np.allclose(energies(cold, SI.format(""), ranks), one, rtol=1e-9, atol=1e-9 * abs(one[2:]).max())
    assert np.allclose(energies(cold, SI.format("precision single")), one, rtol=2e-4, atol=2e-4 * abs(one[2:]).max())


def test_the_keyword(cold):
    """yes and the default are what the file has; a distance is the begin of all walls: at a small one there is nothing."""
    of_file, none = (energies(cold, SI.format(words)) for words in ("", "wall no"))
    begin = walls_of(cold / "si.dp")[0, 0]
    for words, same in (("wall yes", of_file), (f"wall {begin:.17g}", of_file), ("wall 0.3", none)):
        result = crystal(cold, SI.format(words))
        assert result.same_numbers(numbers_of(result), same), words


def test_far_inside_it_is_zbl(cold):
    """Differences of the energies of two atoms at 1.4 and 1.0 Angstrom, those of pair style zbl; 17 digits of 1e3 eV."""
    def difference(pair):
        found = []
        for r in (1.4, 1.0):
            atoms = ATOMS.replace("create_atoms 1 box", f"create_atoms 1 single 1 1 1 units box\ncreate_atoms 1 single {1 + r} 1 1 units box")
            text = f"{atoms}{pair}thermo_modify format float %.17g\nrun 0\nprint \"RESULT pe $(pe:%.17g)\"\n"
            found.append(run_lammps(cold, text).check().value("pe"))
        return found[1] - found[0]

    strength = difference(SI.format("")) / difference("pair_style zbl 3.0 4.0\npair_coeff * * 14 14\n")
    assert strength > 0.9 and abs(np.log2(strength) - round(np.log2(strength))) < 1e-6


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_reference_is_asked_where_one_is_touched(cold, tmp_path, ranks):
    """The model knows 300 K; the run is compressed and hot. The threshold is out of reach: only what is too close asks. The walls move
    inwards, to the smallest distance of all labels."""
    for name in ("si.dp", "si.dp.ckpt", "si.dp.frames"):
        (tmp_path / name).write_bytes((cold / name).read_bytes())
    hot = ATOMS.replace("diamond 5.431", "diamond 5.2").replace("create 2000", "create 8000")
    text = f"{hot}{SI.format('')}fix t all dptrain {REFERENCE} mode active every 1000 accuracy 1000 audit 0 train 5 save 100000 new.dp\n" \
           "fix n all nve\nrun 60\n"
    result = run_lammps(tmp_path, text, ranks).check()
    touched = [event for event in events(result.output) if event["why"] == "wall"]
    assert 2 <= len(touched) <= 20
    before, after = walls_of(tmp_path / "si.dp")[0, 0], walls_of(tmp_path / "new.dp")[0, 0]
    frames = stored_frames(tmp_path / "new.dp.frames")
    assert after < 0.95 * before
    assert abs(after - min(before, closest_pair(frames))) < 1e-9
    assert not result.warnings("Pair style dptrain")
    if ranks > 1:
        assert decisions(result.output) == decisions(run_lammps(tmp_path, text, 1).check().output)


def test_training_from_data(tmp_path):
    """The same walls from data sets, whose distances are counted here with all images."""
    system = CASES / "train_a" / "system"
    box = np.load(next(system.glob("set.*/box.npy"))).reshape(-1, 3, 3)
    coord = np.load(next(system.glob("set.*/coord.npy"))).reshape(len(box), -1, 3)
    kinds = np.loadtxt(system / "type.raw", dtype=int)
    names = (system / "type_map.raw").read_text().split()
    rcut, images = 3.0, np.array([[a, b, c] for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)])
    closest = np.full((len(names),) * 2, rcut)
    for cell, x in zip(box, coord):
        for shift in images @ cell:
            r = np.linalg.norm(x[:, None] + shift - x[None], axis=-1)
            for i, j in zip(*np.nonzero((r > 0) & (r < rcut))):
                closest[kinds[i], kinds[j]] = min(closest[kinds[i], kinds[j]], r[i, j])
    document = {"model": {"type_map": names, "descriptor": {"type": "power_spectrum", "rcut": rcut, "n_max": 4, "l_max": 1, "n_basis": 4}},
                "training": {"numb_steps": 4, "training_data": {"systems": [str(system)], "batch_size": len(box)}}}
    for options in ("", "--skip-neighbor-stat"):
        (tmp_path / "input.json").write_text(json.dumps(document))
        run_lammps(tmp_path, f"dptrain train input.json {options}\n", 2).check()
        model, = tmp_path.glob("*-4.dp")
        assert np.allclose(walls_of(model), closest, atol=1e-9)


def test_models_of_others(lammps, message, tmp_path):
    """Their files have no walls, and are what they were. With the keyword they get them, the repulsion of the nuclei alone."""
    text = SYSTEM.format(before="", data=WATER / "liquid.data") + \
        f"{{}}\npair_coeff * * {WATER}/model.dp O H\nrun 0\nprint \"RESULT pe $(pe:%.17g)\"\n"
    plain, none, far = (lammps(text.format(f"pair_style dptrain {words}")).check().value("pe") for words in ("", "wall no", "wall 0.1"))
    assert plain == none == far
    assert lammps(text.format("pair_style dptrain wall 2.0")).check().value("pe") > plain + 1.0
    for words, said in (("wall -1", "wall -1 is not possible: give yes, no or a distance"), ("wall maybe", "wall maybe is not possible"),
                        ("wall", "Illegal pair_style dptrain wall command: missing argument")):
        assert said in message(text.format(f"pair_style dptrain {words}")).errors()[0]


def test_restart_files_keep_the_keyword(cold):
    text = f"{ATOMS.replace('diamond 5.431', 'diamond 4.6')}{SI.format('wall no')}run 0\nwrite_restart some.restart\nprint \"RESULT pe $(pe:%.17g)\"\n"
    first = run_lammps(cold, text).check().value("pe")
    again = run_lammps(cold, "read_restart some.restart\npair_coeff * * si.dp Si\nrun 0\nprint \"RESULT pe $(pe:%.17g)\"\n").check()
    assert again.value("pe") == first
