#include "dptrain/base/error.h"

#include "dptrain/io/atomic_file.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/files/model_format.h"
#include "dptrain/potential/model/model_data.h"
#include "io/file.h"
#include "potential/files/dp_format.h"
#include <fmt/format.h>

namespace dptrain {

Hdf5File open_model_file(const std::string &path)
{
  const std::string bytes = read_file(path);
  if (!Hdf5File::is_hdf5(bytes))
    throw Error(fmt::format("{}: not a .dp model file (HDF5), expected one: {}", path,
                            describe_foreign(bytes, path)));
  return Hdf5File::open(bytes, path);
}

ModelData read_dp(const std::string &path)
{
  return read_model_tree(open_model_file(path), path);
}

void write_dp(const std::string &path, const ModelData &data)
{
  Hdf5File file = Hdf5File::create(path);
  write_model_tree(file, data);
  const std::string bytes = file.bytes();
  write_atomically(path, [&](const std::string &name) { write_file(name, bytes); });
}

}  // namespace dptrain
