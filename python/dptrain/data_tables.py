"""Data sets of other programs for machine-learned potentials: extended XYZ, n2p2 and RuNNer, MLIP, pacemaker, DeePMD-kit; and whatever
ASE and dpdata read."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from pathlib import Path

import numpy as np

from dptrain.data_codes import open_text
from dptrain.data_frames import BOHR, HARTREE, INCOMPLETE, WEIGHT, CutOff, Frame, ReadError, frame_of, matrix

UNITS = {"metal": (1.0, 1.0), "atomic": (BOHR, HARTREE)}  # length, energy


def complete_frame(text, line, why):
    """CutOff for a frame that cannot be read at `line` of a file."""
    return CutOff(f"line {line}: {why}: {text.strip()[:60]!r}")


# ---------------------------------------------------------------- extended XYZ

def read_extxyz(path, options):
    """Frames of an extended XYZ file, each read by ASE for itself: one that is damaged does not hide those before it."""
    from ase.io import read

    with open_text(path) as file:
        number = 0
        for line in file:
            number += 1
            if not line.strip():
                continue
            try:
                count = int(line)
                rest = [next(file) for _ in range(count + 1)]
            except ValueError:
                raise complete_frame(line, number, "expected the number of atoms") from None
            except (StopIteration, RuntimeError):
                raise CutOff(INCOMPLETE) from None
            if WEIGHT in rest[0]:
                raise ReadError(f"{path} has cut-outs, whose forces have weights that other formats do not have: convert this file alone and without "
                                "options, or learn from it as it is")
            try:
                yield frame_of(read(io.StringIO("".join([line, *rest])), format="extxyz"), options.names)
            except Exception as error:  # ASE's reader raises what it likes
                raise CutOff(f"the frame at line {number}: {type(error).__name__}: {error}") from error
            number += count + 1


# ---------------------------------------------------------------- n2p2 and RuNNer

def read_n2p2(path, options):
    """Frames of input.data. Its units are a convention: Hartree and Bohr, unless --units metal is given."""
    if options.units is None:
        options.note(f"{path}: read as Hartree and Bohr, the usual units of n2p2; give --units metal if it is in eV and Angstrom")
    length, energy = UNITS[options.units or "atomic"]
    rows = None
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            word, *values = line.split() or [""]
            word = word.lower()
            if word == "begin":
                rows = {"lattice": [], "atom": [], "energy": []}
            elif word == "end" and rows is not None:
                yield n2p2_frame(rows, length, energy, line, number)
                rows = None
            elif rows is not None and word in rows:
                rows[word].append(values)
    if rows is not None:
        raise CutOff(INCOMPLETE)


def n2p2_frame(rows, length, energy, line, number):
    """atom x y z element charge n fx fy fz"""
    try:
        symbols = [row[3].capitalize() for row in rows["atom"]]
        values = np.array([[float(word) for word in row[:3] + row[6:9]] for row in rows["atom"]])
        cell = np.array(rows["lattice"], float) * length if rows["lattice"] else None
        frame = Frame(symbols, values[:, :3] * length, cell, (cell is not None,) * 3)
        if cell is not None and cell.shape != (3, 3):
            raise ValueError("lattice needs three lines")
        frame.energy = float(rows["energy"][0][0]) * energy if rows["energy"] else None
    except (ValueError, IndexError) as error:
        raise complete_frame(line, number, f"the frame that ends here is not complete ({error})") from None
    frame.forces = values[:, 3:] * energy / length if values.shape[1] == 6 else None
    return frame


# ---------------------------------------------------------------- MLIP

def read_mlip(path, options):
    """Frames of a .cfg of MLIP: types are numbers from 0, whose elements --elements gives; PlusStress is the virial in eV."""
    if not options.elements:
        raise ReadError(f"{path}: types of atoms in a .cfg of MLIP are numbers: give the elements of types 0, 1, ... with --elements, as in "
                        "--elements Si O")
    lines = None
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if line.startswith("BEGIN_CFG"):
                lines = []
            elif line.startswith("END_CFG") and lines is not None:
                try:
                    yield mlip_frame(lines, options.elements, path)
                except (ValueError, IndexError, KeyError) as error:
                    raise complete_frame(line, number, f"the frame that ends here is not complete ({error})") from None
                lines = None
            elif lines is not None:
                lines.append(line.split())
    if lines is not None:
        raise CutOff(INCOMPLETE)


def mlip_frame(lines, elements, path):
    parts = {words[0].rstrip(":"): (words[1:], k) for k, words in enumerate(lines) if words and words[0][0].isalpha()}
    count = int(lines[parts["Size"][1] + 1][0])
    titles, begin = parts["AtomData"]
    rows = np.array([[float(word) for word in line] for line in lines[begin + 1:begin + 1 + count]])
    columns = {title: rows[:, k] for k, title in enumerate(titles[:rows.shape[1]])}
    types = columns["type"].astype(int)
    if types.max() >= len(elements) or types.min() < 0:
        raise ReadError(f"{path} has a type {types.max()} of atoms, and --elements names types 0 to {len(elements) - 1}: give an element for each type")
    cell = np.array([[float(word) for word in line] for line in lines[parts["Supercell"][1] + 1:][:3]]) if "Supercell" in parts else None
    if "cartes_x" in columns:
        positions = np.stack([columns[f"cartes_{axis}"] for axis in "xyz"], 1)
    else:
        positions = np.stack([columns[f"direct_{axis}"] for axis in "xyz"], 1) @ cell
    frame = Frame([elements[kind] for kind in types], positions, cell, (cell is not None,) * 3)
    if "Energy" in parts:
        frame.energy = float(lines[parts["Energy"][1] + 1][0])
    if "fx" in columns:
        frame.forces = np.stack([columns[f"f{axis}"] for axis in "xyz"], 1)
    if "PlusStress" in parts and cell is not None:
        titles, k = parts["PlusStress"]
        value = dict(zip(titles, map(float, lines[k + 1])))
        frame.virial = matrix([value[name] for name in ("xx", "yy", "zz", "yz", "xz", "xy")])
    return frame


# ---------------------------------------------------------------- pacemaker

def read_pacemaker(path, options):
    """Frames of a pickled table of pandas with the columns ase_atoms, energy_corrected or energy, and forces."""
    try:
        import pandas
    except ImportError as error:
        raise ReadError(f"{path} is a table of pandas, which is missing: install it with pip install pandas") from error
    try:
        table = pandas.read_pickle(path, compression="gzip" if is_gzip(path) else None)
    except Exception as error:  # what a pickle raises is its own
        raise ReadError(f"{path}: {type(error).__name__}: {error}. Write it again with the pandas and ASE that are installed here") from error
    if "ase_atoms" not in getattr(table, "columns", ()):
        raise ReadError(f"{path} has no column ase_atoms: give a table as pacemaker reads it")
    energy = options.names.energy or next((name for name in ("energy_corrected", "energy") if name in table.columns), None)
    forces = options.names.forces or "forces"
    for name in (energy, forces):
        if name not in table.columns:
            raise ReadError(f"{path} has no column {name or 'energy'}, but {', '.join(map(str, table.columns))}: name the right one with --energy-key "
                            "or --forces-key")
    options.note(f"{path}: energies are those of the column {energy}")
    for row in table.to_dict("records"):
        frame = frame_of(row["ase_atoms"])
        frame.energy, frame.forces = float(row[energy]), np.array(row[forces], float).reshape(-1, 3)
        if "virial" in row and np.size(row["virial"]) in (6, 9):
            frame.virial = matrix(row["virial"])
        yield frame


def is_gzip(path):
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


# ---------------------------------------------------------------- ASE and dpdata

def read_ase(path, options, form=None):
    """Frames of any file that ASE reads. form: ASE's name of its format."""
    from ase.io import iread

    count = 0
    try:
        for atoms in iread(path, ":", format=form):
            count += 1
            if count == 1 and is_extrapolated(atoms):
                options.note(f"{path}: frames have an energy and no free_energy: of {atoms.calc.name} the energy is extrapolated to no smearing, whose "
                             "derivative the forces are not. Convert the output of the code itself where it ran with a smearing")
            yield frame_of(atoms, options.names)
    except ImportError as error:
        raise ReadError(f"{path}: {error}: install it with pip") from error
    except Exception as error:  # ASE's readers raise what they like
        if count:
            raise CutOff(f"{type(error).__name__}: {error}") from error
        raise ReadError(f"{path} cannot be read by ASE: {type(error).__name__}: {error}. Name its format with --format") from error


