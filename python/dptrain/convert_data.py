"""Labeled configurations of other programs as a data set of this package: read, sifted, compared, written, and said what was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dptrain.data_frames import CutOff, Names, ReadError
from dptrain.data_readers import find_format, is_complete
from dptrain.data_writers import DeepmdWriter, ExtxyzWriter
from dptrain.label_work import LabelWork

# by the end of the name of TO
WRITERS = {".xyz": ExtxyzWriter, ".extxyz": ExtxyzWriter, "": DeepmdWriter}
LABELS = ("energy", "forces", "virial")
BONDS = (0.6, 1.6)  # nearest distance over the sum of covalent radii; Bohr taken for Angstrom makes it 1.9 times larger
PROBED = 20  # frames whose nearest distances are computed
SAME_ENERGY = 1e-3  # eV per atom, of the same configuration


@dataclass
class Options:
    """What the command line says of data."""

    format: str | None = None
    every: int = 1
    elements: list | None = None
    units: str | None = None
    names: Names = field(default_factory=Names)
    factors: dict = field(default_factory=dict)  # label: what its numbers are multiplied by
    unconverged: bool = False
    partial: bool = False
    notes: list = field(default_factory=list)

    def note(self, text):
        """Something to say once."""
        if text not in self.notes:
            self.notes.append(text)
            print(text, flush=True)


class Sieve:
    """Lets frames through that can be learned from, and counts the others."""

    def __init__(self, options):
        self.options, self.read, self.kept, self.missing = options, 0, 0, dict.fromkeys(LABELS, 0)
        self.unconverged, self.not_finite, self.empty, self.unread, self.seen, self.repeated, self.contradictions = 0, 0, 0, {}, {}, 0, 0
        self.elements, self.atoms, self.names = set(), set(), {}

    def passes(self, frame):
        options = self.options
        self.read += 1
        if not frame.symbols:
            self.empty += 1
            return False
        if not frame.converged and not options.unconverged:
            self.unconverged += 1
            return False
        for label in LABELS:
            if getattr(frame, label) is None:
                self.missing[label] += 1
                if label in frame.unread:
                    self.unread.setdefault(label, frame.unread[label])
                elif "names" in frame.unread:
                    self.names.setdefault(label, frame.unread["names"])
        if not frame.is_finite():
            self.not_finite += 1
            return False
        has = [frame.energy is not None, frame.forces is not None]
        if not any(has) or not (all(has) or options.partial):
            return False
        self.look_for_the_same(frame)
        self.kept += 1
        self.elements.update(frame.symbols)
        self.atoms.add(len(frame.symbols))
        return True

    def look_for_the_same(self, frame):
        """Counts configurations that were there before, and those of them with another energy."""
        identity = hash(frame.identity())
        if identity in self.seen:
            self.repeated += 1
            before = self.seen[identity]
            if None not in (before, frame.energy) and abs(before - frame.energy) > SAME_ENERGY * len(frame.symbols):
                self.contradictions += 1
        else:
            self.seen[identity] = frame.energy

    def say(self, say):
        """What was left out, and why."""
        of = f"of {self.read} frames"
        if self.unconverged:
            say(f"{self.unconverged} {of} come from an electronic structure that has not converged: left out (--unconverged keeps them)")
        for label in ("energy", "forces"):
            if self.missing[label]:
                fate = "kept (--partial)" if self.options.partial else "left out (--partial keeps frames with one of both)"
                name, option = self.unread.get(label), f"--{label}-key"
                hint = f"; there is '{name}', which is read with {option} {name}" if name else \
                    f"; there are {self.names[label]}: {option} names the right one" if label in self.names else ""
                say(f"{self.missing[label]} {of} have no {label}: {fate}{hint}")
        if self.unread.get("virial"):
            name = self.unread["virial"]
            say(f"{self.missing['virial']} {of} have no virial; there is '{name}', which is read with --virial-key {name} (eV) or --stress-key {name} "
                "(eV/Angstrom^3, positive under tension)")
        if self.not_finite:
            say(f"{self.not_finite} {of} have numbers that are not finite: left out")
        if self.empty:
            say(f"{self.empty} {of} have no atoms: left out")
        if self.repeated:
            differ = f", {self.contradictions} of them with another energy" if self.contradictions else ""
            say(f"{self.repeated} {of} have the configuration of an earlier one{differ}: kept")


class Distances:
    """Nearest distances over sums of covalent radii, which tell Bohr from Angstrom."""

    def __init__(self):
        self.ratios = []

    def add(self, frame):
        if len(self.ratios) >= PROBED or len(frame.symbols) > 2000:
            return
        try:
            from ase import Atoms
            from ase.data import covalent_radii
            from ase.neighborlist import neighbor_list
        except ImportError:
            return
        try:
            atoms = Atoms(frame.symbols, frame.positions, cell=frame.cell, pbc=frame.periodic)
            reach = 2.2 * covalent_radii[atoms.numbers]
            first, second, distance = neighbor_list("ijd", atoms, reach)
        except (KeyError, ValueError, ArithmeticError):
            return
        if len(distance):
            self.ratios.append(float(np.min(distance / (covalent_radii[atoms.numbers][first] + covalent_radii[atoms.numbers][second]))))

    def say(self, say):
        ratio = float(np.median(self.ratios)) if self.ratios else 1.0
        if not BONDS[0] < ratio < BONDS[1]:
            far = "apart: lengths may be in Bohr" if ratio > 1.0 else "close: lengths may be in Angstrom already, and were taken for Bohr"
            say(f"nearest atoms are {ratio:.2f} times the sum of their covalent radii {far}. See --units for n2p2, else convert the file before")


def check_target(sources, target):
    """Raises ReadError for a TO that must not be written."""
    path = Path(target)
    if path.suffix not in WRITERS:
        known = ", ".join(f"TO{end}" for end in WRITERS if end)
        raise ReadError(f"{target}: the end of the name tells the format of a data set: give {known}, or a folder without an ending for DeePMD-kit's npy")
    if path.exists() and not (path.suffix == "" and path.is_dir() and not any(path.iterdir())):
        raise ReadError(f"{target} exists, and nothing is overwritten: remove it, or choose another name")
    if not path.absolute().parent.is_dir():
        raise ReadError(f"{target}: there is no folder {path.parent}: make it, or choose another place")


def frames_of(path, options, say):
    """Frames of a file with the user's factors."""
    form = find_format(path, options.format)
    complete = is_complete(path, form)
    count = 0
    try:
        for frame in form.read(path, options):
            count += 1
            for label, factor in options.factors.items():
                value = getattr(frame, label)
                if value is not None:
                    setattr(frame, label, value * factor)
            if options.elements and not set(frame.symbols) <= set(options.elements):
                other = sorted(set(frame.symbols) - set(options.elements))
                raise ReadError(f"{path}: frame {count} has {' '.join(other)}, which --elements does not name: add it there, or leave --elements out")
            yield frame
    except ReadError:
        raise
    except Exception as error:  # CutOff, or what the readers of ASE and dpdata raise
        why = str(error) if isinstance(error, CutOff) else f"{type(error).__name__}: {error}"
        say(f"{path} is damaged or cut off behind frame {count} ({why}): the frames before are kept")
        complete = True  # told
    if not complete:
        say(f"{path} ends before the run has ended: its {count} complete frames are kept")
    if not count:
        raise ReadError(f"{path} has no frames (read as {form.name}): give a complete output, or name another format with --format")


