"""Data sets of bench/choices: frames to train on, frames of others to choose by, and frames that only test what was chosen."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .errors import BenchError


@dataclass(frozen=True)
class DataSet:
    """Files or folders of labeled frames: to learn, to choose by, to test with."""

    types: tuple
    train: tuple
    valid: tuple
    test: tuple


GENERATED = {"sw-silicon": ("Si",), "nial": ("Ni", "Al"), "sio2": ("Si", "O"), "ethanol": ("C", "H", "O")}
MLEARN = {"mlearn-si": "Si", "mlearn-ge": "Ge"}
NAMES = ("sw-silicon", "water", "mlearn-si", "mlearn-ge", "nial", "sio2", "ethanol")
VALID_EVERY = 5  # of the training frames of mlearn, every fifth is kept to choose by


def frames_of(text):
    """The frames of an extended XYZ file, each as text."""
    lines, frames, begin = text.splitlines(keepends=True), [], 0
    while begin < len(lines):
        end = begin + int(lines[begin]) + 2
        frames.append("".join(lines[begin:end]))
        begin = end
    return frames


def generated(name, folder):
    """Three independent trajectories of a cheap reference; made once."""
    files = [folder / f"{name}-{seed}.xyz" for seed in (1, 2, 3)]
    for seed, file in enumerate(files, 1):
        if not file.exists():
            part = file.with_suffix(".part")
            script = Path(__file__).with_name("reference_data.py")
            subprocess.run([sys.executable, "-W", "ignore", script, name, str(seed), part], check=True)
            part.rename(file)
    return DataSet(GENERATED[name], *((file,) for file in files))


def mlearn(name, shared, folder):
    """A split of the training file; the test file stays what it is."""
    element = MLEARN[name]
    train, valid = folder / f"{name}-train.xyz", folder / f"{name}-valid.xyz"
    frames = frames_of((shared / "mlearn" / f"{element}-train.xyz").read_text())
    train.write_text("".join(frame for k, frame in enumerate(frames) if k % VALID_EVERY != 2))
    valid.write_text("".join(frames[2::VALID_EVERY]))
    return DataSet((element,), (train,), (valid,), (shared / "mlearn" / f"{element}-test.xyz",))


def data_set(name, shared, folder):
    """The data set of this name. `shared`: the folder with `water` and `mlearn`; `folder`: for what is made here."""
    shared, folder = Path(shared).resolve(), Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if name in GENERATED:
        return generated(name, folder)
    if not (shared / name.split("-")[0]).is_dir():
        raise BenchError(f"choices: {shared} has no folder {name.split('-')[0]}; give the folder with water and mlearn with "
                         "--shared DIR, or as DIR/data with the environment variable DPTRAIN_SHARED")
    if name in MLEARN:
        return mlearn(name, shared, folder)
    water = [shared / "water" / f"data_{k}" for k in range(4)]
    return DataSet(("O", "H"), tuple(water[:2]), (water[2],), (water[3],))
