"""What is run: tests by stage, sizes and limits of the measurements."""

# tests of single kernels and of what puts them together; the first ones are the ones to look at first on a new device
KERNELS = ["contraction", "contraction_rows", "gather", "neighbor_search", "device_ways", "gram", "layer", "table", "activation",
           "fast_tanh", "gemm", "mlp", "fitting_net", "runtime", "cell_list", "deep_pot", "precision", "power_spectrum", "domain_in_kernels", "soap"]
# small enough for compute-sanitizer, which makes a program 10 to 100 times slower
SANITIZED = ["contraction", "contraction_rows", "gather", "neighbor_search", "gram", "layer", "table", "activation", "fitting_net",
             "power_spectrum"]
# those that need no kernels: they pass on any machine that has LibTorch
HOST = ["active_learning", "atomic_file", "batch_plan", "checkpoint", "data_deepmd", "data_extxyz", "data_find_systems",
        "data_hdf5", "data_mutations", "dp_file", "energy_bias", "energy_jumps", "frames_file", "hdf5_guard", "input_json",
        "input_training", "json_document", "label_server", "lcurve", "loss", "npy", "npy_dataset", "plugin_guard",
        "replay_buffer", "replay_weights", "report_mean", "resolved_input", "schedule", "sha1", "training_text",
        "watchdog", "mpi_communicator", "mpi_data_statistics", "mpi_frame", "mpi_frame_cache", "mpi_model_deviation",
        "mpi_statistics", "mpi_statistics_command"]
DEVICE = ["device", "mpi_device"]
# what takes minutes, or much memory, or measures speed
LEFT_OUT = ["mpi_memory_soak", "performance_guard", "many_atoms"]
LAMMPS_TESTS = ["test_pair_dptrain.py", "test_fix_dptrain.py"]
KOKKOS_TESTS = ["test_kokkos.py"]

NETS = ["spectrum", "standard", "small"]
PRECISIONS = ["double", "single", "mixed"]
# by the device of the kit, MD: (copies of the cell of 192 atoms along each edge, timed steps); a processor only tries the machinery
MD_SIZES = {"cuda": [(1, 2000), (2, 1000), (4, 200), (8, 40)], "cpu": [(1, 20), (2, 4)]}
MD_LARGEST = {"cuda": (22, 10), "cpu": (3, 2)}  # 2,044,416 atoms
STATISTICS_COPIES = 4  # along each edge: 12,288 atoms
TRAINING_STEPS = 80  # four blocks, of which the first is not counted
REBUILD = 10  # MD steps between two neighbor builds

# Agreement with the numbers of a processor: largest difference of an entry, as a part of the root of the mean square of the
# processor's numbers in double. `change` is that of the parameters after 20 steps of Adam.
#   double  sums in another order: with two threads instead of one the processor differs by 1e-15 in forces, by 1e-12 in gradient
#           and change; a thousand times that, because exp and tanh of a GPU are other functions too
#   single  products of 24 bits, sums in float64: the processor differs by up to 5e-7, 1e-6, 2e-7, 1e-4, 3e-3; twenty times
#           that, for another order inside of matrix products
#   mixed   matrix products of 11 bits (TF32) on a GPU, of 8 (bfloat16) on the processor, which differs by up to 1e-3, 3e-3,
#           2e-4, 9e-2, 0.6: a GPU has to do no worse than that, with a little room
TOLERANCES = {
    "double": {"energy": 1e-12, "force": 1e-12, "virial": 1e-12, "gradient": 1e-9, "change": 1e-9},
    "single": {"energy": 1e-5, "force": 3e-5, "virial": 4e-6, "gradient": 2e-3, "change": 5e-2},
    "mixed": {"energy": 2e-3, "force": 5e-3, "virial": 5e-4, "gradient": 0.15, "change": 1.0},
}
# in all of them so many times the processor's own difference is allowed
OF_PROCESSOR = 20.0
# The net of power_spectrum has learned its data almost exactly: its gradient is small against its terms. SOAP's steps follow the
# eigenvectors of means of it, and turn by far more than it changes: by 1.5e-4 from 8e-13 (H100).
OF_NETS = {"spectrum": {"double": {"change": 1e-2}, "mixed": {"gradient": 1.0, "virial": 2e-3}}}
