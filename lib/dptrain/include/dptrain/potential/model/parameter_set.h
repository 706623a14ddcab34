#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dptrain {

/// One named array inside the flat array of parameters.
struct ParameterBlock {
  std::string name;                  ///< tree path as in the .dp file
  std::vector<std::int64_t> shape;   ///< row-major; weights are [in][out]
  std::size_t offset = 0, size = 0;  ///< in doubles
  bool trainable = true;
};

/// The parameters of a model: named blocks, one after the other in one array of float64 numbers, which the host has as well
/// as the memory of the kernels where that is another. Each gets what has changed in the other when it is asked for.
class ParameterSet {
 public:
  /// Throws Error where the number of values is not that of the blocks.
  ParameterSet(std::vector<ParameterBlock> blocks, std::vector<double> values);
  ~ParameterSet();

  const std::vector<ParameterBlock> &blocks() const { return blocks_; }
  const std::vector<double> &values() const;
  std::size_t size() const { return values_.size(); }
  std::size_t memory_bytes() const;
  /// The values in the memory of the kernels, until the next change on the host.
  const double *in_kernels() const;
  /// Another number after each change, which no other set of parameters in this process has.
  std::uint64_t version() const { return version_; }

  /// Lets `work` write to the values where the host has them; not to their number.
  void change(const std::function<void(std::vector<double> &)> &work);
  /// Lets kernels write to them.
  void change_in_kernels(const std::function<void(double *)> &work);
  /// Replaces all values. Throws Error where they are not as many.
  void set(const std::vector<double> &values);

  /// Says of each block whether it is trained, or with nothing that it is as in the model file: before a Trainer is made,
  /// which asks once.
  void set_trainable(const std::vector<char> &blocks);
  std::vector<char> trainable() const;
  /// How many numbers are trained.
  std::size_t num_trainable() const;

 private:
  std::vector<ParameterBlock> blocks_;
  std::vector<char> trainable_in_file_;
  mutable std::vector<double> values_;
  std::uint64_t version_;
  struct Copy;  // in the memory of the kernels
  std::unique_ptr<Copy> copy_;
};

}  // namespace dptrain
