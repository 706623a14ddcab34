// DeePMD-kit's stat_file (3.2, PyTorch backend). Below the names of the types, joined by blanks:
//   HASH/r_0, HASH/a_0, ...   [number, sum, sum of squares] of the radial and the angular entries of the environment
//                             matrix, by center type; padding counts in the numbers
//   bias_atom_energy, std_atom_energy [ntypes][1], observed_type [strings, by atomic number]
// Objects are HDF5 data sets, or files in NumPy's format (without the ending .npy) in folders.

#include "statistics/data/statistics_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <numeric>

#include "base/sha1.h"
#include "data/npy.h"
#include "dptrain/base/elements.h"
#include "dptrain/base/error.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/potential/descriptor/se_e2_a_config.h"
#include "dptrain/potential/native/deep_pot.h"
#include "io/file.h"
#include "io/hdf5_file.h"

namespace dptrain {

namespace {

/// Present while DeePMD-kit replaces the energy bias.
const char *const transaction = "__deepmd_output_stat_transaction__";

using Shape = std::vector<std::int64_t>;

/// Bytes of a .npy file of texts of one length, the shorter ones filled up with zeros.
std::string npy_text_bytes(const std::vector<std::string> &texts)
{
  std::size_t length = 1;
  for (const auto &text : texts) length = std::max(length, text.size());
  std::string header = fmt::format("{{'descr': '|S{}', 'fortran_order': False, 'shape': ({},), }}",
                                   length, texts.size());
  header.resize(117, ' ');  // with magic, version, length and end of line 128 bytes
  std::string bytes = std::string("\x93NUMPY\1\0\x76\0", 10) + header + "\n";
  for (const auto &text : texts) bytes += text + std::string(length - text.size(), '\0');
  return bytes;
}

/// A place for named arrays. Names have slashes between levels.
class Store {
 public:
  virtual ~Store() = default;
  virtual bool has(const std::string &name) const = 0;
  virtual std::vector<double> read(const std::string &name) const = 0;
  virtual void make_group(const std::string &name) = 0;
  virtual void write(const std::string &name, const Shape &shape,
                     const std::vector<double> &values) = 0;
  virtual void write(const std::string &name, const std::vector<std::string> &texts) = 0;
  /// Nothing is on the disk for sure before this.
  virtual void finish() {}
};

class Hdf5Store : public Store {
 public:
  explicit Hdf5Store(const std::string &path) :
      path_(path),
      file_(std::filesystem::exists(path) ? Hdf5File::open(read_file(path), path, true)
                                          : Hdf5File::create(path))
  {
  }
  // HDF5 wants every level to exist before it looks at the next one
  bool has(const std::string &name) const override
  {
    for (auto end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1))
      if (!file_.has(name.substr(0, end))) return false;
    return file_.has(name);
  }
  std::vector<double> read(const std::string &name) const override
  {
    return file_.read_array(name).values;
  }
  void make_group(const std::string &name) override
  {
    if (!has(name)) file_.make_group(name);
  }
  void write(const std::string &name, const Shape &shape,
             const std::vector<double> &values) override
  {
    if (has(name)) file_.remove(name);
    file_.write_array(name, values.data(), shape);
  }
  void write(const std::string &name, const std::vector<std::string> &texts) override
  {
    if (has(name)) file_.remove(name);
    file_.write_texts(name, texts);
  }
  void finish() override
  {
    write_atomically(path_, [&](const std::string &name) { write_file(name, file_.bytes()); });
  }

 private:
  std::string path_;
  Hdf5File file_;
};

class FolderStore : public Store {
 public:
  explicit FolderStore(const std::string &path) : path_(path) {}
  bool has(const std::string &name) const override
  {
    return std::filesystem::exists(path_ + "/" + name);
  }
  std::vector<double> read(const std::string &name) const override
  {
    return read_npy(path_ + "/" + name).values;
  }
  void make_group(const std::string &name) override { make_folder(path_ + "/" + name); }
  void write(const std::string &name, const Shape &shape,
             const std::vector<double> &values) override
  {
    write_bytes(name, npy_bytes(shape, values));
  }
  void write(const std::string &name, const std::vector<std::string> &texts) override
  {
    write_bytes(name, npy_text_bytes(texts));
  }

