"""What is said about kernels without a GPU: compilers' messages, occupancy, the forecast, and the messages of the build."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from dpbench import gpu, gpu_forecast, gpu_kernels, kernels  # noqa: E402
from dpbench.gpu_forecast import H100, H200, Model, Work, forecast  # noqa: E402
from dpbench.gpu_kernels import Kernel  # noqa: E402

PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'void Kokkos::Impl::cuda_parallel_launch_local_memory<Kokkos::Impl::ParallelFor<dptrain::\
kernels::SharedLoop<_INTERNAL_31e41fcc_15_contraction_cpp_93ea6baa_398::dptrain::kernels::(anonymous namespace)::reverse_kernel<\
double, 0>(dptrain::kernels::Contraction<double> const&, double const*)::{lambda(Kokkos::Impl::CudaTeamMember const&, int, int, \
char*)#1}>, Kokkos::TeamPolicy<Kokkos::Cuda>, Kokkos::Cuda> >(Kokkos::Impl::ParallelFor<int>)' for 'sm_90'
ptxas info    : Function properties for void Kokkos::Impl::cuda_parallel_launch_local_memory<int>
    256 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 256 bytes cumulative stack size, 48 bytes smem
ptxas info    : Compiling entry function 'void Kokkos::Impl::cuda_parallel_launch_local_memory<Kokkos::Impl::ParallelFor<_INTERNAL_8c_9_\
layer_cpp_93ea_1980::dptrain::kernels::(anonymous namespace)::for_all<_INTERNAL_8c_9_layer_cpp_93ea_1980::dptrain::kernels::\
(anonymous namespace)::Convert<float, double> >(char const*, long)::{lambda(Kokkos::Impl::CudaTeamMember const&)#1}, Kokkos::\
TeamPolicy<Kokkos::Cuda>, Kokkos::Cuda> >(int)' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 22 registers, used 1 barriers, 8 bytes smem
ptxas info    : Compiling entry function 'void Kokkos::Impl::cuda_parallel_launch_local_memory<Kokkos::Impl::ParallelFor<_INTERNAL_3f_19_\
neighbor_search_cpp_ddd7::dptrain::(anonymous namespace)::find_rows(dptrain::Cells const&, int)::{lambda(int)#1}, \
Kokkos::RangePolicy<Kokkos::Cuda>, Kokkos::Cuda> >(int)' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
ptxas info    : Compiling entry function 'void Kokkos::Impl::cuda_parallel_launch_local_memory<Kokkos::Impl::ParallelFor<\
Kokkos::Impl::ViewValueFunctor<int>, Kokkos::RangePolicy<Kokkos::Cuda>, Kokkos::Cuda> >(int)' for 'sm_90'
ptxas info    : Used 4 registers, used 0 barriers
"""


def test_kernels_are_known_by_the_names_of_their_launches():
    found = gpu_kernels.kernels(PTXAS)
    assert [(k.name, k.precision, k.team) for k in found] == [
        ("contraction_reverse", "float64", True), ("convert", "float32", True), ("find_rows", "", False)]
    assert (found[0].registers, found[0].stack, found[0].spill_stores, found[0].spill_loads, found[0].shared) == (128, 256, 12, 16, 48)
    assert [k.spills for k in found] == [28, 0, 0]
    assert [k.registers for k in found] == [128, 22, 40]  # nothing of Kokkos' own kernel


def test_every_kernel_of_a_step_is_launched_under_its_name():
    names = set(gpu_kernels.launch_names().values())
    missing = set(gpu_kernels.MD_STEP + gpu_kernels.TRAINING_STEP) - names
    assert not missing


def test_warnings_are_counted_where_they_come_from(tmp_path):
    text = "\n".join([f"{ROOT}/lib/dptrain/src/neighbor/cell_grid.h(40): warning #20014-D: calling a __host__ function",
                      "/usr/include/Kokkos_View.hpp(12): warning: variable is unused",
                      f"{tmp_path}/other.cpp:3:7: warning: unused variable 'a' [-Wunused-variable]",
                      "ptxas warning : Stack size for entry function '_Z7dptrainv' cannot be statically determined",
                      "ptxas info    : Used 4 registers"])
    found = gpu_kernels.warnings(text)
    assert [(Path(file).name, line) for file, line, _ in found] == [("cell_grid.h", 40), ("Kokkos_View.hpp", 12), ("other.cpp", 3), ("", 0)]
    assert found[0][2] == "calling a __host__ function"
    assert [gpu_kernels.of_this_project(w) for w in found] == [True, False, False, True]
    assert gpu_kernels.of_this_project(("../lib/dptrain/src/a.cpp", 1, ""), folder=ROOT / "build-cuda")


@pytest.mark.parametrize("registers, scratch, share, limit", [
    (32, 0, 1.0, "threads"),
    (33, 0, 0.75, "registers"),  # 40 of 33: allocated in steps of 8, in warps of four schedulers
    (128, 28288, 0.25, "registers"),
    (40, 28288, 7 / 16, "shared memory"),
    (128, 40000, 0.25, "registers"),  # too much for an SM: in global memory
])
def test_occupancy(registers, scratch, share, limit):
    kernel = Kernel("any", "float64", registers, shared=16)
    assert gpu_kernels.occupancy(kernel, scratch) == (pytest.approx(share), limit)


