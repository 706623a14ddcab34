"""Runs inside DeePMD-kit's own environment: reads systems with its reader, or writes some with dpdata.

usage: python read_with_deepmd.py read TYPE_MAP OUTPUT SYSTEM...     frames as JSON, one line each
       python read_with_deepmd.py expand OUTPUT SYSTEM...            names of the systems that it finds
       python read_with_deepmd.py write FOLDER                       data sets made by dpdata
"""
import json
import sys

import numpy as np

LABELS = {"energy": (1, False), "force": (3, True), "virial": (9, False), "atom_ener": (1, True), "atom_pref": (1, True), "drdq": (6, True)}


def frames_of(system, type_map):
    from deepmd.utils.data import DeepmdData

    data = DeepmdData(system, type_map=type_map, sort_atoms=False)
    for key, (width, atomic) in LABELS.items():
        data.add(key, width, atomic=atomic, must=False, high_prec=True)
    for k in range(data.nframes):
        frame = data.get_item_torch(k)
        types = np.asarray(frame["type"])
        real = types >= 0
        line = {"system": system, "step": k, "species": [type_map[t] for t in types[real]], "box": None if frame["box"] is None else frame["box"].ravel().tolist()}
        line["coord"] = frame["coord"].reshape(len(types), 3)[real].ravel().tolist()
        for key, (width, atomic) in LABELS.items():
            if frame["find_" + key]:
                values = frame[key].reshape(len(types), width)[real] if atomic else frame[key]
                line[key] = values.ravel().tolist()
        yield line


def write(folder):
    import dpdata

    random = np.random.default_rng(7)

    def system(counts, nframes):
        names = ["O", "H", "C"]
        n = sum(counts)
        types = np.repeat(np.arange(3), counts)
        return dpdata.LabeledSystem(data={
            "atom_names": names, "atom_numbs": list(counts), "atom_types": types, "orig": np.zeros(3),
            "cells": np.tile(np.diag([11.0, 12.0, 13.0]), (nframes, 1, 1)) + 0.1 * random.random((nframes, 3, 3)),
            "coords": 10 * random.random((nframes, n, 3)), "energies": random.random(nframes),
            "forces": random.random((nframes, n, 3)), "virials": random.random((nframes, 3, 3))})

    systems = [system((2, 4, 0), 3), system((4, 2, 0), 2), system((1, 2, 2), 2)]
    systems[0].to_deepmd_npy(f"{folder}/npy", set_size=2, prec=np.float64)
    several = dpdata.MultiSystems(*systems)
    several.to_deepmd_hdf5(f"{folder}/all.hdf5")
    dpdata.MultiSystems(*systems).to_deepmd_npy_mixed(f"{folder}/mixed")


def main():
    if sys.argv[1] == "write":
        write(sys.argv[2])
    elif sys.argv[1] == "expand":
        from deepmd.utils.data_system import process_systems

        json.dump(process_systems(sys.argv[3:]), open(sys.argv[2], "w"))
    else:
        with open(sys.argv[3], "w") as out:
            for system in sys.argv[4:]:
                for line in frames_of(system, sys.argv[2].split()):
                    out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
