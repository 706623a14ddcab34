"""tools/gpu-kit's own logic: the generated data, which libraries and programs go into it, the archive."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from gpucheck import plan  # noqa: E402
from gpukit import cases, main, pack, water  # noqa: E402


def test_bad_input_has_one_message_before_anything_is_built(tmp_path, capsys):
    assert main.main(["--kokkos", "/nonexistent", "--build", str(tmp_path / "build")]) == 1
    assert "--kokkos /nonexistent is no source tree of Kokkos" in capsys.readouterr().err
    assert not (tmp_path / "build").exists()
    with pytest.raises(SystemExit):
        main.main(["--kokkos", str(tmp_path), "--arch", "sm_60"])
    assert "sm_75" in capsys.readouterr().err
    kokkos = tmp_path / "kokkos"
    (kokkos / "core" / "src").mkdir(parents=True)
    for name in ("core/src/Kokkos_Core.hpp", "CMakeLists.txt"):
        (kokkos / name).touch()
    assert main.main(["--kokkos", str(kokkos), "--lammps", "/nonexistent", "--build", str(tmp_path / "build")]) == 1
    assert "--lammps /nonexistent is no source tree of LAMMPS: src/KOKKOS is missing" in capsys.readouterr().err
    assert not (tmp_path / "build").exists()


def test_one_kit_at_a_time_in_a_folder(tmp_path):
    with main.lock(tmp_path):
        with pytest.raises(cases.KitError, match="another gpu-kit works in"):
            main.lock(tmp_path)
    main.lock(tmp_path).close()
    with pytest.raises(cases.KitError, match="cannot be written"):
        main.lock(Path("/dev/null/build"))


def test_the_version_of_kokkos_is_read(tmp_path):
    (tmp_path / "core" / "src").mkdir(parents=True)
    (tmp_path / "core" / "src" / "Kokkos_Core.hpp").touch()
    (tmp_path / "CMakeLists.txt").write_text("set(Kokkos_VERSION_MAJOR 4)\nset(Kokkos_VERSION_MINOR 7)\nset(Kokkos_VERSION_PATCH 1)\n")
    assert main.kokkos_version(tmp_path) == "4.7.1"


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    return water.write_system(tmp_path_factory.mktemp("water"))


def test_the_cell_is_water(frame):
    coord, types = frame
    mass = sum(water.MASSES[t] for t in types) * 1.66054  # g / 1e24
    assert len(coord) == 192 and mass / water.EDGE**3 == pytest.approx(0.998, abs=0.003)
    distance = np.linalg.norm(water.nearest(coord[:, None] - coord[None]), axis=-1)
    np.fill_diagonal(distance, np.inf)
    molecule = np.arange(192) // 3
    inside = distance[molecule[:, None] == molecule[None]]
    assert np.sort(inside[np.isfinite(inside)])[:4] == pytest.approx(water.BOND)
    assert distance[molecule[:, None] != molecule[None]].min() > 1.2


def test_labels_are_derivatives(frame):
    """Central differences of the energy err by 1e-9 of it."""
    coord, types = frame
    energy, force, virial = water.labels(coord, types)
    step = 1e-5
    for atom, axis in [(0, 0), (5, 1), (191, 2)]:
        moved = [coord.copy(), coord.copy()]
        for sign, where in zip((1, -1), moved):
            where[atom, axis] += sign * step
        up, down = (water.labels(where, types)[0] for where in moved)
        assert force[atom, axis] == pytest.approx(-(up - down) / (2 * step), abs=1e-6)
    assert np.abs(force.sum(0)).max() < 1e-12 * abs(energy)
    assert virial == pytest.approx(virial.T, abs=1e-12 * abs(energy))


def test_the_same_system_comes_out_each_time(frame, tmp_path):
    assert (water.write_system(tmp_path)[0] == frame[0]).all()
    assert np.load(tmp_path / "set.000" / "force.npy").shape == (water.FRAMES, 3 * 192)


def test_inputs_of_the_nets():
    trees = {name: cases.input_of(name) for name in cases.NETS}
    spectrum = trees.pop("spectrum")
    assert spectrum["model"] == {"type_map": ["O", "H"], "descriptor": {"type": "power_spectrum", "seed": 1}, "fitting_net": {"seed": 1}}
    assert [tree["model"]["descriptor"]["type_one_side"] for tree in trees.values()] == [True, True, False]
    assert trees["standard"]["model"]["fitting_net"]["neuron"] == [240, 240, 240]


@pytest.mark.parametrize("name, of_the_machine", [
    ("libc.so.6", True), ("libstdc++.so.6", True), ("ld-linux-x86-64.so.2", True), ("libcuda.so.1", True), ("libcudart.so.13", True),
    ("libcublasLt.so.13", True), ("libnccl.so.2", True), ("libtorch_cpu.so", True), ("libc10_cuda.so", True), ("libcusparseLt.so.0", True),
    ("libcurl.so.4", False), ("libcrypto.so.3", False), ("libcom_err.so.2", False), ("libnettle.so.8", False), ("libmpi.so.12", False),
    ("libhdf5_serial.so.103", False), ("libnghttp2.so.14", False), ("libz.so.1", False)])
def test_which_libraries_are_the_machines(name, of_the_machine):
    assert bool(pack.SYSTEM.match(name)) == of_the_machine


def test_libraries_that_a_program_needs():
    found = pack.needed(sys.executable, "")
    assert found and all(path is None or path.exists() for path in found.values())


def test_the_archive_unpacks_anywhere(tmp_path):
    kit = tmp_path / "gpu-kit"
    (kit / "bin").mkdir(parents=True)
    (kit / "bin" / "lmp").write_text(pack.LMP)
    (kit / "bin" / "lmp").chmod(0o755)
    (kit / "lammps").mkdir()
    (kit / "lammps" / "lmp").write_text("#!/bin/sh\necho libraries $LD_LIBRARY_PATH words $@\n")
    (kit / "lammps" / "lmp").chmod(0o755)
    assert 0 < pack.archive(kit, tmp_path / "kit.tar.xz") < 10_000
    assert dict(pack.sizes(kit))["bin"] == len(pack.LMP)
    with tarfile.open(tmp_path / "kit.tar.xz") as file:
        assert {entry.uid for entry in file.getmembers()} == {0}
        file.extractall(tmp_path / "other")
    done = subprocess.run([tmp_path / "other" / "gpu-kit" / "bin" / "lmp", "-in", "x"], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "DPTRAIN_KIT_LIBRARIES": "/a:/b"})
    assert done.stdout == "libraries /a:/b words -in x\n"


def test_lammps_with_kokkos_is_beside_the_other(tmp_path):
    """Its mpiexec is that of the kit, which looks for its helpers where it lies."""
    pack.write_script(tmp_path / "build" / "lmp", "#!/bin/sh\necho with kokkos $LD_LIBRARY_PATH $@\n")
    pack.write_script(tmp_path / "gpu-kit" / "bin" / "mpiexec", "#!/bin/sh\necho $0 $@\n")
    pack.copy_kokkos_lammps(tmp_path / "gpu-kit", tmp_path / "build")
    folder = tmp_path / "gpu-kit" / "kokkos" / "bin"
    outputs = [subprocess.run([folder / name, "-n", "2"], capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "DPTRAIN_KIT_LIBRARIES": "/a"}).stdout for name in ("lmp", "mpiexec")]
    assert outputs[0] == "with kokkos /a -n 2\n"
    assert Path(outputs[1].split()[0]).resolve() == tmp_path / "gpu-kit" / "bin" / "mpiexec" and outputs[1].endswith(" -n 2\n")


def test_programs_of_sources_that_are_gone_are_left_out(tmp_path):
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "test_layer.cpp").touch()
    for name in ("test_layer", "test_gone"):
        pack.copy(Path("/bin/true"), tmp_path / "build" / "unittest" / "lib" / name)
    assert [path.name for path in pack.test_programs(tmp_path / "build", tmp_path / "sources")] == ["test_layer"]
    assert {f"test_{name}" for name in plan.KERNELS} <= {path.name for path in pack.test_programs(tmp_path)}


def test_one_program_has_the_names_of_all_test_files(tmp_path):
    """The kit has the program once; it knows by its name which tests to run."""
    build, kit = tmp_path / "build", tmp_path / "kit"
    pack.copy(Path("/bin/true"), build / "dptrain_tests")
    pack.copy(Path("/bin/true"), build / "test_alone")
    for name in ("test_layer", "test_table"):
        (build / name).symlink_to("dptrain_tests")
    pack.copy_tests(kit, [build / name for name in ("test_alone", "test_layer", "test_missing", "test_table")])
    assert {path.name: path.is_symlink() for path in (kit / "bin").iterdir()} == {
        "dptrain_tests": False, "test_alone": False, "test_layer": True, "test_table": True}
    assert dict(pack.sizes(kit))["bin"] == 2 * Path("/bin/true").stat().st_size
    (kit / "bin" / "dptrain_tests").write_text("#!/bin/sh\necho ${0##*/}\n")
    assert subprocess.run([kit / "bin" / "test_table"], capture_output=True, text=True).stdout == "test_table\n"


def test_the_commit_says_whether_files_have_changed(tmp_path):
    def git(*words):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "file").write_text("one")
    git("init")
    git("add", "file")
    git("commit", "-m", "first")
    git("tag", "v1")
    clean = main.commit_of(tmp_path)
    assert len(clean) == 40
    (tmp_path / "file").write_text("two")
    assert main.commit_of(tmp_path) == clean + "-dirty"


def test_a_large_archive_has_one_message(tmp_path, monkeypatch):
    monkeypatch.setattr(main, "Machine", lambda: SimpleNamespace(environment=lambda **_: {}, library_path=lambda *_: ""))
    monkeypatch.setattr(main, "timed", lambda what, work: 61 << 20)
    monkeypatch.setattr(main, "kokkos_version", lambda _: "4.7.1")
    args = main.parser().parse_args(["--kokkos", ".", "--build", str(tmp_path)])
    with pytest.raises(cases.KitError, match=r"the archive has 61.0 MiB, more than 60: leave out the larger cases \(unset DPTRAIN_SHARED\)"):
        (tmp_path / "gpu-kit").mkdir()
        main.make(args)


def test_cuda_build_takes_a_kokkos_without_all_folders(tmp_path):
    """It comes as far as compiling; the programs it calls are scripts."""
    kokkos, torch, build = tmp_path / "kokkos", tmp_path / "torch", tmp_path / "build"
    for path in (kokkos / "core" / "src" / "Cuda" / "a.cpp", torch / "lib" / "libtorch_cuda.so", torch / "lib" / "libc10_cuda.so"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (torch / "version.py").write_text("cuda: str = '13.0'\n")
    scripts = {kokkos / "bin" / "kokkos_launch_compiler": "", tmp_path / "bin" / "nvcc": "echo release 13.0, V13",
               tmp_path / "bin" / "python3": f"echo {torch}", tmp_path / "bin" / "cmake": "echo Error: of the compiler; exit 1"}
    for path, script in scripts.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    done = subprocess.run([main.ROOT / "tools" / "cuda-build", "--kokkos", kokkos, "--build", build], capture_output=True, text=True,
                          env={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "DPTRAIN_VENV": str(tmp_path)})
    assert done.returncode == 1 and "does not compile with CUDA 13.0" in done.stderr and "Error: of the compiler" in done.stderr


def test_without_kokkos_there_is_one_message(capsys):
    with pytest.raises(SystemExit):
        main.main([])
    assert "--kokkos" in capsys.readouterr().err


def test_tests_of_the_styles_have_what_they_import():
    """A file that is missing in the kit is seen only where the GPU is."""
    folder = cases.ROOT / "unittest" / "lammps"
    own = {path.stem for path in folder.glob("*.py")}
    for name in pack.LAMMPS_FILES:
        imported = set(re.findall(r"^(?:from|import) (\w+)", (folder / name).read_text(), re.M)) if name.endswith(".py") else set()
        assert {f"{module}.py" for module in imported & own} <= set(pack.LAMMPS_FILES), name