def test_scratch_memory_is_that_of_the_sources(tmp_path):
    header = tmp_path / "edge_block.h"
    header.write_text("enum Columns { VALUE = 10, REVERSE = 2 * rows + 3 + sums };")
    assert gpu_kernels.block_columns(header) == {"VALUE": 10, "REVERSE": 15}
    columns = gpu_kernels.block_columns()
    assert columns == {"VALUE": 10, "REVERSE": 24, "TANGENT": 21}  # numbers of an edge with four rows
    for precision, real in (("float64", 8), ("float32", 4)):
        for neighbors, size in ((96, 96), (97, 112)):
            kernel = Kernel("contraction_reverse", precision)
            assert gpu_kernels.scratch_bytes(kernel, neighbors) == size * (columns["REVERSE"] * real + 4) + 64
    assert gpu_kernels.scratch_bytes(Kernel("gather_edges", "float32"), 100) == 104 * 33 + 64
    for name in ("gram_reverse", "gram_jvp_reverse"):  # 100 channels, 16 of the axis, rows of 17 numbers
        assert [gpu_kernels.scratch_bytes(Kernel(name, p), 100) for p in ("float64", "float32")] == [100 * 17 * 8 + 64, 100 * 17 * 4 + 64]
        assert gpu_kernels.scratch_bytes(Kernel(name, "float64"), 100, "small") == 25 * 9 * 8 + 64
    assert gpu_kernels.scratch_bytes(Kernel("layer_value", "float64"), 100) == 0


def arguments_of_call(text, begin):
    """The arguments of a call whose bracket is before text[begin], as far as they are found: a lambda's body may end them."""
    found, depth = [""], 0
    for c in text[begin:]:
        depth += (c in "([{") - (c in ")]}")
        if depth < 0:
            break
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    return [" ".join(argument.split()) for argument in found]


def kernels_with_scratch(sources):
    """Names of the kernels that ask for scratch memory: one_team_each(n, bytes), launch_shared(name, n, copies, bytes, f)."""
    found = set()
    for path in gpu_kernels.kernel_sources(sources):
        text = path.read_text()
        for call in re.finditer(r"\b(one_team_each|launch_shared)\(", text):
            arguments = arguments_of_call(text, call.end())
            asks = len(arguments) > 1 if call.group(1) == "one_team_each" else arguments[3] != "0"
            name = re.findall(r'"dptrain::(\w+)"', text[:call.end()] if call.group(1) == "one_team_each" else arguments[0])
            if asks:
                assert name, f"{path}: {call.group(0)} asks for scratch memory, but its kernel has no name"
                found.add(name[-1])
    return found


def test_all_kernels_with_scratch_memory_are_known():
    assert kernels_with_scratch(gpu_kernels.LIBRARY) == gpu_kernels.WITH_SCRATCH
    for name in gpu_kernels.WITH_SCRATCH:
        assert gpu_kernels.scratch_bytes(Kernel(name, "float64"), 100) > 0


def test_a_new_kernel_with_scratch_memory_is_noticed(tmp_path):
    (tmp_path / "a.cpp").write_text('launch("dptrain::plain", one_team_each(size(n, 2)), f);\n'
                                    'launch(\n"dptrain::own", kernels::one_team_each((n + 1) / 2, bytes(n)), f);\n'
                                    'launch_shared("dptrain::sums", n, copies, 0, f);\n'
                                    'launch_shared(\n"dptrain::shared", n, copies, size(1, 2), f);\n')
    assert kernels_with_scratch(tmp_path) == {"own", "shared"}


def test_table_has_one_row_for_both_precisions():
    rows = [Kernel("contraction_value", "float64", 56), Kernel("contraction_value", "float32", 40), Kernel("layer_value", "float64", 22)]
    text = gpu_kernels.markdown(rows, 144)
    assert "| contraction_value | 56 / 40 |" in text and "56 % / 75 % | registers |" in text
    assert "Nothing limits the others of a step (layer_value): at most 22 registers" in text


@pytest.mark.parametrize("net", ["standard", "small"])
def test_products_of_the_forecast_are_those_of_the_fitting_net(net):
    # forward and reverse: two multiplications of each layer for each atom (kernels.fitting_flops: operations of one)
    flops = sum(w.flops for w in gpu_forecast.md_step(Model(net), 300) if w.product)
    assert flops == pytest.approx(300 * 2 * kernels.fitting_flops(net))


def test_launches_of_the_forecast_are_those_of_the_performance_guard():
    # unittest/lib/test_performance_guard.cpp for three layers of the fitting net and two of an embedding net: 15 kernels
    # in pass A and 16 in pass B of a chunk, 6 and 5 for a table; one more of each layer here; neighbors are searched
    md, train = forecast(H100, Model(), 192, False), forecast(H100, Model(), 192, True)
    assert md.kernels == 5 + 2 * (15 + 3 + 1)
    assert md.products == 2 * 8
    assert train.kernels == 5 + 2 * (15 + 3 + 1) + 2 * (16 + 4) + 2 * (6 + 2 + 5 + 2)
    assert train.products == 2 * (8 + 12 + 4) + 2 * (3 + 5)