 private:
  void write_bytes(const std::string &name, const std::string &bytes)
  {
    write_atomically(path_ + "/" + name,
                     [&](const std::string &temporary) { write_file(temporary, bytes); });
  }
  std::string path_;
};

/// DeePMD-kit's choice between the two.
std::unique_ptr<Store> open_store(const std::string &path)
{
  const std::filesystem::path file(path);
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const bool exists = std::filesystem::exists(file);
  if (std::filesystem::is_directory(file) || (!exists && ending != ".h5" && ending != ".hdf5"))
    return std::make_unique<FolderStore>(path);
  return std::make_unique<Hdf5Store>(path);
}

/// A number as Python prints round(value, 2).
std::string two_decimals(double value)
{
  std::string text(std::snprintf(nullptr, 0, "%.2f", value), '\0');
  std::snprintf(text.data(), text.size() + 1, "%.2f", value);
  if (text.back() == '0') text.pop_back();
  return text;
}

std::string root_of(const ModelConfig &config)
{
  std::string names;
  for (const auto &name : config.type_map) names += (names.empty() ? "" : " ") + name;
  return names;
}

/// The numbers of an object, if there are `size` of them and all are finite.
std::vector<double> read_checked(const Store &store, const std::string &path,
                                 const std::string &name, std::size_t size)
{
  const auto values = store.read(name);
  const bool finite =
      std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  if (values.size() != size || !finite)
    throw Error(fmt::format("Statistics file {}: {} must hold {} finite numbers, found {}{}. "
                            "Remove the file to have it computed again",
                            path, name, size, values.size(), finite ? "" : ", not all finite"));
  return values;
}

std::string source_of(const std::string &path)
{
  return fmt::format("DeePMD-kit's statistics file {}", path);
}

}  // namespace

std::string deepmd_statistics_hash(const ModelConfig &model)
{
  if (model.descriptor->type() != "se_e2_a")
    throw Error(fmt::format(
        "Statistics files in DeePMD-kit's layout need descriptor se_e2_a, the model has {}",
        model.descriptor->type()));
  const SeE2AConfig &config = se_e2_a(model);
  if (config.sel.empty())
    throw Error("Statistics file in DeePMD-kit's layout: sel must be known, it is part of the key");
  std::string sel;
  for (int n : config.sel) sel += (sel.empty() ? "" : ", ") + std::to_string(n);
  const int nsel = std::accumulate(config.sel.begin(), config.sel.end(), 0);
  return sha1(fmt::format("{{\"type\": \"se_a\", \"ntypes\": {}, \"rcut\": {}, \"rcut_smth\": {}, "
                          "\"nsel\": {}, \"sel\": [{}], \"mixed_types\": false}}",
                          config.sel.size(), two_decimals(model.rcut),
                          two_decimals(config.rcut_smth), nsel, sel));
}

