#include "potential/files/native_conversion.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <regex>

#include "base/advice.h"
#include "base/random.h"
#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/potential/descriptor/se_e2_a_config.h"
#include "dptrain/potential/files/pth_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "input/input_sections.h"
#include "input/json_document.h"

namespace dptrain {

namespace {

const std::string descriptor_nets = "atomic_model.descriptor.sea.filter_layers";
const std::string fitting_nets = "atomic_model.fitting_net.filter_layers";

/// Throws Error where the section is one of another model.
ModelConfig config_of(const std::string &model_def_script)
{
  const nlohmann::json section = parse_json(model_def_script, "model_def_script");
  InputFile input;
  read_model_section(JsonReader(section, "model_def_script", "model"), input);
  return input.model;
}

using Tensors = std::map<std::string, torch::Tensor>;

/// Parameters and buffers by name.
Tensors tensors_of(const Script &script)
{
  Tensors tensors;
  for (const auto &parameter : script.module.named_parameters())
    tensors[parameter.name] = parameter.value;
  for (const auto &buffer : script.module.named_buffers()) tensors[buffer.name] = buffer.value;
  return tensors;
}

/// The numbers of a tensor that must have this many.
std::vector<double> values(const Tensors &tensors, const std::string &name, std::int64_t size)
{
  const auto found = tensors.find(name);
  if (found == tensors.end() || found->second.numel() != size)
    throw Error(fmt::format("the archive has no tensor {} with {} numbers; it must run as it is",
                            name, size));
  return numbers_of(found->second);
}

/// davg or dstd, [ntypes][slots][4] in the archive with the same rows for all slots.
std::vector<double> moments(const Tensors &tensors, const std::string &name, int ntypes, int slots)
{
  const auto all = values(tensors, name, std::int64_t(ntypes) * slots * 4);
  std::vector<double> first;
  for (int type = 0; type < ntypes; ++type) {
    const auto row = all.begin() + std::int64_t(type) * slots * 4;
    for (int slot = 1; slot < slots; ++slot)
      if (!std::equal(row, row + 4, row + 4L * slot))
        throw Error(fmt::format(
            "{} differs between the neighbor slots of a type; the archive must run as it is",
            name));
    first.insert(first.end(), row, row + 4);
  }
  return first;
}

/// All that a native model needs. Throws Error that says what is missing or different.
ModelData convert(const Script &script, const ModelData &archive)
{
  ModelData data;
  data.config = config_of(archive.model_def_script);
  data.config.type_map = archive.config.type_map;
  const ModelConfig &config = data.config;
  const Tensors tensors = tensors_of(script);
  const std::vector<int> &sel = se_e2_a(config).sel;
  if (sel != script.contract->facts().sel)
    throw Error("sel is not that of its script; the archive must run as it is");
  const int ntypes = config.ntypes();
  const int slots = std::accumulate(sel.begin(), sel.end(), 0);
  // the table of a compressed archive stays that of the nets before: other weights cannot be put into it
  data.is_compressed = archive.is_compressed;
  if (!data.is_compressed) data.archive = archive.archive;
  data.descriptor_constants["davg"] =
      moments(tensors, "atomic_model.descriptor.sea.mean", ntypes, slots);
  data.descriptor_constants["dstd"] =
      moments(tensors, "atomic_model.descriptor.sea.stddev", ntypes, slots);
  data.bias_atom_e = values(tensors, "atomic_model.fitting_net.bias_atom_e", ntypes);
  data.out_bias = archive.out_bias;
  data.min_nbor_dist = archive.min_nbor_dist;
  data.model_def_script = archive.model_def_script;
  data.metric = archive.metric;
  data.bars = archive.bars;
  data.learning = archive.learning;
  for (const auto &block : parameter_index(config)) {
    const auto found =
        values(tensors, name_in_archive(block.name), static_cast<std::int64_t>(block.size));
    data.parameters.insert(data.parameters.end(), found.begin(), found.end());
  }
  return data;
}

/// Energies and forces of a few atoms at random places.
std::vector<double> trial(Model &model, const WholeFrame &whole)
{
  const Frame frame = scatter_frame(make_mpi_communicator(), whole, model.cutoff());
  std::vector<double> numbers(static_cast<std::size_t>(frame.nall()) * 3 + frame.nlocal, 0.0);
  ForwardOutput out;
  out.force = numbers.data();
  out.atom_energy = numbers.data() + static_cast<std::size_t>(frame.nall()) * 3;
  model.forward(frame.domain(), out);
  return numbers;
}

/// Atoms of all types in a box with about as many neighbors as the model is made for.
WholeFrame trial_frame(const ModelConfig &config)
{
  constexpr int per_type = 3, most_types = 8;
  WholeFrame frame;
  frame.periodic = false;
  RandomEngine engine(1);
  for (int k = 0; k < per_type * std::min(config.ntypes(), most_types); ++k) {
    frame.type.push_back(k % config.ntypes());
    for (int d = 0; d < 3; ++d) frame.coord.push_back(1.2 * config.rcut * random_uniform(engine));
  }
  return frame;
}

double largest_difference(const std::vector<double> &a, const std::vector<double> &b)
{
  double difference = 0.0, size = 1.0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    difference = std::max(difference, std::abs(a[k] - b[k]));
    size = std::max(size, std::abs(a[k]));
  }
  return difference / size;
}

}  // namespace

std::string name_in_archive(const std::string &native_name)
{
  static const std::regex place("/model/(descriptor/embeddings|fitting/nets)/networks/(\\d+)/"
                                "layers/(\\d+)/@variables/(\\w+)");
  static const std::map<std::string, std::string> names{{"w", "matrix"}, {"b", "bias"}};
  std::smatch part;
  if (!std::regex_match(native_name, part, place))
    throw internal_error(fmt::format("no place in an archive for the parameter {}", native_name));
  const auto renamed = names.find(part[4]);
  return (part[1] == "fitting/nets" ? fitting_nets : descriptor_nets) + ".networks." +
         part[2].str() + ".layers." + part[3].str() + "." +
         (renamed == names.end() ? part[4].str() : renamed->second);
}

std::optional<ModelData> to_native(const Script &script, const ModelData &data)
{
  try {
    ModelData native = convert(script, data);
    // a script may say less than what the archive computes: both must agree
    const WholeFrame frame = trial_frame(native.config);
    constexpr double tolerance_double = 1e-10, tolerance_single = 1e-4;
    const auto own = make_deep_pot(native);
    const auto theirs = make_script_model(data, "the archive");
    const double difference = largest_difference(trial(*own, frame), trial(*theirs, frame));
    const bool is_double = script.contract->facts().is_double;
    if (difference > (is_double ? tolerance_double : tolerance_single)) return {};
    return native;
  } catch (const std::exception &) {
    return {};  // whatever is missing or different: it runs as it is
  }
}

std::string not_native_because(const std::string &model_def_script)
{
  try {
    config_of(model_def_script);
    return "";
  } catch (const Error &e) {
    const std::string text = e.what(), source = "model_def_script: ";
    return text.compare(0, source.size(), source) == 0 ? text.substr(source.size()) : text;
  }
}

}  // namespace dptrain
