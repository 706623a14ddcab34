"""The tutorials of the manual: every code block of a page is run, in order (tutorial.py tells how), and what the page claims is
checked. A potential that has learned nothing has a force error of 100 %; bounds leave a factor of two or more to what the pages say."""

import os
import re
import socket
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.io import read
from tutorial import MANUAL, PageError, Tutorial, blocks, check
from vasp_files import ml_ab, vasprun

from environment import SEVENN, make_environment  # noqa: E402; tutorial has the path
from lammps_runner import Result  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]

# inputs of programs that are not here, which nobody runs: page -> name -> reason
FOREIGN = {}
# what the example of the page runs, so that the page itself need not be run
ELSEWHERE = {"Tutorial_active.rst": "examples/active_water, by unittest/lammps/test_examples.py"}


@pytest.fixture
def tutorial(tmp_path):
    """Function: page (and further environment variables) -> the Tutorial that has been run."""
    return lambda page, **variables: Tutorial(page, tmp_path, FOREIGN.get(page, {})).run(**variables)


def test_each_page_is_run():
    """A page without a test below is an error, and so is an entry of FOREIGN that no page has any more."""
    tests = {"Tutorial_" + name.removeprefix("test_page_") + ".rst" for name in globals() if name.startswith("test_page_")}
    assert tests | set(ELSEWHERE) == {path.name for path in MANUAL.glob("Tutorial_*.rst")}
    for page, names in FOREIGN.items():
        found = {block.caption for block in blocks((MANUAL / page).read_text()) if block.language == "text"}
        assert found == set(names)


@pytest.mark.parametrize("text, message", [
    (".. code-block:: LAMMPS\n\n   run 0\n", "needs the name of its file"),
    (".. code-block:: text\n   :caption: INCAR\n\n   ISYM = 0\n", "INCAR is not run"),
    ("* a list\n\n  .. code-block:: fortran\n\n     end\n", "a block of language 'fortran'"),
    (".. literalinclude:: in.file\n   :language: LAMMPS\n", "a block of language 'in.file'"),
    (".. code-block:: json\n   :caption: a\n\n   1\n\n.. code-block:: json\n   :caption: a\n\n   2\n", "a name of its own"),
])
def test_a_block_that_nobody_runs_is_an_error(text, message):
    with pytest.raises(PageError, match=message):
        check("page.rst", blocks(text), {})


def test_blocks_are_what_the_reader_sees():
    """Without the margin, up to the next line of the page; output is no block."""
    text = "Say::\n\n   no block\n\n.. code-block:: bash\n   :caption: a\n\n   if true\n\n     then\n\nText\n\n- .. code-block:: bash\n\n     echo\n"
    assert [(b.language, b.caption, b.text) for b in blocks(text)] == [("bash", "a", "if true\n\n  then\n"), ("bash", "", "echo\n")]


FORCE = r"^Force  RMSE        : (\S+) eV"  # of dptrain test


def thermo(page, log):
    """Columns of the thermodynamic output in a log."""
    return Result(page.folder, 0, (page.folder / log).read_text()).thermo()


@pytest.mark.story("tutorial")
def test_page_silicon(tutorial):
    """Learned, tested, run, and learned again in mode active from far fewer labels."""
    page = tutorial("Tutorial_silicon.rst")
    passive, active = (page.number(r"= (\S+) % of the rms force", which) for which in (0, 1))
    assert passive < 3 and active < 6
    assert page.number(r"^Fix dptrain learn: 6000 steps, (\d+) reference calls") < 100
    energies = thermo(page, "log.run")["TotEng"]
    assert np.ptp(energies[1:]) / 512 < 3e-4  # eV/atom, after the first steps at 6000 K
    squeezed = thermo(page, "log.squeeze")["c_worst"]
    assert squeezed[-1] > 10 * squeezed[0]  # the crystal that it knows, and one of half the volume
    assert all((page.folder / name).stat().st_size > 10000 for name in ("lcurve.png", "parity.png", "active.png"))


@pytest.mark.story("tutorial")
def test_page_dft_code(tutorial):
    """Labels by ASE's client, by the client of the page, by files, and by two clients at a time."""
    page = tutorial("Tutorial_dft_code.rst")
    socket_model, spool_model = page.numbers(FORCE)[::2]  # of the system; and once more, of all systems together
    assert socket_model < 0.02 and spool_model < 0.04  # eV/A, of 0.65
    # eleven of the first run, eleven of the client of the page; rarely more, where atoms come closer than ever before
    assert 22 <= thermo(page, "log.own")["frames"][-1] < 30
    assert len(list((page.folder / "requests").glob("*/answer.xyz"))) > 10
    waits, flight = page.numbers(r"^Fix dptrain learn: .* (\d+) reference calls")[-2:]
    assert flight < 0.6 * waits


@pytest.mark.story("tutorial")
def test_page_from_deepmd(tutorial):
    """Trainings from DeePMD-kit's input, the models in MD, and active learning that goes on from one of them."""
    page = tutorial("Tutorial_from_deepmd.rst")
    adam, soap, power, active = page.numbers(FORCE)[::2]
    assert power < 0.7 * soap < 0.5 * adam
    assert active < 0.05  # eV/A: of a rms force of 0.9
    assert page.number(r"^Fix dptrain learn: 2000 steps, (\d+) reference calls") < 60
    energies = thermo(page, "log.run")["TotEng"]
    assert np.ptp(energies[1:]) / 256 < 1e-4  # eV/atom