def check_work(work, options, say):
    """Says how energies change with the work of the forces. Raises ReadError for a fault whose factor the user has not given."""
    findings, correlation = work.findings()
    if correlation is not None:
        say(f"energies do not change with the work of forces and virial (R^2 {correlation:.2f} over {len(work.pairs)} pairs): units cannot be checked; "
            "look whether the frames come from calculations with the same settings")
    elif not findings:
        say("too few frames lie close to each other to check units and signs by the work of the forces")
    if work.virials and findings and all(finding.label != "virial" for finding in findings):
        say("the virials could not be checked: too few frames with different cells lie close to each other, or one pair has more than half of the work")
    faults = []
    for finding in findings:
        text = f"energies change with the work of the {finding.label}: slope {finding.slope:.3g} over {finding.pairs} pairs"
        say(text + finding.verdict())
        if finding.fault and not options.factors.keys() & {finding.label, *(["energy"] if finding.label == "forces" else [])}:
            faults.append(finding)
    if faults:
        first = faults[0]
        raise ReadError(f"{first.fault} (slope {first.slope:.3g} over {first.pairs} pairs), so that nothing is written: give {first.remedy}, or "
                        f"--{first.label}-factor=1 to keep the numbers as they are")


def convert_data(sources, target, options):
    """Writes the frames of the files `sources` to `target`, a file of extended XYZ or a folder. Raises ReadError."""
    check_target(sources, target)
    say = options.note
    sieve, work, distances, written = Sieve(options), LabelWork(), Distances(), {}
    writer = WRITERS[Path(target).suffix](target, *([options.elements] if Path(target).suffix == "" else []))
    try:
        number = 0
        for source in sources:
            for frame in frames_of(source, options, say):
                if not sieve.passes(frame):
                    continue
                work.add(frame)
                distances.add(frame)
                if number % options.every == 0:
                    writer.add(frame)
                    for label in LABELS:
                        written[label] = written.get(label, 0) + (getattr(frame, label) is not None)
                    written["frames"] = written.get("frames", 0) + 1
                number += 1
        sieve.say(say)
        if not number:
            raise ReadError(f"{' '.join(map(str, sources))}: no frame can be learned from, so nothing is written: see above what is missing, and give "
                            "files with energies and forces")
        distances.say(say)
        check_work(work, options, say)
        writer.finish()
    except FileExistsError:
        raise ReadError(f"{target} has come into being meanwhile: choose another name") from None
    except OSError as error:
        raise ReadError(f"{error.filename or target}: {error.strerror or error}; check the disk and permissions") from None
    finally:
        writer.discard()
    summary(target, sieve, written)


def summary(target, sieve, written):
    frames = written["frames"]
    sizes = f"{min(sieve.atoms)} atoms" if len(sieve.atoms) == 1 else f"{min(sieve.atoms)} to {max(sieve.atoms)} atoms"
    labels = ", ".join(label if written[label] == frames else f"{label} ({written[label]} of them)" for label in LABELS if written[label])
    print(f"wrote {target}: {frames} frames of {sizes}, {' '.join(sorted(sieve.elements))}, with {labels}")