std::optional<StoredStatistics> read_deepmd_statistics(const std::string &path,
                                                       const ModelConfig &config)
{
  const std::string root = root_of(config), group = root + "/" + deepmd_statistics_hash(config);
  if (!std::filesystem::exists(path)) return std::nullopt;
  const auto store = open_store(path);
  const int ntypes = config.ntypes();
  const std::vector<int> &sel = se_e2_a(config).sel;
  const double slots = std::accumulate(sel.begin(), sel.end(), 0.0);
  if (store->has(root + "/" + transaction)) return std::nullopt;
  for (const char *name : {"/bias_atom_energy", "/std_atom_energy"})
    if (!store->has(root + name)) return std::nullopt;

  std::vector<std::int64_t> centers(ntypes);
  std::vector<double> sums(4 * std::size_t(ntypes));
  for (int t = 0; t < ntypes; ++t) {
    const std::string radial = fmt::format("{}/r_{}", group, t),
                      angular = fmt::format("{}/a_{}", group, t);
    if (!store->has(radial) || !store->has(angular)) return std::nullopt;
    const auto r = read_checked(*store, path, radial, 3),
               a = read_checked(*store, path, angular, 3);
    centers[t] = std::llround(r[0] / slots);
    if (centers[t] * slots != r[0] || 3.0 * r[0] != a[0])
      throw Error(fmt::format("Statistics file {}: the numbers of entries in {} and {} do not "
                              "belong to sel. Remove the file to have it computed again",
                              path, radial, angular));
    std::copy_n(r.begin() + 1, 2, sums.begin() + 4 * t);
    std::copy_n(a.begin() + 1, 2, sums.begin() + 4 * t + 2);
  }
  StoredStatistics stored;
  stored.statistics = Statistics(ntypes, statistics_settings(config));
  stored.statistics.set_sums(centers, sums);
  stored.statistics.set_source(source_of(path));
  stored.out_bias = read_checked(*store, path, root + "/bias_atom_energy", ntypes);
  stored.out_std = read_checked(*store, path, root + "/std_atom_energy", ntypes);
  return stored;
}

std::optional<StoredStatistics>
read_deepmd_statistics(const Communicator &comm, const std::string &path, const ModelConfig &config)
{
  std::optional<StoredStatistics> stored;
  guarded(comm, [&] {
    if (comm.rank() == 0) stored = read_deepmd_statistics(path, config);
  });
  std::int64_t found = stored ? 1 : 0;
  comm.broadcast(&found, sizeof(found), 0);
  if (found == 0) return std::nullopt;

  const std::size_t n = config.ntypes();
  std::vector<std::int64_t> centers(n);
  std::vector<double> sums(4 * n);
  if (stored) {
    for (std::size_t t = 0; t < n; ++t)
      centers[t] = stored->statistics.centers(static_cast<int>(t));
    sums = stored->statistics.sums();
  } else {
    stored = StoredStatistics{Statistics(static_cast<int>(n), statistics_settings(config)),
                              std::vector<double>(n), std::vector<double>(n)};
  }
  comm.broadcast(centers.data(), n * sizeof(centers[0]), 0);
  for (std::vector<double> *numbers : {&sums, &stored->out_bias, &stored->out_std})
    comm.broadcast(numbers->data(), numbers->size() * sizeof(double), 0);
  stored->statistics.set_sums(centers, sums);
  stored->statistics.set_source(source_of(path));
  return stored;
}

void write_deepmd_statistics(const std::string &path, const ModelConfig &config,
                             const DataStatistics &found)
{
  const std::string root = root_of(config), group = root + "/" + deepmd_statistics_hash(config);
  const auto store = open_store(path);
  const std::int64_t ntypes = config.ntypes();
  const std::vector<int> &sel = se_e2_a(config).sel;
  const double slots = std::accumulate(sel.begin(), sel.end(), 0.0);
  store->make_group(root);
  store->make_group(group);
  std::vector<std::string> observed;
  for (int t = 0; t < ntypes; ++t) {
    const double number = static_cast<double>(found.statistics.centers(t)) * slots;
    const double *sums = &found.statistics.sums()[std::size_t(t) * 4];
    store->write(fmt::format("{}/r_{}", group, t), {3}, {number, sums[0], sums[1]});
    store->write(fmt::format("{}/a_{}", group, t), {3}, {3.0 * number, sums[2], sums[3]});
    if (found.statistics.centers(t) > 0) observed.push_back(config.type_map[t]);
  }
  // names that are no elements stand behind all others
  std::stable_sort(observed.begin(), observed.end(),
                   [](const std::string &a, const std::string &b) {
                     return atomic_number(a) < atomic_number(b);
                   });
  store->write(root + "/observed_type", observed);
  store->write(root + "/bias_atom_energy", {ntypes, 1}, found.energy.bias);
  store->write(root + "/std_atom_energy", {ntypes, 1}, found.energy.deviation);
  store->finish();
}

}  // namespace dptrain