def test_a_kernel_takes_as_long_as_what_it_needs_most():
    assert Work("a", bytes=3.35e12).seconds(H100, 1.0) == (pytest.approx(1.0), "memory")
    assert Work("a", flops=34e12, bytes=1e12).seconds(H100, 1.0) == (pytest.approx(1.0), "arithmetic")
    assert Work("a", flops=67e12, product=True).seconds(H100, 1.0) == (pytest.approx(1 / 0.8), "arithmetic")
    assert Work("a", teams=1).seconds(H100, 1.0) == (H100.floor, "least")
    # teams on an SM: one more takes two turns
    teams = gpu_forecast.TEAMS_PER_SM["contraction_reverse"][8]
    assert Work("contraction_reverse", teams=teams * 132 + 1, chain=1000).seconds(H100, 1.0) == (pytest.approx(2000 * H100.latency), "latency")
    far, near = (Work("a", table=1e12).seconds(H100, hits)[0] for hits in (0.0, 1.0))
    assert far == pytest.approx(1e12 / H100.l2) and near == pytest.approx(1e12 / H100.l1)


def test_cache_serves_more_reads_the_larger_it_is():
    hits = [gpu_forecast.table_hits(Model(), size) for size in (0, 32 << 10, 128 << 10, 1 << 30)]
    assert hits == sorted(hits) and hits[0] == 0.0 and hits[-1] == pytest.approx(1.0)
    assert gpu_forecast.table_hits(Model("small")) > gpu_forecast.table_hits(Model())


def test_forecast_adds_up_and_prefers_the_faster_memory():
    for net in ("standard", "small"):
        for train in (False, True):
            slow, fast = (forecast(gpu, Model(net), 30000, train) for gpu in (H100, H200))
            assert fast.gpu < slow.gpu and fast.step <= slow.step
            assert slow.gpu == pytest.approx(sum(seconds for seconds, _ in slow.parts.values()))
            assert slow.step == max(slow.gpu, slow.host) + slow.serial
            around = 0.0 if train else 30000 * (gpu_forecast.LIST_BUILD / gpu_forecast.LIST_EVERY + gpu_forecast.LOOP_REST)
            assert slow.loop == pytest.approx(slow.step + around)
    # a step of many atoms costs in proportion
    one, ten = (forecast(H100, Model(), atoms, False).step / atoms for atoms in (122880, 1228800))
    assert ten == pytest.approx(one, rel=0.03)


def test_forecast_is_printed():
    done = subprocess.run([sys.executable, "-m", "dpbench.gpu_forecast", "--atoms", "3000"], cwd=ROOT / "bench", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "| MD, 3000 atoms: pair style | whole loop |" in done.stdout and "| contraction_reverse |" in done.stdout
    for atoms in ("2", "1000000000000"):
        done = subprocess.run([sys.executable, "-m", "dpbench.gpu_forecast", "--atoms", atoms], cwd=ROOT / "bench", capture_output=True, text=True)
        assert done.returncode == 2 and "give a number from 3, a molecule of water, to 100000000" in done.stderr


def test_manual_and_report_compare_with_the_same_publication():
    manual = " ".join((ROOT / "doc" / "developer" / "gpu.md").read_text().split())
    assert f"{gpu.PUBLISHED['us_per_atom_step']} us/atom ({gpu.PUBLISHED['program']})" in manual


def test_manual_has_the_forecast_of_these_sources():
    manual = (ROOT / "doc" / "developer" / "gpu.md").read_text()
    assert gpu_forecast.summary(98304) in manual
    for train, atoms in ((False, 98304), (True, 192)):
        assert gpu_forecast.largest_terms(Model(), atoms, train) in manual


def test_architectures_are_those_of_cuda_build():
    known = re.findall(r"\[(sm_\d+)\]=", (ROOT / "tools" / "cuda-build").read_text())
    assert known and set(known) == set(gpu_kernels.MULTIPROCESSORS)


@pytest.mark.parametrize("arguments, message", [
    ([], "no --kokkos SOURCE: give the source tree of Kokkos 4.7 or newer"),
    (["--kokkos"], "--kokkos needs a value"),
    (["--kokkos", str(ROOT)], "is no source tree of Kokkos: core/src/Cuda"),
    (["--kokkos", "{kokkos}", "--arch", "sm_70"], "--arch sm_70: known are sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120"),
    (["--gpu"], "unknown argument '--gpu'"),
])
def test_cuda_build_says_what_is_missing(tmp_path, arguments, message):
    (tmp_path / "core" / "src" / "Cuda").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kokkos_launch_compiler").touch(mode=0o755)
    done = subprocess.run([ROOT / "tools" / "cuda-build", *(a.format(kokkos=tmp_path) for a in arguments)], capture_output=True, text=True)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stdout == ""
