"""Labels of a fix dptrain (its data set) beside what LAMMPS computes itself with the same styles."""

import numpy as np
import pytest

from active import stored_frames

NKTV2P = 1.6021765e6  # units metal
# of pair, kspace and so on: energy, virial as pressure, forces, with all digits
NATIVE = """compute p all pressure NULL virial
dump native all custom 1 native.dump id type fx fy fz
dump_modify native sort id format float %.17g
thermo_style custom step pe c_p[*] vol
thermo_modify format float %.17g norm no
run 0
"""

# a cluster of two elements in units real, its ids with gaps, with a pair style and the same one in ASE
CLUSTER = """units real
atom_style atomic
atom_modify map yes
boundary s s s
region box block -10 10 -10 10 -10 10
create_box 2 box
lattice fcc 3.6 origin 0.1 0.1 0.1
region ball sphere 1.0 2.0 3.0 5.5
create_atoms 1 region ball
set group all type/fraction 2 0.4 12345
displace_atoms all random 0.1 0.1 0.1 4711
group some id 5 9 12
delete_atoms group some compress no
mass * 28.0
velocity all create 300 4711 loop geom
"""
CLUSTER_PAIR = "pair_style lj/cut 6.0\npair_coeff * * 1.2 2.4\npair_modify shift yes"
# kcal/mol of LAMMPS to eV, as the fix does it
LENNARD_JONES = "ase.calculators.lj.LennardJones:sigma=2.1,epsilon=0.05,rc=6.0"  # of most tests of clients
# of energies and of forces: both codes in double precision, or with ASE's Hartree and Bohr of another year than the protocol's,
# which are 1e-8 apart, in sums whose terms cancel
EXACT, BY_CLIENT = ({"rel": 1e-9}, 1e-8), ({"rel": 1e-6, "abs": 1e-7}, 1e-6)
CLUSTER_LENNARD_JONES = f"ase.calculators.lj.LennardJones:sigma=2.4,epsilon={1.2 * 8.617343e-5 / 0.0019872067!r},rc=6.0"


def system_of(folder):
    """Arrays of the only system in a data set folder."""
    (system,) = [p for p in folder.iterdir() if p.is_dir()]
    sets = sorted(system.glob("set.*"))
    names = {p.stem for s in sets for p in s.glob("*.npy")}
    return {name: np.concatenate([np.load(s / f"{name}.npy") for s in sets]) for name in names}


def native_values(result):
    """Energy, forces [N][3] by type and atom id as in data sets, virial [6] of a run with NATIVE at its end."""
    thermo = result.check().thermo()
    virial = np.array([thermo[f"c_p[{k}]"][-1] for k in range(1, 7)]) * thermo["Volume"][-1] / NKTV2P
    atoms = result.dump("native.dump")
    return thermo["PotEng"][-1], atoms[np.argsort(atoms[:, 1], kind="stable"), 2:], virial


def label_values(folder, frame=-1):
    """The same of a frame in a data set; the virial is missing where no frame has one."""
    data = system_of(folder)
    virial = data["virial"][frame][[0, 4, 8, 1, 2, 5]] if "virial" in data else None
    return data["energy"].ravel()[frame], data["force"][frame].reshape(-1, 3), virial


def stored_values(path, part="", frame=-1):
    """The same of a frame in a frames file: what is learned, or with part "baseline_" what the baseline has."""
    stored = stored_frames(path)[frame]
    order = np.argsort(stored["type"], kind="stable")
    return stored[part + "energy"], stored[part + "force"][order], stored[part + "virial"][[0, 4, 8, 1, 2, 5]]


def assert_same(values, expected, tolerance):
    """Energy relative to itself; forces and virial relative to their largest component."""
    for name, value, true in zip(("energy", "forces", "virial"), values, expected):
        scale = np.abs(true).max()
        assert scale > 0 and np.abs(value - true).max() < tolerance * scale, name


def expect_right_labels(frames, tolerance, epsilon=0.05):
    """Energy and forces of frames (active.stored_frames) are those of ASE's Lennard-Jones potential. tolerance: of EXACT, or BY_CLIENT."""
    import ase
    from ase.calculators.lj import LennardJones

    energy_tolerance, force_tolerance = tolerance
    for frame in frames:
        atoms = ase.Atoms(f"Si{len(frame['coord'])}", positions=frame["coord"], cell=frame["box"].reshape(3, 3), pbc=True)
        atoms.calc = LennardJones(sigma=2.1, epsilon=epsilon, rc=6.0)
        force = atoms.get_forces()
        assert frame["energy"] == pytest.approx(atoms.get_potential_energy(), **energy_tolerance)
        assert np.abs(frame["force"] - force).max() < force_tolerance * max(np.abs(force).max(), 1e-3)
