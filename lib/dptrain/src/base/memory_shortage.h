#pragma once

#include <exception>
#include <functional>
#include <string>

namespace dptrain {

/// What an exception says of memory that ran out, whoever threw it (C++, LibTorch, TorchScript, Kokkos, CUDA, cuBLAS, cuDNN,
/// cuSOLVER, NCCL, HIP and their relatives); empty: it is something else.
std::string memory_shortage(const std::exception &error);

/// Runs `work`, which must leave nothing behind when it throws. Where memory runs out, `relieve` is called with what was
/// said, and the work begins again, as long as that returns true: it has given memory back, or asks for less.
void with_relief(const std::function<void()> &work,
                 const std::function<bool(const std::string &)> &relieve);

/// The same with one attempt more, after `give_back` has freed what it can.
void tried_twice(const std::function<void()> &work, const std::function<void()> &give_back);

}  // namespace dptrain
