"""What the reader of data sets finds in files that other programs wrote: NumPy, h5py, ASE, dpdata, DeePMD-kit.

The program `dump_system` of the build (folder DPTRAIN_BUILD, or build/) prints frames as JSON. Numbers must be the same
bit by bit, unless the format is a text. ASE, if it is installed; DeePMD-kit as in test_written_models.py.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def dump():
    """Function: arguments of dump_system -> frames."""
    program = Path(os.environ.get("DPTRAIN_BUILD", ROOT / "build")) / "unittest/lib/dump_system"
    if not program.exists():
        pytest.skip(f"{program} is not built")

    def run(*arguments):
        done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def write_system(folder, arrays, types="0\n1\n1\n", names="O\nH\n"):
    (folder / "set.000").mkdir(parents=True)
    (folder / "type.raw").write_text(types)
    (folder / "type_map.raw").write_text(names)
    for name, array in arrays.items():
        np.save(folder / "set.000" / f"{name}.npy", array)


def arrays_of(frames, natoms, seed=1):
    random = np.random.default_rng(seed)
    return {"coord": 9 * random.random((frames, 3 * natoms)), "box": np.tile(np.diag([9.0, 9, 9]).ravel(), (frames, 1)), "energy": random.random(frames),
            "force": random.random((frames, 3 * natoms))}


@pytest.mark.parametrize("dtype", ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<i4", ">i8", "u1", "i2"])
@pytest.mark.parametrize("order", "CF")
def test_arrays_of_numpy(dump, tmp_path, dtype, order):
    arrays = arrays_of(4, 3)
    arrays["force"] = np.asarray(100 * arrays["force"], dtype=dtype, order=order)
    write_system(tmp_path / "sys", arrays)
    frames = dump(tmp_path / "sys")
    assert len(frames) == 4
    for k, frame in enumerate(frames):
        assert frame["species"] == ["O", "H", "H"]
        assert frame["coord"] == arrays["coord"][k].tolist()
        assert frame["force"] == arrays["force"][k].astype(float).tolist()
        assert frame["energy"] == arrays["energy"][k]


def test_three_dimensional_fortran_arrays(dump, tmp_path):
    arrays = arrays_of(5, 3)
    arrays["force"] = np.asfortranarray(arrays["force"].reshape(5, 3, 3))
    write_system(tmp_path / "sys", arrays)
    for k, frame in enumerate(dump(tmp_path / "sys")):
        assert frame["force"] == arrays["force"][k].ravel().tolist()


def test_groups_of_h5py(dump, tmp_path):
    h5py = pytest.importorskip("h5py")
    arrays = arrays_of(4, 3)
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        group = file.create_group("deep/sys")
        group["type.raw"] = np.array([0, 1, 1])
        group["type_map.raw"] = np.array(["O", "H"], dtype=h5py.string_dtype())
        for name, array in arrays.items():
            group.create_dataset(f"set.000/{name}.npy", data=array, compression="gzip" if name == "force" else None)
    frames = dump(tmp_path / "a.hdf5")
    assert [frame["system"] for frame in frames] == [f"{tmp_path}/a.hdf5#/deep/sys"] * 4
    for k, frame in enumerate(frames):
        assert frame["coord"] == arrays["coord"][k].tolist() and frame["force"] == arrays["force"][k].tolist()


def ase_frames():
    """Frames with all that ASE writes: cells of any shape, labels of a calculator, further columns."""
    ase = pytest.importorskip("ase")
    from ase.calculators.singlepoint import SinglePointCalculator

    random = np.random.default_rng(3)
    for k, pbc in enumerate([True, True, False, (True, True, False), True]):
        n = 2 + k
        cell = np.diag([7.0, 8, 9]) + random.random((3, 3))
        atoms = ase.Atoms("CuAlNi2OH"[: 2 * n], positions=7 * random.random((len(ase.Atoms("CuAlNi2OH"[: 2 * n])), 3)), cell=cell, pbc=pbc)
        stress = random.random(6)
        results = {"energy": random.random(), "forces": random.random((len(atoms), 3))}
        if k != 2:
            results["stress"] = stress
        if k == 4:
            results["free_energy"] = random.random()
            results["energies"] = random.random(len(atoms))
        atoms.info.update(note='a "quoted" = text', number=3, flag=True, matrix=random.random((2, 2)))
        atoms.set_array("extra", random.random((len(atoms), 2)))
        atoms.calc = SinglePointCalculator(atoms, **results)
        yield atoms


def test_frames_of_ase(dump, tmp_path):
    written = list(ase_frames())
    from ase.io import read, write

    write(tmp_path / "a.extxyz", written, format="extxyz")
    frames = dump(tmp_path / "a.extxyz")
    known = read(tmp_path / "a.extxyz", index=":", format="extxyz")
    assert len(frames) == len(known) == 5
    for frame, atoms in zip(frames, known):
        results = atoms.calc.results
        assert frame["species"] == atoms.get_chemical_symbols()
        # both read the same decimal numbers
        assert frame["coord"] == atoms.positions.ravel().tolist()
        assert frame["force"] == results["forces"].ravel().tolist()
        assert frame["energy"] == results.get("free_energy", results["energy"])
        if "energies" in results:
            assert frame["atom_ener"] == results["energies"].tolist()
        if "stress" in results:
            virial = -atoms.get_stress(voigt=False) * atoms.get_volume()
            np.testing.assert_allclose(frame["virial"], virial.ravel(), rtol=1e-13)
        else:
            assert "virial" not in frame
        if all(atoms.pbc):
            assert frame["box"] == atoms.cell.array.ravel().tolist()
        elif not any(atoms.pbc):
            assert frame["box"] is None
        else:
            assert frame["box"][:6] == atoms.cell.array.ravel().tolist()[:6]


def test_slabs_have_no_images_along_the_open_direction(dump, tmp_path):
    """Distances with the vacuum's cell are those of ASE's partly periodic frame, up to any cutoff in use."""
    slab = [atoms for atoms in ase_frames() if list(atoms.pbc) == [True, True, False]]
    import ase
    from ase.io import write
    from ase.neighborlist import neighbor_list

    write(tmp_path / "a.extxyz", slab, format="extxyz")
    (frame,) = dump(tmp_path / "a.extxyz")
    closed = ase.Atoms(frame["species"], positions=np.reshape(frame["coord"], (-1, 3)), cell=np.reshape(frame["box"], (3, 3)), pbc=True)
    expected, found = (np.sort(neighbor_list("d", atoms, 12.0)) for atoms in (slab[0], closed))
    assert len(expected) > 50
    np.testing.assert_allclose(found, expected, rtol=1e-7)


# ------------------------------------------------------------------------------------------- with DeePMD-kit


@pytest.fixture(scope="module")
def deepmd():
    """Function that runs read_with_deepmd.py in DeePMD-kit's environment."""
    path = os.environ.get("DPTRAIN_DEEPMD") or shutil.which("dp")
    if not path:
        pytest.skip("DeePMD-kit is not here: set DPTRAIN_DEEPMD to its dp executable")

    def run(*arguments):
        command = [str(Path(path).parent / "python"), str(HERE / "read_with_deepmd.py"), *map(str, arguments)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "DP_INTERFACE_PREC": "high"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr[-3000:]

    return run


def expect_same(ours, theirs):
    assert len(ours) == len(theirs) > 0
    for a, b in zip(ours, theirs):
        assert a["species"] == b["species"] and a["box"] == b["box"]
        for key in ("coord", "force", "virial", "atom_ener", "atom_pref", "drdq"):
            assert a.get(key) == b.get(key), key
        assert ("energy" in a) == ("energy" in b)
        if "energy" in a:
            assert [a["energy"]] == b["energy"]


def read_both(dump, deepmd, folder, systems, type_map="C H O"):
    out = folder / "theirs.json"
    deepmd("read", type_map, out, *systems)
    theirs = [json.loads(line) for line in out.read_text().splitlines()]
    return dump("--types", type_map, "--drdq", 2, *systems), theirs


def test_systems_of_dpdata(dump, deepmd, tmp_path):
    deepmd("write", tmp_path)
    names = []
    for name in ("npy", "all.hdf5", "mixed"):
        frames = dump("--types", "O H C", tmp_path / name)
        assert len(frames) == {"npy": 3}.get(name, 7)
        names.append(sorted({frame["system"] for frame in frames}))
        out = tmp_path / "expanded.json"
        deepmd("expand", out, tmp_path / name)
        assert sorted(json.loads(out.read_text())) == names[-1]
    ours, theirs = read_both(dump, deepmd, tmp_path, [name for some in names for name in some])
    expect_same(ours, theirs)


def test_all_labels(dump, deepmd, tmp_path):
    arrays = arrays_of(3, 3)
    random = np.random.default_rng(5)
    arrays.update(energy=arrays["energy"].reshape(3, 1), virial=random.random((3, 3, 3)), atomic_ener=random.random((3, 3)), atom_pref=random.random((3, 3)),
                  drdq=random.random((3, 3 * 3 * 2)), fparam=random.random((3, 2)))
    write_system(tmp_path / "a", arrays)
    few = {key: array[:1] for key, array in arrays.items() if key in ("coord", "box")}
    (tmp_path / "a/set.001").mkdir()
    for key, array in few.items():
        np.save(tmp_path / f"a/set.001/{key}.npy", array)
    write_system(tmp_path / "single", {key: arrays[key][0] for key in ("coord", "box", "force")})
    write_system(tmp_path / "open", {key: arrays[key] for key in ("coord", "energy")})
    (tmp_path / "open/nopbc").write_text("")
    ours, theirs = read_both(dump, deepmd, tmp_path, [tmp_path / name for name in ("a", "single", "open")])
    assert len(ours) == 3 + 1 + 1 + 3
    expect_same(ours, theirs)
