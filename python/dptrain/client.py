"""``dptrain client``: a calculator of ASE (https://ase-lib.org) labels the configurations of ``fix dptrain reference socket``.

The calculator computes energy, forces and stress; ASE's client of the i-PI protocol carries them to LAMMPS.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import select
import socket
import sys
import time
from pathlib import Path

import numpy as np

from dptrain import environments
from dptrain.calculators import NAMED, CalculatorError, identity, label, make_calculator

NOT_THERE = (errno.ENOENT, errno.ECONNREFUSED, errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EAGAIN)
PAUSE = 0.2  # seconds between two attempts
FILE_LATE = 10.0  # seconds after which a shared file system shows what another machine has written
HEADER = 12  # bytes of a message's name


class ClientError(Exception):
    """The client cannot go on; the text says why and what to do."""


def parse_address(text):
    """unix:NAME or [HOST]:PORT -> arguments of ASE's SocketClient."""
    kind, colon, rest = text.rpartition(":")
    if colon and kind == "unix" and rest:
        return {"unixsocket": rest}
    if colon and rest.isdecimal():
        return {"host": kind.strip("[]") or "localhost", "port": int(rest)}
    raise ClientError(f"--socket {text}: use the address of the fix, unix:NAME or HOST:PORT")


def change_atoms(atoms, text):
    """Gives `atoms` the elements and the periodicity of the next configuration, where the text of INIT names them."""
    try:
        atoms_data = json.loads(text)
    except ValueError:  # the texts of other servers may be anything
        return
    if not isinstance(atoms_data, dict) or "species" not in atoms_data:
        return
    if list(atoms.symbols) != atoms_data["species"]:
        del atoms[:]
        atoms.extend(type(atoms)(atoms_data["species"]))
    atoms.pbc = atoms_data["pbc"]


def make_client_class():
    """ASE is optional, so the class is made when it is needed."""
    from ase.calculators.socketio import SocketClient

    class Client(SocketClient):
        """ASE's client, which also says why there is no answer and how its work ended."""

        def __init__(self, **address):
            super().__init__(**address)
            self.calculator = ""  # what the server knows it by
            self.ended_by_server, self.calculations, self.failure = False, 0, ""
            self.atoms, self.initialized = None, False  # each configuration may have atoms of its own, as INIT says
            protocol, receive, send, init = self.protocol, self.protocol.recvmsg, self.protocol.sendforce, self.protocol.recvinit

            def recvmsg():
                message = receive()
                self.ended_by_server = message == "EXIT"
                if message == "STATUS" and self.state == "READY" and not self.initialized:
                    self.state = "NEEDINIT"
                return message

            def recvinit():
                bead, text = init()
                change_atoms(self.atoms, bytes(text))
                self.initialized = True
                return bead, text

            def sendforce(energy, forces, virial):
                extra = {"converged": False, "message": self.failure} if self.failure else {"calculator": self.calculator}
                self.initialized = False
                send(energy, forces, virial, np.frombuffer(json.dumps(extra).encode(), np.byte))

            protocol.recvmsg, protocol.sendforce, protocol.recvinit = recvmsg, sendforce, recvinit

        def first_message(self):
            """Waits until the server has sent something, and leaves it there; empty if the server is gone."""
            connection = self.protocol.socket
            select.select([connection], [], [])
            try:
                return connection.recv(HEADER, socket.MSG_PEEK).strip().decode("ascii", "replace")
            except OSError:
                return ""

        def calculate(self, atoms, use_stress):
            """A calculation that fails must not end the client: the next configuration may be a better one."""
            start, self.failure = time.monotonic(), ""
            try:
                result = label(atoms, use_stress)
            except Exception as error:  # calculators raise what they like
                self.failure = f"{type(error).__name__}: {error}"
                result = np.nan, np.full((len(atoms), 3), np.nan), np.full((3, 3), np.nan)
            self.calculations += 1
            seconds = time.monotonic() - start
            say(f"calculation {self.calculations}: " + (self.failure or f"{result[0]:.6f} eV") + f", {seconds:.2f} s")
            return result

    return Client


def say(text):
    print(f"dptrain client: {text}", flush=True)


def read_structure(path):
    """The atoms in the file, which the fix has written before its first request."""
    from ase.io import read

    deadline = time.monotonic() + FILE_LATE
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            there = sorted(str(other) for other in Path(path).parent.glob("*.init.xyz"))
            raise ClientError(f"there is no file {path}{', but ' + ', '.join(there) if there else ''}: name ID.init.xyz of the fix with "
                              "name ID, in the folder of the run")
        time.sleep(PAUSE)
    try:
        atoms = read(path, format="extxyz")
    except Exception as error:
        raise ClientError(f"{path} cannot be read as extended XYZ: {error}. Use ID.init.xyz of the fix") from error
    for key in atoms.info:  # ASE knows these keys in one case only, and takes a crystal for a molecule
        if key.lower() in ("lattice", "properties", "pbc"):
            raise ClientError(f"{path} has the key {key}, which is not read: write Lattice, Properties, pbc. Use ID.init.xyz of the fix")
    return atoms


