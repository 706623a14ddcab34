#include "dptrain/broadcast.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

namespace dptrain {

namespace {

// Turns values into bytes on one rank and back on the others. One function per type does both directions, so that they
// cannot differ; the structured bindings stop compiling when a struct gets a field that is not listed.
class Archive {
 public:
  explicit Archive(const Communicator &comm, int root = 0) :
      comm_(comm), root_(root), writing_(comm.rank() == root)
  {
  }

  template <class T> void send(T &value)
  {
    if (writing_) visit(value);
    std::uint64_t size = bytes_.size();
    comm_.broadcast(&size, sizeof(size), root_);
    bytes_.resize(size);
    if (size) comm_.broadcast(bytes_.data(), size, root_);
    if (!writing_) visit(value);
  }

 private:
  const Communicator &comm_;
  int root_;
  bool writing_;
  std::vector<char> bytes_;
  std::size_t position_ = 0;

  void raw(void *data, std::size_t size)
  {
    if (size == 0) return;
    if (writing_) {
      const char *begin = static_cast<const char *>(data);
      bytes_.insert(bytes_.end(), begin, begin + size);
    } else {
      std::memcpy(data, &bytes_[position_], size);
      position_ += size;
    }
  }

  template <class... T> void fields(T &...values) { (visit(values), ...); }

  template <class T> std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>> visit(T &value)
  {
    raw(&value, sizeof(T));
  }
  template <class T, std::size_t N> void visit(std::array<T, N> &values)
  {
    for (auto &value : values) visit(value);
  }
  template <class T> void visit_size(T &container)
  {
    std::uint64_t size = container.size();
    visit(size);
    if (!writing_) container.resize(size);
  }
  void visit(std::string &text)
  {
    visit_size(text);
    raw(text.data(), text.size());
  }
  void visit(std::vector<bool> &flags)
  {
    visit_size(flags);
    for (std::size_t i = 0; i < flags.size(); ++i) {
      bool flag = flags[i];
      visit(flag);
      flags[i] = flag;
    }
  }
  template <class T> void visit(std::vector<T> &values)
  {
    visit_size(values);
    if constexpr (std::is_arithmetic_v<T>)
      raw(values.data(), values.size() * sizeof(T));
    else
      for (auto &value : values) visit(value);
  }
  template <class T> void visit(std::optional<T> &value)
  {
    bool given = value.has_value();
    visit(given);
    if (!given) return value.reset();
    if (!value) value.emplace();
    visit(*value);
  }

  void visit(ModelConfig &config)
  {
    auto &[type_map, rcut, rcut_smth, sel, sel_factor, neuron, axis_neuron, activation, resnet_dt,
           type_one_side, exclude_types, env_protection, set_davg_zero, precision, trainable, seed,
           fitting_neuron, fitting_activation, fitting_resnet_dt, fitting_precision,
           fitting_trainable, fitting_seed, atom_ener, pair_exclude_types, atom_exclude_types] =
        config;
    fields(type_map, rcut, rcut_smth, sel, sel_factor, neuron, axis_neuron, activation, resnet_dt,
           type_one_side, exclude_types, env_protection, set_davg_zero, precision, trainable, seed,
           fitting_neuron, fitting_activation, fitting_resnet_dt, fitting_precision,
           fitting_trainable, fitting_seed, atom_ener, pair_exclude_types, atom_exclude_types);
  }
  void visit(ModelData &data)
  {
    auto &[kind, archive, config, davg, dstd, out_bias, bias_atom_e, min_nbor_dist, parameters,
           script, whitening, calibration, knots, passes_messages, num_fparam, is_compressed,
           fparam] = data;
    fields(kind, archive, config, davg, dstd, out_bias, bias_atom_e, min_nbor_dist, parameters,
           script, whitening, calibration, knots, passes_messages, num_fparam, is_compressed,
           fparam);
  }
  void visit(Checkpoint &checkpoint)
  {
    auto &[model, parameters, average, trainer_state, auxiliary_state, num_frames, counters,
           training] = checkpoint;
    fields(model, parameters, average, trainer_state, auxiliary_state, num_frames, counters,
           training);
  }
  void visit(Label &label)
  {
    auto &[energy, force, virial, atom_energy, atom_pref, atom_ener_coeff, drdq] = label;
    fields(energy, force, virial, atom_energy, atom_pref, atom_ener_coeff, drdq);
  }
  void visit(WholeFrame &frame)
  {
    auto &[step, coord, type, box, periodic, held_out, label] = frame;
    fields(step, coord, type, box, periodic, held_out, label);
  }
  void visit(RankDevice &device)
  {
    auto &[node, local_rank, visible, index, name, id, memory, major, minor, gpu_numa, cpu_numa,
           peers] = device;
    fields(node, local_rank, visible, index, name, id, memory, major, minor, gpu_numa, cpu_numa,
           peers);
  }
};

}  // namespace

void broadcast(const Communicator &comm, std::string &text)
{
  Archive(comm).send(text);
}

void broadcast(const Communicator &comm, ModelData &data)
{
  Archive(comm).send(data);
}

void broadcast(const Communicator &comm, Checkpoint &checkpoint)
{
  Archive(comm).send(checkpoint);
}

void broadcast(const Communicator &comm, WholeFrame &frame)
{
  Archive(comm).send(frame);
}

void broadcast(const Communicator &comm, RankDevice &device, int root)
{
  Archive(comm, root).send(device);
}

std::string said_by_one(const Communicator &comm, std::string text)
{
  std::int64_t urgency = text.empty() ? 0 : comm.size() - comm.rank();
  comm.all_reduce_max(&urgency, 1);
  if (urgency == 0) return "";
  const int speaker = comm.size() - static_cast<int>(urgency);
  std::int64_t length = static_cast<std::int64_t>(text.size());
  comm.broadcast(&length, sizeof(length), speaker);
  text.resize(length);
  comm.broadcast(text.data(), text.size(), speaker);
  return text;
}

}  // namespace dptrain
