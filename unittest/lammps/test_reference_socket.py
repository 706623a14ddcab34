"""`reference socket`: labels that clients of the i-PI protocol compute, and clients and runs that die.

Clients are `dptrain client`, ASE's SocketClient with a calculator of ASE, of tblite or of PySCF.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from labels import CLUSTER, CLUSTER_LENNARD_JONES, CLUSTER_PAIR, LENNARD_JONES
from lammps_runner import finish, wait_for
from silicon import ATOMS, COLUMNS, write_input

ase_io = pytest.importorskip("ase.io", reason="the clients need ASE")

LJ = "pair_style lj/cut 6.0\npair_coeff * * 0.05 2.1\npair_modify shift yes"
SLOW = "calculators.Slow:sigma=2.1,epsilon=0.05,rc=6.0,seconds="
HELD = "calculators.Held:sigma=2.1,epsilon=0.05,rc=6.0,hold=1"  # for ever, unless it is released
TILT = "change_box all triclinic\nchange_box all xy final 1.5 xz final -0.7 yz final 2.0 remap\n"
# Both codes have the same potential in double precision, but ASE's Hartree and Bohr are those of CODATA 2014, 8e-9 and
# 2e-10 off those of 2022 in the fix; the power 12 multiplies the error of lengths.
TOLERANCE = 3e-8


def free_port():
    """A port that nobody has now, below those that the system gives to clients."""
    for port in np.random.default_rng().integers(20000, 30000, 100):
        with socket.socket() as probe:
            if probe.connect_ex(("localhost", int(port))) != 0:
                return port
    raise AssertionError("no free port")


def learn(where, options="", fix="warmup 100 dataset socket every 5", run="run 10", atoms=ATOMS, pair=LJ, elements="Si"):
    """Input whose run is driven by `pair`, and labeled by clients at `where`."""
    wait = "" if options.startswith("wait") else "wait 600"
    reference = f"reference socket {where} {wait} {options} end"
    return (f"{atoms}{pair}\nfix t all dptrain model input.json {elements} {reference} {fix}\nfix n all nve\n{COLUMNS}"
            f"thermo 5\n{run}\n")


def connected(number):
    """A command of LAMMPS that waits until so many clients have said that they are connected."""
    return f"shell until [ `grep -l connected client*.log | wc -l` = {number} ]; do sleep 0.1; done"


def system_of(folder):
    (system,) = [p for p in folder.iterdir() if p.is_dir()]
    names = sorted({p.stem for p in system.glob("set.*/*.npy")})
    return {name: np.concatenate([np.load(s / f"{name}.npy") for s in sorted(system.glob("set.*"))]) for name in names}


def expect_same(found, expected, names=("box", "coord", "energy", "force", "virial")):
    for name in names:
        size = max(np.abs(expected[name]).max(), 1e-3)
        assert np.abs(found[name] - expected[name]).max() < TOLERANCE * size, name


@pytest.mark.parametrize("ranks, box, where", [(1, "", "unix"), (2, TILT, "unix"), (4, TILT, "unix"), (2, "", "localhost:0")])
def test_labels_are_those_of_lammps(ranks, box, where, address, client, start_lammps, tmp_path):
    """The same Lennard-Jones potential in LAMMPS (`reference run`) and in ASE behind the socket: positions, box (also a
    triclinic one whose atoms have left it), order of atoms, units and signs are right."""
    write_input(tmp_path)
    atoms = ATOMS + box + "change_box all x delta -3 3 boundary p p p units box\nreset_atoms id sort no\n"
    text = learn(address if where == "unix" else where, atoms=atoms)
    text = text.replace("fix n", "fix r all dptrain model input.json Si reference run warmup 100 every 5 dataset run disp 9 r.out\nfix n")
    run = start_lammps(text, ranks)
    if where == "unix":
        client(LENNARD_JONES, address)
    else:  # the system chooses the port
        wait_for(lambda: "listening at" in (tmp_path / "screen").read_text(), "address")
        client(LENNARD_JONES, re.search(r"listening at (\S+)", (tmp_path / "screen").read_text()).group(1))
    result = finish(run, tmp_path).check()
    expect_same(system_of(tmp_path / "socket"), system_of(tmp_path / "run"))
    assert len(system_of(tmp_path / "socket")["energy"]) == 3
    assert "client 1 (" in result.output and "has connected" in result.output
    structure = ase_io.read(tmp_path / "t.init.xyz")
    assert structure.get_chemical_formula() == "Si64" and all(structure.pbc)
    assert np.allclose(structure.cell[:].ravel(), system_of(tmp_path / "run")["box"][0], atol=1e-12)


def test_fix_ipi_of_lammps(address, start_lammps, tmp_path):
    """Another LAMMPS is the client, with fix ipi by the authors of the protocol. Its constants have eight digits: 1e-7."""
    write_input(tmp_path)
    text = learn(address, atoms=ATOMS + TILT + "write_data atoms.data nocoeff\n")
    text = text.replace("fix n", "fix r all dptrain model input.json Si reference run warmup 100 every 5 dataset run disp 9 r.out\nfix n")
    run = start_lammps(text, 2)
    wait_for((tmp_path / "atoms.data").exists, "atoms")
    wait_for(lambda: "listening" in (tmp_path / "screen").read_text(), "socket")
    worker = ("units metal\natom_style atomic\natom_modify map yes\nread_data atoms.data\nmass 1 28\n" + LJ +
              f"\nfix i all ipi {address[5:]} 12345 unix\nrun 100\n")
    start_lammps(worker, 2, "worker")
    finish(run, tmp_path).check()
    found, expected = system_of(tmp_path / "socket"), system_of(tmp_path / "run")
    for name in ("energy", "force", "virial"):
        assert np.abs(found[name] - expected[name]).max() < 1e-7 * np.abs(expected[name]).max(), name


@pytest.mark.parametrize("ranks", [1, 2])
def test_cluster_in_other_units(ranks, address, client, start_lammps, tmp_path):
    """Units real, no periodic dimension, two elements, ids with gaps; the virial is that of the forces."""
    write_input(tmp_path, types=["Si", "Ge"])
    text = learn(address, atoms=CLUSTER, pair=CLUSTER_PAIR, elements="Si Ge")
    text = text.replace("fix n", "fix r all dptrain model input.json Si Ge reference run warmup 100 every 5 dataset run disp 9 r.out\nfix n")
    client(CLUSTER_LENNARD_JONES, address)
    result = finish(start_lammps(text + "write_dump all custom types id type\n", ranks), tmp_path).check()
    found, expected = system_of(tmp_path / "socket"), system_of(tmp_path / "run")
    expect_same(found, expected, ("coord", "energy", "force", "virial"))
    structure = ase_io.read(tmp_path / "t.init.xyz")
    assert structure.get_chemical_symbols() == [["Si", "Ge"][int(k) - 1] for _, k in result.dump("types")]
    assert not any(structure.pbc)


def test_two_clients(address, client, start_lammps, tmp_path):
    """They take turns, and the run drives, trains and ends with the clients told to exit."""
    write_input(tmp_path)
    clients = [client(LENNARD_JONES, address, log=f"client{k}.log") for k in range(2)]
    text = learn(address, fix="warmup 3 every 2 train 5", pair=LJ, run=f"{connected(2)}\nrun 10")
    run = start_lammps(text, 2)
    result = finish(run, tmp_path).check()
    assert result.thermo()["f_t[2]"][-1] == 6  # reference calls
    assert result.thermo()["f_t[7]"][-1] == 30  # optimizer steps
    assert [process.wait(300) for process in clients] == [0, 0]
    for k in range(2):
        assert "the end after 3 calculations" in (tmp_path / f"client{k}.log").read_text()
    assert not Path(f"/tmp/ipi_{address[5:]}").exists()


def test_model_trained_from_the_socket_drives(address, client, start_lammps, tmp_path):
    """From nothing: the reference drives the first steps, then the model does."""
    write_input(tmp_path)
    client(LENNARD_JONES, address)
    text = learn(address, fix="warmup 4 every 2 train 10", pair="pair_style dptrain\npair_coeff * * input.json Si", run="run 12")
    text = text.replace("model input.json Si", "mode passive")
    result = finish(start_lammps(text, 2), tmp_path).check()
    assert result.thermo()["f_t[7]"][-1] == 70
    assert 7 < result.thermo()["f_t[2]"][-1] < 13  # each step of the warm-up, then every second one


def test_without_virial(address, client, start_lammps, tmp_path):
    """A client without stress: an error of the labels that says so, or with `virial no` labels without virial."""
    write_input(tmp_path)
    client(LENNARD_JONES, address, "--no-stress")
    result = finish(start_lammps(learn(address)), tmp_path).check()
    assert result.output.count("there is no virial (all components are zero)") == 3
    assert result.thermo()["f_t[11]"][-1] == 3
    client(LENNARD_JONES, address, "--no-stress")
    finish(start_lammps(learn(address, "virial no", fix="warmup 2 every 5 train 5 dataset socket")), tmp_path).check()
    labels = system_of(tmp_path / "socket")
    assert labels["force"].shape == (3, 192) and "virial" not in labels
    barostat = learn(address, "wait 0 virial no").replace("fix n all nve", "fix n all nph iso 0 0 1")
    assert "does not know of the reference" in finish(start_lammps(barostat), tmp_path).check().output


def test_waiting_ranks_sleep(address, client, start_lammps, tmp_path):
    """While a client computes for 3 of about 3.2 seconds, LAMMPS uses next to nothing of its two cores."""
    write_input(tmp_path)
    client(SLOW + "1.0", address)
    result = finish(start_lammps(learn(address), 2), tmp_path).check()
    percent = float(re.search(r"^([0-9.]+)% CPU use with 2 MPI tasks", result.output, re.MULTILINE).group(1))
    assert percent < 25  # a busy wait shows as 100


def test_client_dies_and_another_one_goes_on(address, client, start_lammps, tmp_path):
    write_input(tmp_path)
    run = start_lammps(learn(address), 2)
    first = client(HELD, address)
    wait_for((tmp_path / "begun").exists, "calculation")
    first.kill()
    wait_for(lambda: "another client gets its configuration" in (tmp_path / "screen").read_text(), "message")
    client(LENNARD_JONES, address)
    result = finish(run, tmp_path).check()
    assert f"client 1 (process {first.pid}) is lost: it closed the connection" in result.output
    assert result.thermo()["f_t[1]"][-1] == 3 and result.thermo()["f_t[11]"][-1] == 0  # all frames, none discarded


@pytest.mark.parametrize("failed", ["skip", "stop"])
def test_client_dies_for_good(failed, address, client, start_lammps, tmp_path):
    """No attempt is left: the frame is skipped and the run goes on without clients, or it stops."""
    write_input(tmp_path)
    process = client(HELD, address)
    wait_for(lambda: "waiting for LAMMPS" in (tmp_path / "client.log").read_text(), "client")
    run = start_lammps(learn(address, f"wait 2 retries 0 failed {failed}", run=f"{connected(1)}\nrun 10"), 2)
    wait_for((tmp_path / "begun").exists, "calculation")
    process.kill()
    result = finish(run, tmp_path)
    text = f"client 1 (process {process.pid}) is lost: it closed the connection (see its output); attempt 1 was the last one"
    if failed == "stop":
        assert result.status != 0
        assert any("no label at step 0" in line and text in line for line in result.errors()), result.output[-2000:]
    else:
        result.check()
        assert f"label of step 0 is discarded: {text}" in result.output
        lost = f"client 1 (process {process.pid}), which had the configuration of step 0, was lost (it closed the connection"
        assert result.output.count(lost) == 2 and result.output.count("ago, and no other one has connected to unix:") == 2
        assert "no client has connected" not in result.output
        assert result.thermo()["f_t[1]"][-1] == 0 and result.thermo()["f_t[11]"][-1] == 3


def test_time_out(address, client, start_lammps, tmp_path):
    write_input(tmp_path)
    client(HELD, address)
    result = finish(start_lammps(learn(address, "timeout 1 retries 0", run="run 0")), tmp_path).check()
    assert "no answer within 1 s: look into its output, or give a longer 'timeout'; attempt 1 was the last one" in result.output


def test_calculation_that_does_not_converge(address, client, start_lammps, tmp_path):
    """One label is missing; client and run go on."""
    write_input(tmp_path)
    client("calculators.Moody:sigma=2.1,epsilon=0.05,rc=6.0", address)
    result = finish(start_lammps(learn(address)), tmp_path).check()
    assert "label of step 5 is discarded: client 1" in result.output
    assert "has not converged: RuntimeError: no self-consistency after 100 cycles" in result.output
    assert result.thermo()["f_t[1]"][-1] == 2 and result.thermo()["f_t[11]"][-1] == 1


@pytest.mark.parametrize("wrong, factor, work", [("energy=0.03674932", 0.0367, "forces"), ("forces=-1.0", -1.0, "forces"),
                                                 ("stress=-1.0", -1.0, "virial"), ("energy=1.0", None, None)])
def test_units_and_signs_of_a_client(wrong, factor, work, address, client, start_lammps, tmp_path):
    """Energies are compared with the work of forces, and of the virial in a cell that changes."""
    write_input(tmp_path)
    client(f"calculators.Wrong:{wrong},sigma=2.1,epsilon=0.05,rc=6.0", address)
    text = learn(address, fix="warmup 100 every 2 label_check warn", run="run 24")
    text = text.replace("fix n all nve", "fix n all nve\nfix cell all deform 1 x erate 0.5 y erate -1.0 remap x")
    warnings = " ".join(finish(start_lammps(text), tmp_path).check().warnings("Fix dptrain"))
    if factor is None:
        assert "energies of the reference" not in warnings
        return
    assert f"the work of its {work}: check units" in warnings
    found = float(re.search(r"energies of the reference change by (\S+) times", warnings)[1])
    assert found == pytest.approx(factor, rel=0.1)  # the rule's own error


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_client_that_is_wrong_ends_the_run(ranks, address, client, start_lammps, tmp_path):
    """What it has sent is put aside."""
    write_input(tmp_path)
    client("calculators.Wrong:forces=-1.0,sigma=2.1,epsilon=0.05,rc=6.0", address)
    result = finish(start_lammps(learn(address, fix="warmup 100 every 2", run="run 24"), ranks=ranks), tmp_path)
    errors = " ".join(result.errors())
    assert result.status != 0 and "the work of its forces: check units" in errors and "'label_check warn' goes on all the same" in errors
    count, wrong = re.search(r"the labels of this run \((\d+)\) are kept as (\S+\.wrong)", errors).groups()
    assert int(count) >= 3 and (tmp_path / wrong).exists() and not (tmp_path / wrong.removesuffix(".wrong")).exists()


def test_a_client_of_an_earlier_run(address, client, start_lammps, tmp_path):
    """Two clients with different calculators answer by turns: the labels of one of them are refused."""
    write_input(tmp_path)
    client(LENNARD_JONES, address, log="client1.log")
    client(LENNARD_JONES.replace("2.1", "2.2"), address, log="client2.log")
    text = learn(address, "failed skip").replace("fix n all nve", connected(2) + "\nfix n all nve")
    result = finish(start_lammps(text), tmp_path).check()
    assert re.search(r"it computes with \S+, and client [12] \(process \d+\) with \S+: all labels must come from the same calculator", result.output)
    assert result.thermo()["f_t[11]"][-1] >= 1


def test_client_with_another_structure(address, client, start_lammps, tmp_path):
    """A plain client of ASE with a wrong file: a clear message."""
    write_input(tmp_path)
    script = f"""import numpy