@pytest.mark.story("tutorial")
def test_page_from_gpumd(tutorial):
    """A potential from train.xyz by a nep.in, in MD on two ranks, and fine-tuned to another one in a run, as a nep.txt again."""
    page = tutorial("Tutorial_from_gpumd.rst")
    assert page.numbers(FORCE)[0] < 0.1  # eV/A, of a rms force of 1.8
    energies = thermo(page, "log.run")["TotEng"]
    assert np.ptp(energies) / 512 < 1e-3  # eV/atom
    assert 60 <= page.numbers(r"Force error bars +: promised 90 %, found (\d+) %")[-1] <= 99  # of a nep.txt, by bars.json
    assert (page.folder / "tuned.txt").read_text().startswith("nep4 1 Si")


def pretrained_archive(folder):
    """pretrained.pth for silicon, which the reader of the page has: made by DeePMD-kit where that is here, otherwise the small
    TorchScript model of the tests, with other names of its elements."""
    target, deepmd = folder / "pretrained.pth", os.environ.get("DPTRAIN_DEEPMD")
    if deepmd:
        subprocess.run([Path(deepmd).with_name("python"), ROOT / "examples" / "fine_tune" / "make_model.py", target], check=True)
        return
    program = Path(os.environ.get("DPTRAIN_BUILD", ROOT / "build")) / "unittest/lib/write_script_toy"
    toy = folder / "toy.pth"
    subprocess.run([program, toy], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    with zipfile.ZipFile(toy) as source, zipfile.ZipFile(target, "w") as written:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith("toy.py"):
                content = re.sub(rb'(\\?")A(\\?")', rb"\1Si\2", content)
            written.writestr(name, content)


@pytest.mark.story("tutorial")
def test_page_fine_tune(tutorial, tmp_path):
    """Fine-tuned potentials are better than the one that they come from, but not in the melt."""
    pretrained_archive(tmp_path)
    page = tutorial("Tutorial_fine_tune.rst")
    before, tuned, fresh, *melt, frozen, last, pretrained, pth = page.numbers(FORCE)[::2]
    assert max(tuned, fresh, frozen, last) < 0.3 * before
    assert melt[0] < 1.1 * min(melt[1:])
    assert pth < pretrained if os.environ.get("DPTRAIN_DEEPMD") else pth != pretrained  # the small model cannot learn much


@pytest.mark.story("tutorial")
def test_page_many_nodes(tutorial):
    """Job scripts with few ranks: one run, partitions, clients at a port, and a run in pieces."""
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    page = tutorial("Tutorial_many_nodes.rst", PORT=str(port))
    assert "space for frames of 216 atoms" in page.output
    said = re.findall(r"^at (\d+) K: (.*)", page.output, re.MULTILINE)
    assert [temperature for temperature, _ in said] == ["300", "1500"] and said[0][1] == said[1][1]
    assert all(calls > 0 for calls in page.numbers(r"the end after (\d+) calculations"))
    done, further = page.numbers(r"^Fix dptrain learn: (\d+) steps")
    frames = page.numbers(r"^Fix dptrain learn: \d+ steps, .* (\d+) frames")
    assert done > 0 and further > 0 and frames[1] >= frames[0]  # the second job knows the labels of the first one
    assert thermo(page, sorted(page.folder.glob("log.long.*"))[1].name)["Step"][0] == done


@pytest.mark.story("tutorial")
def test_page_from_foundation_model(tutorial, tmp_path):
    """A salt under the name of the foundation model, in an environment of its own, is learned, tested, and run in a large box."""
    make_environment(tmp_path / "teacher", sevenn__calculator=SEVENN)
    page = tutorial("Tutorial_from_foundation_model.rst")
    own = page.number(r"its\s+force\s+error\s+is\s+(\S+)\s+%")
    assert own < 15 and page.numbers(FORCE)[0] < 0.1  # eV/A
    assert "for 25 steps with 40000 atoms" in page.output
    assert (tmp_path / "learned" / "learn.png").stat().st_size > 10000


def copper_frames(number, seed):
    """Configurations of hot copper with ASE's effective medium theory."""
    atoms = bulk("Cu", a=3.61, cubic=True).repeat(2)
    frames = []
    for k in range(number):
        frames.append(atoms.copy())
        frames[-1].rattle(0.12, seed=seed + k)
        frames[-1].calc = EMT()
    return frames


@pytest.mark.story("tutorial")
def test_page_from_vasp(tutorial, tmp_path):
    """Labels by ASE's Vasp calculator, vasprun.xml and ML_AB as data, and a potential of all of them."""
    (tmp_path / "vasprun.xml").write_text(vasprun(copper_frames(12, 1)))
    (tmp_path / "ML_AB").write_text(ml_ab(copper_frames(8, 100)))
    (tmp_path / "potpaw_PBE" / "Cu").mkdir(parents=True)
    (tmp_path / "potpaw_PBE" / "Cu" / "POTCAR").write_text("stand-in\n")
    page = tutorial("Tutorial_from_vasp.rst", VASP_PP_PATH=str(tmp_path), ASE_VASP_COMMAND="vasp_std")
    assert page.numbers(FORCE)[0] < 0.05  # eV/A
    for source, frames in (("md.extxyz", copper_frames(12, 1)), ("mlab.extxyz", copper_frames(8, 100))):
        for found, given in zip(read(tmp_path / source, ":"), frames, strict=True):
            assert found.get_potential_energy() == pytest.approx(given.get_potential_energy(), abs=1e-9)
            assert np.allclose(found.get_forces(), given.get_forces(), atol=1e-7)  # ASE writes eight digits
            assert np.allclose(found.get_stress(), given.get_stress(), atol=1e-10)
    answers = [read(path) for path in (tmp_path / "requests").glob("*/answer.xyz")]
    assert len(answers) > 8
    for answer in answers[:3]:
        forces = answer.get_forces()
        answer.calc = EMT()
        assert np.allclose(answer.get_forces(), forces, atol=1e-6)