def connect(client_class, address, deadline):
    """A client that is connected; waits until somebody listens. None when the time is over."""
    while True:
        try:
            return client_class(**address)
        except OSError as error:
            if error.errno not in NOT_THERE:
                raise ClientError(f"no connection: {error}. Check the address and the permissions") from error
        if time.monotonic() > deadline:
            return None
        time.sleep(PAUSE)


def serve(client, atoms, stress):
    """Answers until the connection ends. Returns True if the server has said that it is the end."""
    client.atoms = atoms
    try:
        client.run(atoms, use_stress=stress)
    except ValueError as error:  # numpy: other number of positions
        raise ClientError(f"the configuration of LAMMPS does not fit the {len(atoms)} atoms of the file: {error}. Use ID.init.xyz of this "
                          "very run") from error
    except OSError as error:
        say(f"connection lost: {error}")
    return client.ended_by_server


def parser():
    made = argparse.ArgumentParser(
        prog="dptrain client", allow_abbrev=False, description="Computes the labels of fix dptrain reference socket with a calculator of ASE.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples\n  dptrain client --calculator tblite:method=GFN1-xTB --socket unix:water learn.init.xyz\n"
               "  dptrain client --calculator ase.calculators.lj.LennardJones:sigma=3.4,epsilon=0.01,rc=8.5 \\\n"
               "      --socket node7:31415 learn.init.xyz")
    made.add_argument("structure", metavar="ID.init.xyz", help="file that the fix writes: elements, box, periodicity")
    made.add_argument("--calculator", required=True, metavar="NAME[:key=value,...]",
                      help=f"a name of ASE's, {', '.join(NAMED)} (also NAME:MODEL), or MODULE.CLASS; with its arguments")
    environments.add_arguments(made)
    made.add_argument("--socket", required=True, metavar="ADDRESS", help="address of the fix: unix:NAME or HOST:PORT")
    made.add_argument("--directory", metavar="DIR", help="where the calculator writes its files (default: as the calculator does it)")
    made.add_argument("--no-stress", action="store_true", help="do not compute the stress (the fix then needs 'virial no')")
    made.add_argument("--wait", type=float, metavar="SECONDS", default=float("inf"),
                      help="wait for LAMMPS at most so long, at the start and after a connection was lost (default: for ever)")
    return made


def work(options):
    """Until LAMMPS says that it is the end, or does not come (back) in time."""
    calculator = make_calculator(options.calculator)
    if options.directory:
        Path(options.directory).mkdir(parents=True, exist_ok=True)
        calculator.directory = options.directory
    address = parse_address(options.socket)
    try:
        client_class = make_client_class()
    except ImportError as error:
        raise ClientError(f"ASE is missing: install it with pip install ase ({error})") from error
    stress_known = "stress" in getattr(calculator, "implemented_properties", ["stress"])
    say(f"waiting for LAMMPS at {options.socket}")
    while True:
        deadline = time.monotonic() + options.wait
        client = connect(client_class, address, deadline)
        if client is None:
            raise ClientError(f"nobody listens at {options.socket} since {options.wait:g} s: start LAMMPS, or give a longer --wait")
        client.calculator = identity(options.calculator)
        say(f"connected to {options.socket}")
        message = client.first_message()  # the file of this run is there by then, not that of one before
        if message in ("", "EXIT"):
            client.close()
            if message:
                return
            time.sleep(PAUSE)
            continue
        atoms = read_structure(options.structure)
        atoms.calc = calculator
        stress = any(atoms.pbc) and stress_known and not options.no_stress
        if any(atoms.pbc) and not stress:
            say("no stress is computed: give the socket of the fix 'virial no'")
        if serve(client, atoms, stress):
            say(f"the end after {client.calculations} calculations")
            return
        say("LAMMPS is gone; waiting for it")
        time.sleep(PAUSE)


def main(words):
    """Entry point of `dptrain client`. Returns the exit status."""
    try:
        environments.enter("client", words)
        work(parser().parse_args(words))
    except (ClientError, CalculatorError, environments.PythonError) as error:
        print(f"dptrain client: error: {error}", file=sys.stderr)
        return 1
    except SystemExit as end:
        return end.code
    return 0
