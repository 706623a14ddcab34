"""Data sets as files of this package's readers: extended XYZ, and folders in DeePMD-kit's npy format. All digits of all numbers are kept."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from dptrain.data_frames import ReadError

FRAMES_OF_A_SET = 1000


def text_of(values):
    """The shortest text of each number that is read back as the same number."""
    return " ".join(repr(float(value)) for value in np.ravel(values))


def extxyz(frame):
    """A frame as text of extended XYZ."""
    comment = f'Lattice="{text_of(frame.cell)}" ' if frame.cell is not None else ""
    comment += "Properties=species:S:1:pos:R:3" + ("" if frame.forces is None else ":forces:R:3")
    comment += "" if frame.energy is None else f" energy={text_of(frame.energy)}"
    comment += "" if frame.virial is None else f' virial="{text_of(frame.virial)}"'
    comment += "" if frame.charge is None else f" total_charge={text_of(frame.charge)}"
    comment += "" if frame.weight is None else f" weight={text_of(frame.weight)}"
    comment += ' pbc="' + " ".join("FT"[flag] for flag in frame.periodic) + '"'
    columns = frame.positions if frame.forces is None else np.hstack([frame.positions, frame.forces])
    return "\n".join([str(len(frame.symbols)), comment, *(f"{name} {text_of(row)}" for name, row in zip(frame.symbols, columns))]) + "\n"


class ExtxyzWriter:
    """Writes frames one by one to a temporary file, which `finish` gives its name."""

    def __init__(self, path):
        self.path = Path(path)
        descriptor, self.temporary = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        self.file = os.fdopen(descriptor, "w", encoding="ascii")

    def add(self, frame):
        self.file.write(extxyz(frame))

    def finish(self):
        self.file.close()
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(self.temporary, 0o666 & ~mask)
        os.link(self.temporary, self.path)  # fails where a file has come meanwhile
        os.unlink(self.temporary)
        return self.path

    def discard(self):
        self.file.close()
        if os.path.exists(self.temporary):
            os.unlink(self.temporary)


class DeepmdWriter:
    """Collects systems of frames with the same composition, boundary and labels; `finish` writes the folder.

    Atoms stand in the order of the first frame of a system. Frames whose atoms are in another order are put into that one: the k-th atom of
    an element stays the k-th of it."""

    def __init__(self, path, elements=None):
        self.path, self.elements, self.systems, self.seen = Path(path), elements, {}, {}
        self.folder = None

    def add(self, frame):
        """Raises ReadError for a frame that is periodic in one or two directions."""
        if any(frame.periodic) and not all(frame.periodic):
            raise ReadError(f"{self.path}: DeePMD-kit's format has no frames that are periodic in one or two directions: write extended XYZ, TO.xyz")
        labels = tuple(name for name in ("energy", "forces", "virial", "charge", "weight") if getattr(frame, name) is not None)
        key = (tuple(sorted(Counter(frame.symbols).items())), frame.cell is not None, labels)
        symbols, frames = self.systems.setdefault(key, (list(frame.symbols), []))
        self.seen.update(dict.fromkeys(frame.symbols))
        if frame.symbols != symbols:
            order = same_order(frame.symbols, symbols)
            # a copy: whoever else has the frame goes on with its order
            frame = dataclasses.replace(frame, symbols=symbols, positions=frame.positions[order],
                                        forces=None if frame.forces is None else frame.forces[order])
        frames.append(frame)

    def finish(self):
        type_map = list(self.elements or sorted(self.seen))
        self.folder = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", dir=self.path.parent))
        for (_, periodic, labels), (symbols, frames) in self.systems.items():
            write_system(self.folder / system_name(symbols, type_map, periodic, labels), symbols, type_map, frames)
        if self.path.exists():
            self.path.rmdir()  # an empty one
        os.chmod(self.folder, 0o755)
        self.folder.rename(self.path)
        return self.path

    def discard(self):
        if self.folder and self.folder.exists():
            shutil.rmtree(self.folder)


def same_order(symbols, wanted):
    """Indices that put atoms into the order of the elements `wanted`."""
    places = {}
    for k, name in enumerate(symbols):
        places.setdefault(name, []).append(k)
    left = {name: iter(found) for name, found in places.items()}
    return [next(left[name]) for name in wanted]


def system_name(symbols, type_map, periodic, labels):
    """As this package names the systems that a run writes: Si8O16, and what is not there."""
    count = Counter(symbols)
    name = "".join(f"{element}{count[element]}" for element in type_map if count[element])
    name += "" if periodic else "_nopbc"
    name += "".join(f"_no{short}" for label, short in (("energy", "energy"), ("forces", "force"), ("virial", "virial")) if label not in labels)
    return name + ("_charge" if "charge" in labels else "") + ("_frame_weight" if "weight" in labels else "")


def write_system(folder, symbols, type_map, frames):
    """type.raw, type_map.raw, nopbc, and sets of arrays."""
    folder.mkdir()
    (folder / "type.raw").write_text("".join(f"{type_map.index(name)}\n" for name in symbols))
    (folder / "type_map.raw").write_text("".join(f"{name}\n" for name in type_map))
    first = frames[0]
    if first.cell is None:
        (folder / "nopbc").touch()
    for number in range(0, len(frames), FRAMES_OF_A_SET):
        part = frames[number:number + FRAMES_OF_A_SET]
        arrays = folder / f"set.{number // FRAMES_OF_A_SET:03d}"
        arrays.mkdir()
        np.save(arrays / "coord.npy", np.stack([frame.positions.ravel() for frame in part]))
        np.save(arrays / "box.npy", np.stack([(np.eye(3) if frame.cell is None else frame.cell).ravel() for frame in part]))
        for label, name in (("energy", "energy"), ("forces", "force"), ("virial", "virial"), ("charge", "total_charge"), ("weight", "frame_weight")):
            if getattr(first, label) is not None:
                np.save(arrays / f"{name}.npy", np.stack([np.ravel(getattr(frame, label)) for frame in part]))
