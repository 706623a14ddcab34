"""`reference pair hybrid` and `hybrid/overlay` of fix dptrain: the same words as of the pair_style and pair_coeff commands."""

import pytest

from labels import NATIVE, assert_same, label_values, native_values, stored_values
from silicon import ATOMS, PAIR, write_input

# two kinds of atoms with charges, off their sites
TWO_TYPES = ATOMS.replace("create_box 1", "create_box 2").replace("mass 1", "mass *").replace("atom_style atomic", "atom_style charge") + \
    "set group all type/fraction 2 0.4 12345\nset type 1 charge 0.4\nset type 2 charge -0.6\n" \
    "displace_atoms all random 0.1 0.1 0.1 4711 units box\n"
TWO_PAIR = "pair_style dptrain\npair_coeff * * input.json Si Ge\n"
# (style, coefficients, arguments of pair_modify)
CASES = {
    "alloy": ("hybrid eam/alloy lj/cut 4.2", ["* * eam/alloy CuNi.eam.alloy Ni NULL", "1 2 lj/cut 0.05 2.1", "2 2 lj/cut 0.08 2.2"], []),
    "overlay": ("hybrid/overlay lj/cut 4.0 coul/cut 6.0", ["1 1 lj/cut 0.1 2.1", "2 2 lj/cut 0.05 2.4 3.5", "1 2 lj/cut 0.08 2.0", "* * coul/cut"], []),
    "sw and zbl": ("hybrid/overlay sw zbl 2.0 3.0", ["* * sw Si.sw Si Si", "1 1 zbl 14.0 14.0", "1 2 zbl 14.0 32.0", "2 2 zbl 32.0 32.0"], []),
    "two many-body styles": ("hybrid sw tersoff lj/cut 5.0", ["* * sw Si.sw Si NULL", "* * tersoff SiCGe.tersoff NULL Ge", "1 2 lj/cut 0.1 2.3"], []),
    "meam": ("hybrid meam lj/cut 3.0", ["* * meam library.meam Cu Cu.meam NULL Cu", "1 * lj/cut 0.1 2.3"], []),
    "neighbors of ghosts": ("hybrid airebo 2.0 lj/cut 3.0", ["* * airebo CH.airebo C NULL", "* 2 lj/cut 0.1 2.3"], []),
    "numbers": ("hybrid lj/cut 3.0 lj/cut 5.0", ["1 1 lj/cut 1 0.1 2.1", "2 2 lj/cut 2 0.1 2.4", "2 1 lj/cut 2 0.08 2.0"], []),
    "overlay with numbers": ("hybrid/overlay lj/cut 3.0 lj/cut 5.0", ["* * lj/cut 1 0.1 2.1", "* * lj/cut 2 0.1 2.4"], []),
    "mixed": ("hybrid lj/cut 4.0 lj/cut 3.0", ["1 1 lj/cut 1 0.1 2.1", "2 2 lj/cut 1 0.2 2.4", "1 2 lj/cut 2 0.1 2.0", "2 2 lj/cut 1 0.2 2.3"], []),
    "further than the run": ("hybrid lj/cut 4.0 coul/cut 9.0", ["1 1 lj/cut 0.1 2.1", "2 2 lj/cut 0.1 2.2", "1 2 coul/cut"], []),
    "last one counts": ("hybrid lj/cut 4.0 morse 4.0", ["* * lj/cut 0.1 2.1", "1 2 morse 0.2 2.0 2.2"], []),
    "none": ("hybrid lj/cut 4.0 morse 4.0", ["* * lj/cut 0.1 2.1", "1 2 morse 0.2 2.0 2.2", "2 2 none"], []),
    "tail": ("hybrid/overlay lj/cut 4.0 morse 4.0", ["* * lj/cut 0.1 2.1", "* * morse 0.2 2.0 2.2"], ["pair lj/cut tail yes"]),
    "shift": ("hybrid/overlay lj/cut 4.0 lj/cut 3.0", ["* * lj/cut 1 0.1 2.1", "* * lj/cut 2 0.2 2.0"], ["pair lj/cut 2 shift yes"]),
}


def reference(style, coefficients, modify=()):
    """Words of the keyword `reference`."""
    return f"reference pair {style} " + " ".join(f'coeff "{c}"' for c in coefficients) + \
        "".join(f' modify "{m}"' for m in modify) + " end"