def is_extrapolated(atoms):
    results = getattr(atoms.calc, "results", {})
    return str(getattr(atoms.calc, "name", "")).lower() in ("vasp", "gpaw") and "energy" in results and results.get("free_energy") is None


def read_dpdata(path, options, form):
    """Frames of a file or folder that dpdata reads as `form`. Some of its readers turn the cell, with positions and forces."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import dpdata
    except ImportError as error:
        raise ReadError(f"dpdata is missing: install it with pip install dpdata ({error})") from error
    try:
        try:
            systems = [dpdata.LabeledSystem(str(path), fmt=form)]
        except NotImplementedError:  # a format of several systems
            systems = list(dpdata.MultiSystems.from_file(str(path), fmt=form))
    except Exception as error:  # dpdata's readers raise what they like
        raise ReadError(f"{path} cannot be read by dpdata as {form}: {type(error).__name__}: {error}. Check the name of the format, and that the file "
                        "is complete") from error
    for system in systems:
        yield from frames_of_system(system.data)


def frames_of_system(data):
    """Frames of the arrays of a system of dpdata."""
    symbols = [data["atom_names"][kind] for kind in data["atom_types"]]
    for k in range(len(data["coords"])):
        is_open = bool(data.get("nopbc", False))
        frame = Frame(symbols, np.array(data["coords"][k], float), None if is_open else np.array(data["cells"][k], float), (not is_open,) * 3)
        frame.energy = float(data["energies"][k]) if "energies" in data else None
        frame.forces = np.array(data["forces"][k], float) if "forces" in data else None
        frame.virial = np.array(data["virials"][k], float) if "virials" in data and not is_open else None
        yield frame


def read_deepmd(path, options):
    """Frames of all systems of DeePMD-kit's npy format in a folder."""
    for folder, folders, files in sorted(os.walk(path)):
        if "type.raw" not in files:
            continue
        sets = [name for name in folders if name.startswith("set.")]
        mixed = any((Path(folder) / name / "real_atom_types.npy").exists() for name in sets)
        charges, weights = (numbers_of(folder, sets, name) for name in ("total_charge", "frame_weight"))
        if mixed and (charges is not None or weights is not None):
            raise ReadError(f"{folder} has total charges or weights of systems with mixed types, which are not converted: train with the folder as it is")
        for k, frame in enumerate(read_dpdata(folder, options, "deepmd/npy/mixed" if mixed else "deepmd/npy")):
            frame.charge = None if charges is None else float(charges[k])
            frame.weight = None if weights is None else float(weights[k])
            yield frame


def numbers_of(folder, sets, name):
    """One number for each frame of a system in DeePMD-kit's npy format that dpdata does not read; None: it has none."""
    paths = [Path(folder) / part / f"{name}.npy" for part in sorted(sets)]
    return np.concatenate([np.load(path).ravel() for path in paths]) if paths and all(path.exists() for path in paths) else None
