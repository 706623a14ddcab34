"""Runs inside DeePMD-kit's own environment: converts model files and evaluates frames.

usage: python evaluate_with_deepmd.py tasks.json results.npz
tasks.json: list of {"dp": file, "pth": file to make, "coord": [n][3], "types": [n], "box": [9] or null}
"""
import json
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np  # noqa: E402
from deepmd.entrypoints.convert_backend import convert_backend  # noqa: E402
from deepmd.infer import DeepPot  # noqa: E402


def main():
    results = {}
    for k, task in enumerate(json.load(open(sys.argv[1]))):
        convert_backend(INPUT=task["dp"], OUTPUT=task["pth"])
        coord = np.reshape(task["coord"], (1, -1))
        box = None if task["box"] is None else np.reshape(task["box"], (1, 9))
        energy, force, virial, atom_energy, _ = DeepPot(task["pth"]).eval(coord, box, task["types"], atomic=True)
        results.update({f"energy{k}": energy.ravel(), f"force{k}": force.reshape(-1, 3), f"virial{k}": virial.ravel(), f"atom_energy{k}": atom_energy.ravel()})
    np.savez(sys.argv[2], **results)


if __name__ == "__main__":
    main()
