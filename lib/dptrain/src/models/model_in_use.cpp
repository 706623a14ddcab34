#include "dptrain/models/model_in_use.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>

#include "base/hash.h"
#include "base/text.h"
#include "dptrain/base/elements.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/files/model_format.h"
#include "dptrain/potential/files/pth_file.h"
#include "dptrain/potential/model/model_data.h"
#include "potential/files/nep_elements.h"
#include "potential/terms/charge_config.h"
#include "statistics/data/structure_cutoff.h"

namespace dptrain {

namespace {

std::vector<int> map_elements(const std::string &file, const std::vector<std::string> &elements,
                              const std::vector<std::string> &type_map)
{
  std::vector<int> model_type{-1};
  for (const std::string &element : elements) {
    const auto found = std::find(type_map.begin(), type_map.end(), element);
    if (found == type_map.end() && element != "NULL")
      throw Error(fmt::format("element {} is not in the model {}: use its elements, {}, or NULL",
                              element, file, joined(type_map)));
    model_type.push_back(element == "NULL" ? -1 : static_cast<int>(found - type_map.begin()));
  }
  return model_type;
}

// Each once, in the order of the atom types.
std::vector<std::string> elements_of_new_model(const std::vector<std::string> &elements)
{
  if (elements.empty())
    throw Error("new is for pair_coeff, which names the elements: give here an input.json with "
                "model/type_map and \"descriptor\": {\"type\": \"power_spectrum\"}");
  constexpr int no_element = 119;
  std::vector<std::string> once;
  for (const std::string &element : elements) {
    if (element == "NULL") continue;
    if (atomic_number(element) == no_element)
      throw Error(fmt::format("a new model is made of chemical elements such as O, H or Si, and {} "
                              "is none; give one for each atom type, or NULL",
                              element));
    if (std::find(once.begin(), once.end(), element) == once.end()) once.push_back(element);
  }
  if (once.empty()) throw Error("a new model needs at least one element that is not NULL");
  return once;
}

// Of an archive: what runs it, and why.
std::string note_of_archive(const ModelData &data, const std::vector<double> &fparam, int ranks)
{
  if (data.kind == ModelKind::native)
    return fmt::format(
        "descriptor se_e2_a, runs as a native model (native no: through LibTorch){}",
        data.is_compressed ? "; the archive is compressed: what is trained is saved as .dp" : "");
  std::string note = fmt::format("TorchScript model with {} parameters, {}, runs through LibTorch",
                                 data.parameters.size(),
                                 data.passes_messages ? "whose atoms pass messages" : "local");
  const std::string reason = not_native_because(data.model_def_script);
  std::string values;
  for (const double value : fparam) values += fmt::format(" {:.16g}", value);
  if (data.num_fparam > 0)
    note += fmt::format("; frame parameters:{}",
                        values.empty() ? " the model's default values" : values);
  else if (!reason.empty())
    note += fmt::format("; has no native form: {}", reason);
  if (data.is_compressed) note += "; compressed: the nets behind its tables are not trained";
  if (data.passes_messages && ranks > 1)
    note += fmt::format("; in MD, one of {} ranks evaluates whole frames", ranks);
  return note;
}

// Those of `all` that are among `some`; all where `some` has others.
std::vector<std::string> in_order_of(const std::vector<std::string> &all,
                                     const std::vector<std::string> &some)
{
  std::vector<std::string> kept;
  for (const std::string &element : all)
    if (std::find(some.begin(), some.end(), element) != some.end()) kept.push_back(element);
  const bool has_others = std::any_of(some.begin(), some.end(), [&](const std::string &element) {
    return element != "NULL" && std::find(all.begin(), all.end(), element) == all.end();
  });
  return has_others ? all : kept;
}

// Of a potential of GPUMD, with the number of elements that it has in its file.
std::string note_of_nep(const ModelData &data, std::size_t elements)
{
  const std::vector<std::string> &kept = data.config.type_map;
  return fmt::format("NEP of {} element{}{}", elements, elements == 1 ? "" : "s",
                     kept.size() < elements ? ", of which are kept " + joined(kept) : "");
}

void add_note(std::string &all, const std::string &note)
{
  if (!all.empty() && !note.empty()) all += "; ";
  all += note;
}

std::string warning_of(const ModelConfig &config)
{
  std::string warning;
  for (const AnyEnergyTermConfig &term : config.terms) add_note(warning, term->warning(config));
  return warning;
}

Walls walls_of(const WallSettings &settings, const ModelData &data, const std::string &file)
{
  using Choice = WallSettings::Choice;
  const int ntypes = data.config.ntypes();
  const bool adds = settings.choice == Choice::yes || settings.choice == Choice::at;
  if (adds && data.kind == ModelKind::torchscript)
    throw Error(fmt::format("wall: {} is run by LibTorch, and walls are for native models: add the "
                            "pair style zbl with hybrid/overlay",
                            file));
  switch (settings.choice) {
  case Choice::no:
    return {};
  case Choice::at:
    return {ntypes, settings.distance};
  case Choice::yes:
    if (!data.walls.empty()) break;
    if (!data.min_nbor_dist)
      throw Error(fmt::format("wall yes: {} does not tell the smallest distance of its training "
                              "data: give one, as in wall 1.5",
                              file));
    return {ntypes, *data.min_nbor_dist};
  case Choice::of_file:
    break;
  }
  return data.walls;
}

}  // namespace

void ModelInUse::load(const Communicator &comm, const std::string &file,
                      const std::vector<std::string> &type_elements)
{
  ModelData data;
  InputFile new_input;
  std::string input_text;
  const bool is_new = file == new_model_name;
  bool is_input = is_new;
  int of_gpumd = 0;  // elements of a nep.txt
  guarded(comm, [&] {
    if (comm.rank() != 0 || is_new) return;
    if (!std::ifstream(file).good() && !std::ifstream(file + ".dp").good())
      throw Error(fmt::format("cannot open file '{}'; check the name", file));
    is_input = is_input_file(file);
    if (is_input)
      input_text = read_input_file(file);
    else
      data = read_model_file(file, settings_.native);
    if (is_input || format_of_file(find_model_file(file)) != format_of_name(".txt")) return;
    of_gpumd = data.config.ntypes();
    keep_elements(data, in_order_of(data.config.type_map, type_elements));
  });
  comm.broadcast(&is_input, sizeof(is_input), 0);

  if (is_new) {
    new_input = default_input(elements_of_new_model(type_elements));
  } else if (is_input) {
    broadcast(comm, input_text);
    guarded(comm, [&] { new_input = read_input_text(input_text, file, {false, nullptr, true}); });
  } else {
    broadcast(comm, data);
  }
  const std::vector<std::string> &types =
      is_input ? new_input.model.type_map : data.config.type_map;
  model_type_ = map_elements(file, type_elements, types);
  path_ = file;
  elements_ = type_elements;
  type_map_ = types;
  input_.reset();
  input_text_ = is_input && !is_new ? input_text : "";
  model_.reset();
  trained_ = !is_input;
  from_archive_ = false;
  bars_ = false;
  active_state_ = {};
  if (is_input) {
    input_ = new_input;
    descriptor_ = new_input.model.descriptor;
    baseline_ = new_input.model.baseline;
    cutoff_ = new_input.model.cutoff();
  } else {
    set_model(comm, data);
  }
  note_ = "";
  if (from_archive_ || data.is_compressed)
    note_ = note_of_archive(data, settings_.fparam, comm.size());
  if (of_gpumd > 0) note_ = note_of_nep(data, of_gpumd);
  const ModelConfig &config = is_input ? new_input.model : data.config;
  for (const AnyEnergyTermConfig &term : config.terms) add_note(note_, term->note());
  warning_ = warning_of(config);
  if (!note_.empty()) note_ = file + ": " + note_;
  ++generation_;
}

void ModelInUse::set_model(const Communicator &comm, ModelData data)
{
  from_archive_ = !data.archive.empty();
  descriptor_ = data.config.descriptor;
  baseline_ = data.config.baseline;
  cutoff_ = data.config.cutoff();
  data.knots = settings_.knots;
  data.fparam = settings_.fparam;
  data.walls = walls_of(settings_.wall, data, path_);
  bars_ = !data.metric.empty();
  active_state_ = data.learning;
  guarded(comm, [&] {
    std::shared_ptr<Model> made = make_model(std::move(data), path_);
    if (settings_.chunk > 0) made->set_chunk(settings_.chunk);
    made->set_precision(settings_.precision);
    model_ = made;
  });
}

void ModelInUse::set_baseline(const std::vector<Baseline> &baseline)
{
  if (baseline == baseline_) return;
  if (!baseline_.empty())
    throw Error(
        fmt::format("baseline: {} has another one, {}: leave the keyword out, and that of the "
                    "file is used",
                    path_, name_of(baseline_)));
  if (model_)
    throw Error(
        fmt::format("baseline: the model {} was trained without one: begin with a new model "
                    "(pair_coeff * * new, or an input.json)",
                    path_));
  baseline_ = input_->model.baseline = baseline;
}

void ModelInUse::set_charges(NewCharges charges)
{
  if (!charges.are_given()) return;
  if (!input_)
    throw Error(fmt::format("charges: {} is a model that has been made: remove the keyword, or "
                            "begin a new one",
                            path_));
  charges.total = settings_.total.value_or(0.0);
  const AnyEnergyTermConfig term = term_of(charges, input_->model);
  const ChargeConfig *own = charges_of(input_->model);
  if (!own && !model_) input_->model.terms.push_back(term);
  if (own ? own->text() != term->text() : model_ != nullptr)
    throw Error(fmt::format("charges: the model of {} has {}: remove the keyword, or begin a new "
                            "model with it",
                            path_, own ? own->text() : "no such charges"));
}

std::optional<double> ModelInUse::total_charge() const
{
  if (model_) return has_charges() ? model_->charges()->total : std::nullopt;
  return input_ ? dptrain::total_charge(input_->model) : std::nullopt;
}

bool ModelInUse::follows_structure() const
{
  return input_ && !model_ && input_->model.cutoff_source != CutoffSource::input;
}

bool ModelInUse::has_charges() const
{
  return model_ ? model_->charges().has_value() : input_ && input_->model.has_term("charges");
}

bool ModelInUse::cutoff_is_open() const
{
  return follows_structure() && input_->model.cutoff_source == CutoffSource::open;
}

std::string ModelInUse::choose_cutoff(const WholeFrame &frame)
{
  const StructureCutoff found = cutoff_of_structures({frame}, type_map_);
  choose_cutoff(found.rcut);
  return text_of(found);
}

void ModelInUse::choose_cutoff(double rcut)
{
  dptrain::choose_cutoff(input_->model, rcut);
  descriptor_ = input_->model.descriptor;
  cutoff_ = input_->model.cutoff();
  warning_ = warning_of(input_->model);
}

void ModelInUse::set_atom_energy(int type, double energy)
{
  input_->model.atom_ener.resize(type_map_.size());
  input_->model.atom_ener.at(type) = energy;
}

std::uint64_t ModelInUse::hash() const
{
  if (!model_) return 0;
  return hash_of(model_->energy_bias(), hash_of(model_->parameters().values()));
}

bool ModelInUse::has_null() const
{
  return std::find(model_type_.begin() + 1, model_type_.end(), -1) != model_type_.end();
}

}  // namespace dptrain
