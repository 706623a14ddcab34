"""What gpu-check reads from logs.

The snippets are what GoogleTest, pytest, LAMMPS, compute-sanitizer and ncu print, shortened.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from gpucheck import lammps, logs, profile  # noqa: E402

GTEST = """[ RUN      ] Layer.Values
[       OK ] Layer.Values (3 ms)
[ RUN      ] Kinds/Layer.Types/1
layer.cpp:12: Failure
[  FAILED  ] Kinds/Layer.Types/1, where GetParam() = 3 (0 ms)
[ RUN      ] Layer.OnTwo
[  SKIPPED ] Layer.OnTwo (0 ms)
[==========] 3 tests from 1 test suite ran.
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Kinds/Layer.Types/1, where GetParam() = 3
"""
PYTEST = """lammps/test_pair.py::test_units[metal] PASSED              [ 10%]
lammps/test_pair.py::test_units[real] FAILED                      [ 20%]
lammps/test_fix.py::test_one[1-lj/cut 7.0-* * 0.05 2.1] PASSED    [ 30%]
lammps/test_fix.py::test_two SKIPPED (no GPU)                     [ 40%]
lammps/test_fix.py::test_three ERROR                              [ 50%]
=========== FAILURES ==========
FAILED lammps/test_pair.py::test_units[real] - assert 1 == 2
"""
MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 8 bytes
=========     at dptrain::kernels::gather(double const*)+0x90
=========     by thread (0,0,0) in block (1,0,0)
=========
========= Invalid __global__ read of size 8 bytes
=========     at dptrain::kernels::gather(double const*)+0x90
=========
========= ERROR SUMMARY: 2 errors
"""
BREAKDOWN = """
MPI task timing breakdown:
Section |  min time  |  avg time  |  max time  |%varavg| %total
---------------------------------------------------------------
Pair    | 0.5        | 0.72       | 0.9        |   0.0 | 75.00
Neigh   | 0.00048    | 4.8e-04    | 0.00048    |   0.0 |  0.05
Other   |            | 0.2395     |            |       | 24.95

"""
NCU = '''==PROF== Connected to process 7
"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","7","void Kokkos::Impl::launch<dptrain::kernels::Contraction<float>>(T1)","gpu__time_duration.sum","ns","3,000"
"0","7","void Kokkos::Impl::launch<dptrain::kernels::Contraction<float>>(T1)","launch__registers_per_thread","register/thread","96"
"1","7","sgemm","gpu__time_duration.sum","ns","1,000"
"2","7","void Kokkos::Impl::launch<dptrain::kernels::Contraction<float>>(T1)","gpu__time_duration.sum","ns","5,000"
"2","7","void Kokkos::Impl::launch<dptrain::kernels::Contraction<float>>(T1)","launch__registers_per_thread","register/thread","96"
'''


def test_names_of_googletest():
    assert logs.gtest(GTEST) == {"passed": ["Layer.Values"], "failed": ["Kinds/Layer.Types/1"], "skipped": ["Layer.OnTwo"]}


def test_a_case_that_ends_the_process_has_failed():
    found = logs.gtest("[ RUN      ] A.b\n[       OK ] A.b (1 ms)\n[ RUN      ] A.c\nSegmentation fault\n")
    assert found == {"passed": ["A.b"], "failed": ["A.c"], "skipped": []}
    assert logs.gtest("[ RUN      ] A.c\n", ended=False)["failed"] == []  # there was no time left for it


def test_a_case_that_failed_on_one_rank_has_failed():
    text = "[ RUN      ] A.b\n[ RUN      ] A.b\n[       OK ] A.b (1 ms)\n[  FAILED  ] A.b (1 ms)\n"
    assert logs.gtest(text) == {"passed": [], "failed": ["A.b"], "skipped": []}


def test_lines_of_two_ranks_may_mix():
    text = "[ RUN      ] A.b\n[ RUN      ] A.b\n[       OK ] A.b (1 ms)\n[ RUN      ] A.c\n[       [       OK ] A.c (1 ms)\nOK ] A.b (1 ms)\n"
    assert logs.gtest(text) == {"passed": ["A.b", "A.c"], "failed": [], "skipped": []}