from ase import Atoms
from ase.calculators.socketio import SocketClient
client = SocketClient(unixsocket="{address[5:]}")
client.calculate = lambda atoms, use_stress: (1.0, numpy.zeros((2, 3)), numpy.eye(3))
client.run(Atoms("Si64"), use_stress=True)
"""
    run = start_lammps(learn(address, "failed stop"))
    wait_for(lambda: Path(f"/tmp/ipi_{address[5:]}").exists(), "socket")
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, timeout=300)
    result = finish(run, tmp_path)
    assert "it sent forces of 2 atoms for 64: start it with the structure of this run" in " ".join(result.errors())


@pytest.mark.parametrize("kind", ["unix", "host"])
def test_kill_lammps_amid_a_call_and_resume(kind, address, client, start_lammps, tmp_path):
    """Kill -9 while a client computes: the next run takes over the socket file or the port, the client comes back by itself,
    and no labeled frame is lost."""
    write_input(tmp_path)
    if kind == "host":
        address = f"localhost:{free_port()}"
    fix = "warmup 2 every 5 train 3 save 3 model.dp"
    process = client("calculators.Held:sigma=2.1,epsilon=0.05,rc=6.0,hold=5", address)
    run = start_lammps(learn(address, fix=fix, run="run 100"), 2)
    wait_for((tmp_path / "begun").exists, "fifth calculation")
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    (tmp_path / "release").touch()
    if kind == "unix":
        assert Path(f"/tmp/ipi_{address[5:]}").exists()  # what the dead run has left
    result = finish(start_lammps(learn(address, fix=fix + " resume model.dp"), 2, log="again"), tmp_path, "again").check()
    resumed = int(re.search(r"resumed from \S+: (\d+) frames", result.output).group(1))
    assert resumed == 4
    assert result.thermo()["f_t[1]"][-1] == resumed + 3
    assert process.wait(300) == 0
    log = (tmp_path / "client.log").read_text()
    assert log.count("connected to") == 2 and "LAMMPS is gone; waiting for it" in log


def test_second_run_at_the_same_address(address, client, start_lammps, tmp_path):
    write_input(tmp_path)
    first = start_lammps(learn(address))
    wait_for(lambda: Path(f"/tmp/ipi_{address[5:]}").exists(), "socket")
    second = finish(start_lammps(learn(address), log="second"), tmp_path, "second")
    assert second.status != 0 and any(f"another program listens at {address}" in line for line in second.errors())
    client(LENNARD_JONES, address)
    finish(first, tmp_path).check()


WATER = """units metal
atom_style atomic
atom_modify map yes
read_data water.data
mass 1 15.999
mass 2 1.008
velocity all create 300 4711 loop geom
timestep 0.0005
"""


def write_water(folder, lattice):
    """water.data with eight molecules in a triclinic box; `lattice` is the length of a molecule's cell in Angstrom."""
    from ase.build import molecule

    rng = np.random.default_rng(3)
    lines, tag, edge = [], 0, 2 * lattice
    for cell in np.ndindex(2, 2, 2):
        water = molecule("H2O")
        water.rotate(rng.uniform(0, 360), rng.normal(size=3))
        water.positions += (np.array(cell) + 0.5) * lattice + rng.uniform(-0.2, 0.2, 3) - water.positions[0]
        for kind, position in zip((1, 2, 2), water.positions):
            tag += 1
            lines.append(f"{tag} {kind} {position[0]:.8f} {position[1]:.8f} {position[2]:.8f}")
    box = "".join(f"0 {edge} {a}lo {a}hi\n" for a in "xyz") + "0.4 -0.3 0.2 xy xz yz\n"
    (folder / "water.data").write_text(f"water\n\n{tag} atoms\n2 atom types\n{box}\nAtoms\n\n" + "\n".join(lines) + "\n")


