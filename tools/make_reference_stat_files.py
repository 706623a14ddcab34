#!/usr/bin/env python3
"""Makes unittest/reference/stat_file: what `dp train` of DeePMD-kit writes as its `stat_file`, and names of descriptors in it.

stat.hdf5 and folder/ hold the statistics of all frames of unittest/reference/statistics for two values of sel (variants
`plain` and `overflow` there); hashes.json has the name that DeePMD-kit gives to several descriptors.

usage: python tools/make_reference_stat_files.py
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from make_reference_common import REFERENCE, model_section, provenance, write_json

from deepmd.pt.model.descriptor.se_a import DescrptSeA
from deepmd.pt.utils.env_mat_stat import EnvMatStatSe

FOLDER = REFERENCE / "stat_file"
SYSTEMS = [str(REFERENCE / "statistics" / name) for name in ("all_types", "no_type1", "cluster")]
SEL = {"plain": [60, 50, 60], "overflow": [6, 5, 7]}
# numbers that end in 5 show how two decimals are made
DESCRIPTORS = [dict(rcut=6.0, rcut_smth=0.5, sel=[46, 92]), dict(rcut=6, rcut_smth=2, sel=[46, 92]), dict(rcut=6.0, rcut_smth=0.5, sel=[92, 46]),
               dict(rcut=5.345, rcut_smth=0.055, sel=[46, 92, 3]), dict(rcut=5.675, rcut_smth=0.125, sel=[46]), dict(rcut=10.25, rcut_smth=0.001, sel=[4, 0, 8, 120])]


def train(stat_file, sel, tmp):
    """One step of `dp train`, whose statistics take all frames."""
    section = dict(model_section(["Al", "Cu", "Ni"], sel), data_stat_nbatch=100)
    inp = dict(model=section, learning_rate=dict(type="exp", start_lr=1e-8, stop_lr=1e-9, decay_steps=1),
               loss=dict(type="ener", start_pref_e=1, limit_pref_e=1, start_pref_f=1, limit_pref_f=1),
               training=dict(training_data=dict(systems=SYSTEMS, batch_size=1), numb_steps=1, disp_freq=1, save_freq=1, seed=1, stat_file=str(stat_file)))
    (tmp / "input.json").write_text(json.dumps(inp))
    subprocess.run([str(pathlib.Path(sys.executable).parent / "dp"), "--pt", "train", "input.json", "--skip-neighbor-stat"], cwd=tmp, check=True, capture_output=True)


def name_of(descriptor):
    return EnvMatStatSe(DescrptSeA(neuron=[4, 8], axis_neuron=2, **descriptor).sea).get_hash()


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with tempfile.TemporaryDirectory() as tmp:
        for sel in SEL.values():
            for target in (FOLDER / "stat.hdf5", FOLDER / "folder"):
                train(target, sel, pathlib.Path(tmp))
    write_json(FOLDER / "hashes.json", dict(case="stat_file", **provenance(), descriptors=[dict(d, hash=name_of(d)) for d in DESCRIPTORS]))


if __name__ == "__main__":
    main()