def test_names_of_pytest():
    found = logs.pytest(PYTEST)
    assert found["passed"] == ["test_pair.py::test_units[metal]", "test_fix.py::test_one[1-lj/cut 7.0-* * 0.05 2.1]"]
    assert found["failed"] == ["test_pair.py::test_units[real]", "test_fix.py::test_three"]
    assert found["skipped"] == ["test_fix.py::test_two"]


def test_cases_of_more_than_two_ranks_are_left_out():
    cases = ["a::t[1]", "a::t[2]", "a::t[4]", "a::t[2-lj/cut 4.0]", "a::t[x-4]", "a::u"]
    assert [c for c in cases if not lammps.MANY_RANKS.search(c)] == ["a::t[1]", "a::t[2]", "a::t[2-lj/cut 4.0]", "a::u"]
    assert lammps.shares(["a", "b", "c"], 2) == [["a", "c"], ["b"]] and len(lammps.shares(["a"], 4)) == 1


def test_times_of_lammps():
    text = ("Loop time of 0.5 on 1 procs for 5 steps with 192 atoms\nLoop time of 0.96 on 1 procs for 50 steps with 192 atoms\n"
            f"{BREAKDOWN}Loop time of 0.1 on 1 procs for 0 steps with 192 atoms\n{BREAKDOWN}")
    first, second = logs.lammps_loops(text)
    assert first == {"atoms": 192, "steps": 5, "us_per_atom_step": pytest.approx(0.1 / 192e-6)}
    assert second == {"atoms": 192, "steps": 50, "us_per_atom_step": pytest.approx(100.0), "pair_us": pytest.approx(75.0),
                      "neigh_us": pytest.approx(0.05)}


def test_errors_of_the_sanitizer():
    errors, kinds = logs.sanitizer(MEMCHECK)
    assert errors == 2 and list(kinds.values()) == [2]
    assert "Invalid __global__ read" in list(kinds)[0] and "gather" in list(kinds)[0]
    assert logs.sanitizer("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n") == (0, {})
    assert logs.sanitizer("Segmentation fault")[0] is None


def test_heaviest_kernels():
    rows = list(profile.heaviest(logs.ncu_kernels(NCU)))
    assert [row["kernel"] for row in rows] == ["kernels::Contraction<float>", "sgemm"]
    assert rows[0]["share"] == pytest.approx(8 / 9) and rows[0]["launches"] == 2
    assert rows[0]["time_us"] == pytest.approx(4.0) and rows[0]["registers"] == 96 and "registers" not in rows[1]
    assert logs.ncu_kernels("==ERROR== no permission\n") == {}


def test_names_of_kernels():
    """As nvcc names the lambdas of a template, shortened."""
    text = ("Kokkos::Impl::ParallelFor<dptrain::kernels::SharedLoop<__nv_hdl_wrapper_t<false, __nv_dl_tag<void (*)(dptrain::kernels::"
            "Contraction<double> const&), &(void dptrain::kernels::(anonymous namespace)::reverse_kernel<double, 0>(dptrain::kernels::"
            "Contraction<double> const&)), 2u>, void (Kokkos::Impl::CudaTeamMember const&)>>, Kokkos::TeamPolicy<Kokkos::Cuda>>")
    assert logs.kernel_name(text) == "kernels::reverse_kernel<double, 0> #2"
    assert logs.kernel_name(text.replace("2u>", "1u>")) == "kernels::reverse_kernel<double, 0>"
    assert logs.kernel_name("ampere_sgemm_128x64_tn") == "ampere_sgemm_128x64_tn"


def test_the_end_of_a_long_log_has_the_first_failure():
    text = "start\n" + "layer.cpp:12: Failure\nExpected: 1\n" + "noise\n" * 2000 + "the end"
    end = logs.end_of(text)
    assert "Expected: 1" in end and end.endswith("the end") and len(end) < logs.TAIL + 100