def native(style, coefficients, modify=()):
    """The same as commands."""
    return f"pair_style {style}\n" + "".join(f"pair_coeff {c}\n" for c in coefficients) + "".join(f"pair_modify {m}\n" for m in modify)


@pytest.fixture
def alloy(lammps, tmp_path):
    write_input(tmp_path, types=["Si", "Ge"])
    return lammps


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("case", CASES)
def test_same_as_the_pair_style(case, ranks, alloy, tmp_path):
    """To rounding, in sums over the same ghosts: what LAMMPS computes with these commands."""
    alloy(f"{TWO_TYPES}{TWO_PAIR}fix t all dptrain mode passive {reference(*CASES[case])} every 1 warmup 100 dataset data\nrun 0\n", ranks).check()
    expected = native_values(alloy(TWO_TYPES + native(*CASES[case]) + NATIVE, ranks))
    assert_same(label_values(tmp_path / "data"), expected, 1e-12)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("case", ["alloy", "sw and zbl", "neighbors of ghosts"])
def test_beside_a_hybrid_run(case, ranks, alloy, tmp_path):
    """The run is hybrid itself, moves, and is followed by a second one: lists of both keep what they skip."""
    run = "pair_style hybrid/overlay dptrain morse 3.0\npair_coeff * * dptrain input.json Si Ge\npair_coeff 1 2 morse 0.2 2.0 2.2\n"
    fix = f"fix t all dptrain mode passive {reference(*CASES[case])} every 1 warmup 100 dataset data\n"
    move = "fix n all nve\ndump d all custom 1 path.dump id type q x y z\ndump_modify d format float %.17g\n"
    alloy(f"{TWO_TYPES}{run}{fix}{move}run 3\nneigh_modify delay 2\nrun 3\n", ranks).check()
    rerun = NATIVE.replace("run 0", "rerun path.dump dump x y z")
    expected = native_values(alloy(f"{TWO_TYPES}{native(*CASES[case])}{rerun}", ranks))
    # positions are those of the dump, but lists, and so the order of sums, are of another step
    assert_same(label_values(tmp_path / "data"), expected, 1e-11)


def test_two_hybrid_force_fields(alloy, tmp_path):
    """A hybrid baseline is subtracted from a hybrid reference."""
    style, coefficients, _ = CASES["alloy"]
    words = reference(style, coefficients)
    baseline = 'baseline pair hybrid lj/cut 4.2 morse 3.0 coeff "* * lj/cut 0.05 2.1" coeff "1 1 morse 0.2 2.0 2.2" coeff "2 2 lj/cut 0.08 2.2" end'
    alloy(f"{TWO_TYPES}{TWO_PAIR}fix t all dptrain mode passive {words} {baseline} every 1 warmup 100 dataset data\nrun 0\n", 2).check()
    first = native_values(alloy(TWO_TYPES + native(style, coefficients) + NATIVE))
    second = native_values(alloy(TWO_TYPES + native("hybrid lj/cut 4.2 morse 3.0", ["* * lj/cut 0.05 2.1", "1 1 morse 0.2 2.0 2.2", "2 2 lj/cut 0.08 2.2"]) + NATIVE))
    assert_same(stored_values(tmp_path / "dptrain.t.frames"), [a - b for a, b in zip(first, second)], 1e-11)
    assert_same(label_values(tmp_path / "data"), first, 1e-11)


def test_variables_and_one_type(lammps, tmp_path):
    """Quoted words are expanded by the fix; the atoms have one type only."""
    write_input(tmp_path)
    text = f"{ATOMS}displace_atoms all random 0.1 0.1 0.1 4711 units box\nvariable Z equal 14.0\n"
    words = reference("hybrid/overlay sw zbl 2.0 3.0", ["* * sw Si.sw Si", "* * zbl ${Z} ${Z}"])
    lammps(f"{text}{PAIR}\nfix t all dptrain mode passive {words} every 1 warmup 100 dataset data\nrun 0\n").check()
    expected = native_values(lammps(text + native("hybrid/overlay sw zbl 2.0 3.0", ["* * sw Si.sw Si", "* * zbl ${Z} ${Z}"]) + NATIVE))
    assert_same(label_values(tmp_path / "data"), expected, 1e-12)
