"""The sides of the part `labels` that run in the LAMMPS of this package: its own two descriptors, SNAP with the published
coefficients, and POD fitted by `fitpod`; and what all sides have in common."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np

from .errors import BenchError
from .inference import INPUT
from .labels_data import lammps_cell, rmse, write_lammps_data, write_npy
from .logs import lammps_dump, lammps_loop
from .process import environment_of
from .reference_data import write_extxyz

FAR = 6.0  # a training may take this many times its budget of processor seconds in wall time, and half an hour
MASSES = {"H": 1.008, "O": 15.999, "Si": 28.085, "Ge": 72.63}
BATCH_ATOMS = 128  # of a training step, where a side lets choose it


def processor_seconds(pid):
    """User and system seconds of a process, of its threads and of its children that have ended; 0 where there is none."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")


def run_cpu(recorder, what, command, cwd, variables, log="train.log", seconds=60.0, marks=()):
    """Output of a command, and the processor seconds (user and system) of it and its children.

    On a machine that others use too, these are the fair budget: wall time depends on what else runs. With two `marks` the
    seconds are those between the moments at which these texts appear in the output.
    """
    recorder.note(what, command, variables)
    passed = {}
    with open(cwd / log, "w") as out:
        process = subprocess.Popen([str(w) for w in command], cwd=cwd, env=environment_of(variables), stdout=out,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        limit = time.monotonic() + 1800 + FAR * seconds
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > limit:
                os.killpg(process.pid, signal.SIGKILL)
            if len(passed) < len(marks):
                written = (cwd / log).read_text(errors="replace")
                now = {mark: processor_seconds(process.pid) for mark in marks if mark in written}
                passed = {**now, **passed}
            time.sleep(0.02)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    text = (cwd / log).read_text(errors="replace")
    if process.returncode != 0:
        raise BenchError(f"bench: {what} failed (exit status {process.returncode}) in {cwd}:\n" +
                         "\n".join(text.splitlines()[-15:]))
    total = usage.ru_utime + usage.ru_stime
    return text, passed.get(marks[1], total) - passed.get(marks[0], 0.0) if marks else total


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def evaluation_input(frames, style, coeff):
    """Energies and forces of all frames, one after the other in one LAMMPS."""
    lines = []
    for k in range(len(frames)):
        lines += ["clear", "units metal", "atom_style atomic", "box tilt large", f"read_data frame-{k}.data",
                  f"pair_style {style}", f"pair_coeff * * {coeff}", "neighbor 0.3 bin", "run 0",
                  f"write_dump all custom frame-{k}.dump id fx fy fz modify format float %.12g",
                  "variable e equal pe", f'print "ENERGY {k} $(v_e:%.14g)"']
    return "\n".join(lines) + "\n"


def lammps_cpu(text):
    """The part of the time of the last run in a LAMMPS output in which its processes had a processor."""
    found = re.findall(r"^(\S+)% CPU use with", text, re.M)
    if not found:
        raise BenchError("bench: no 'CPU use' in the output of LAMMPS:\n" + text[-800:])
    return float(found[-1]) / 100


class Side:
    """Something that is fitted to labels. `fixed`: cannot be fitted; `direct`: one solution, whatever the seconds; `marked`:
    its seconds of training are without start-up."""

    fixed = direct = marked = False
    counts = None  # the small numbers of labels that it is fitted to; None: all of the plan
    first_steps = (20, 120)  # of the two runs that tell start-up and seconds of a step,
    first_frames = None  # and their frames; None: all

    def __init__(self, name, recorder):
        self.name, self.recorder = name, recorder

    def suits(self, dataset):
        return True

    def train(self, dataset, frames, steps, seed, folder, seconds):
        """Trains on these frames; returns processor seconds."""
        raise NotImplementedError

    def errors(self, dataset, folder):
        """Force and energy error of the model in this folder on the test frames."""
        raise NotImplementedError

    def md_sides(self, dataset, folder):
        """{name: function of (frame, seconds, folder) that gives us per atom and step} of the model in this folder."""
        return {}


class LammpsSide(Side):
    """A side with a pair style in an environment's LAMMPS."""

    def __init__(self, name, environment, recorder):
        super().__init__(name, recorder)
        self.environment = environment

    def styles(self, dataset, folder):
        """{name: (pair_style, pair_coeff)}; the first one makes the errors."""
        raise NotImplementedError

    def lammps(self, what, folder, text):
        return self.environment.run_lammps(what, folder, text, 1, self.environment.potentials())

    def errors(self, dataset, folder):
        place = empty(folder / "test")
        for k, (symbols, x, cell, *_) in enumerate(dataset.test):
            write_lammps_data(place / f"frame-{k}.data", symbols, x, cell, dataset.elements)
        style, coeff = next(iter(self.styles(dataset, folder).values()))
        text = self.lammps(f"test, {self.name}", place, evaluation_input(dataset.test, style, coeff))
        found = dict(line.split()[1:] for line in text.splitlines() if line.startswith("ENERGY "))
        if len(found) != len(dataset.test):
            raise BenchError(f"bench: {self.name}: {len(found)} of {len(dataset.test)} energies in {place}")
        forces = []
        for k, frame in enumerate(dataset.test):
            rows = lammps_dump(place / f"frame-{k}.dump")
            forces.append(np.array([rows[n + 1] for n in range(len(frame[0]))]) @ lammps_cell(frame[2])[1].T)
        return rmse(dataset.test, [float(found[str(k)]) for k in range(len(found))], forces)

    def md_sides(self, dataset, folder):
        def timed(name, style, coeff):
            def measure(frame, seconds, place):
                place.mkdir(parents=True, exist_ok=True)
                symbols, x, cell = frame
                write_lammps_data(place / "md.data", symbols, x, cell, dataset.elements, MASSES)
                text = INPUT.format(data="md.data", style=style, coeff=coeff, rebuild=10)

                def run(steps):
                    output = self.lammps(f"MD, {name}", place, text + f"run 5\nrun {steps}\n")
                    return lammps_loop(output)[0] * lammps_cpu(output)

                steps = max(5, min(1000, int(seconds / (run(5) * len(x) * 1e-6))))
                return run(steps)
            return measure
        return {name: timed(name, style, coeff) for name, (style, coeff) in self.styles(dataset, folder).items()}


class Ours(LammpsSide):
    """This package: `dptrain train` on one rank with one thread."""

    def __init__(self, name, environment, recorder, model, sections, precision):
        super().__init__(name, environment, recorder)
        self.model, self.sections, self.precision = model, sections, precision

    def train(self, dataset, frames, steps, seed, folder, seconds):
        systems = write_npy(folder / "data", frames, dataset.elements)
        model = json.loads(json.dumps(self.model))
        model["type_map"] = dataset.elements
        model["descriptor"]["rcut"] = dataset.rcut
        training = {"training_data": {"systems": [str(s) for s in systems], "batch_size": f"auto:{BATCH_ATOMS}"},
                    "numb_steps": steps, "seed": seed, "disp_freq": steps, "save_freq": steps}
        (folder / "input.json").write_text(json.dumps({"model": model, **self.sections, "training": training}, indent=1))
        script, variables = self.environment.script()
        words = [*script, "train", "input.json", "-np", "1", "--precision", self.precision]
        return run_cpu(self.recorder, f"training, {self.name}", words, folder, {"OMP_NUM_THREADS": 1, **variables},
                       seconds=seconds)[1]

    def styles(self, dataset, folder):
        coeff = f"{folder / 'model.ckpt.dp'} {' '.join(dataset.elements)}"
        return {f"{self.name}, {precision}": (f"dptrain precision {precision}", coeff) for precision in ("double", "single")}


class Snap(LammpsSide):
    """SNAP with the coefficients of Zuo et al. (2020) that LAMMPS brings: fitted by them, to these training frames."""

    fixed = True

    def __init__(self, environment, recorder, quadratic):
        super().__init__("quadratic SNAP" if quadratic else "SNAP", environment, recorder)
        self.middle = "_Zuo_JPCA2020.quadratic" if quadratic else "_Zuo_JPCA2020"

    def suits(self, dataset):
        folder = self.environment.potentials()["LAMMPS_POTENTIALS"]
        return bool(dataset.element) and (folder / f"{dataset.element}{self.middle}.snapcoeff").exists()

    def styles(self, dataset, folder):
        name = dataset.element + self.middle
        return {self.name: ("snap", f"{name}.snapcoeff {name}.snapparam {dataset.element}")}


class Pod(LammpsSide):
    """POD: linear in its coefficients, found by the command fitpod of LAMMPS; its own default number of descriptors."""

    direct = True

    def __init__(self, environment, recorder):
        super().__init__("POD", environment, recorder)

    def train(self, dataset, frames, steps, seed, folder, seconds):
        (folder / "data").mkdir()
        write_extxyz(folder / "data" / "train.xyz", [frame[:5] for frame in frames])
        shortest = 0.8 if "H" in dataset.elements else 1.0
        (folder / "fit.pod").write_text(f"species {' '.join(dataset.elements)}\nrin {shortest}\nrcut {dataset.rcut}\n")
        (folder / "data.pod").write_text('file_format extxyz\nfile_extension xyz\npath_to_training_data_set "data"\n'
                                         "error_analysis_for_training_data_set 0\n")
        (folder / "in.fit").write_text("units metal\nfitpod fit.pod data.pod\n")
        program, needed = self.environment.lammps()
        return run_cpu(self.recorder, "training, POD", [program, "-in", "in.fit", "-log", "none"], folder,
                       {**needed, "OMP_NUM_THREADS": 1}, seconds=seconds)[1]

    def styles(self, dataset, folder):
        words = " ".join(dataset.elements)
        return {"POD": ("pod", f"{folder / 'fit.pod'} {folder / 'pod_coefficients.pod'} {words}")}


SOAP_SECTIONS = {"optimizer": {"type": "SOAP"}, "learning_rate": {"type": "cosine", "start_lr": 1e-2, "stop_lr": 1e-5},
                 "loss": {"start_pref_e": 0.02, "limit_pref_e": 10, "start_pref_f": 1000, "limit_pref_f": 100}}


def our_sides(ours, recorder):
    """power_spectrum and nep with their defaults; se_e2_a with the small net and what it learns fastest with; SNAP; POD."""
    small = {"descriptor": {"type": "se_e2_a", "rcut_smth": 0.5, "neuron": [25, 25, 25], "axis_neuron": 8,
                            "type_one_side": True},
             "fitting_net": {"neuron": [50, 50, 50]}}
    return [Ours("power_spectrum", ours, recorder, {"descriptor": {"type": "power_spectrum"}}, {}, "double"),
            Ours("nep", ours, recorder, {"descriptor": {"type": "nep"}}, {}, "double"),
            Ours("se_e2_a", ours, recorder, small, SOAP_SECTIONS, "single"),
            Snap(ours, recorder, False), Snap(ours, recorder, True), Pod(ours, recorder)]