def frames_of(folder, names):
    """The frames of a data set as Atoms, with the labels."""
    from ase import Atoms

    labels = system_of(folder)
    kinds = np.loadtxt(next(p for p in folder.iterdir() if p.is_dir()) / "type.raw", dtype=int)
    symbols = [names[k] for k in kinds]
    for k in range(len(labels["energy"])):
        box = labels["box"][k].reshape(3, 3)
        yield (Atoms(symbols, labels["coord"][k].reshape(-1, 3), cell=box, pbc=True),
               {name: values[k] for name, values in labels.items()})


def test_quantum_code_tblite(address, client, start_lammps, tmp_path):
    """GFN1-xTB of a water box: labels are what tblite gives for the stored frames. Its density is converged to 1e-5, from another
    start along the trajectory, hence 1e-4 eV/A; the energy is second order in that."""
    tblite = pytest.importorskip("tblite.ase", reason="pip install tblite")
    write_input(tmp_path, types=["O", "H"])
    write_water(tmp_path, 3.3)
    client("tblite:method=GFN1-xTB,verbosity=0", address)
    run = start_lammps(learn(address, atoms=WATER, pair="pair_style zero 5.0\npair_coeff * *", elements="O H"), 2)
    finish(run, tmp_path).check()
    count = 0
    for atoms, label in frames_of(tmp_path / "socket", ("O", "H")):
        atoms.calc = tblite.TBLite(method="GFN1-xTB", verbosity=0)
        assert label["energy"].item() == pytest.approx(atoms.get_potential_energy(), abs=1e-4)
        assert np.abs(label["force"].reshape(-1, 3) - atoms.get_forces()).max() < 1e-4
        virial = -atoms.get_volume() * atoms.get_stress(voigt=False)
        assert np.abs(label["virial"].reshape(3, 3) - virial).max() < 1e-3
        assert np.abs(virial).max() > 1.0
        count += 1
    assert count == 3


def test_example(address, client, start_lammps, tmp_path):
    """The example of the manual, shortened: GFN1-xTB drives and labels, then the model drives."""
    pytest.importorskip("tblite.ase", reason="pip install tblite")
    example = Path(__file__).resolve().parents[2] / "examples" / "socket"
    for name in ("water.data",):
        (tmp_path / name).write_text((example / name).read_text())
    text = (example / "in.water").read_text()
    changes = {"steps": 60, "every": 5, "train": 5, "warmup": 8, "address": address}
    settings = "".join(f"variable {name} index {value}\n" for name, value in changes.items())
    client("tblite:method=GFN1-xTB,verbosity=0", address, structure="learn.init.xyz")
    result = finish(start_lammps(settings + text, 2), tmp_path).check()
    assert re.search(r"^learned: 13 frames, 65 optimizer steps", result.output, re.MULTILINE)


def test_quantum_code_pyscf(address, client, start_lammps, tmp_path):
    """LDA of two hydrogen molecules by PySCF, which has no stress here: energy and forces. Both sides converge to 1e-9 Hartree,
    from other starts."""
    pytest.importorskip("pyscf.pbc", reason="pip install pyscf")
    from calculators import GammaLDA

    write_input(tmp_path, types=["H"])
    points = ((0.5, 0.5, 0.5), (0.9, 0.7, 1.1), (3.0, 3.0, 3.0), (3.7, 3.0, 3.2))
    atoms = "\n".join(["units metal", "atom_style atomic", "region box prism 0 6 0 6 0 6 0.5 -0.3 0.4", "create_box 1 box",
                       *(f"create_atoms 1 single {x} {y} {z}" for x, y, z in points), "mass 1 1.008", "timestep 0.0002",
                       "velocity all create 300 4711", ""])
    client("calculators.GammaLDA", address)
    run = start_lammps(learn(address, "virial no", atoms=atoms, pair="pair_style zero 5.0\npair_coeff * *", elements="H"), 2)
    finish(run, tmp_path).check()
    frames = list(frames_of(tmp_path / "socket", ("H",)))
    assert len(frames) == 3
    for configuration, label in frames:
        configuration.calc = GammaLDA()
        assert label["energy"].item() == pytest.approx(configuration.get_potential_energy(), abs=1e-6)
        assert np.abs(label["force"].reshape(-1, 3) - configuration.get_forces()).max() < 1e-4


ENDS = {"all ranks": "this_is_no_command", "input": "error", "first rank": "set atom 1 vx 1e300\nrun 5", "last rank": "set atom 64 vx 1e300\nrun 5",
        "quit": "quit 3"}


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("end", ENDS)
def test_no_socket_file_stays_after_an_error(end, ranks, address, lammps, tmp_path):
    """LAMMPS leaves without taking the run apart; also where one rank alone finds the error and all others are killed."""
    write_input(tmp_path)
    path = Path(f"/tmp/ipi_{address[5:]}")
    text = f"{ATOMS}{LJ}\nfix t all dptrain model input.json Si reference socket {address} end every 1000 warmup 9\n"
    result = lammps(text + f"fix n all nve\nreset_timestep 1\nrun 1\nshell ls {path}\n{ENDS[end]}\n", ranks)
    assert result.status != 0 and f"listening at {address}" in result.output
    assert f"{path}\n" in result.output  # it was there
    assert not path.exists()
