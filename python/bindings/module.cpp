// _dptrain: the library's model for Python. The package around it (python/dptrain/potential.py) checks arguments and
// documents what users see; here are only the calls.

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conversions.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/evaluator.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/session/frame_run.h"

namespace nb = nanobind;

namespace {

/// Evaluates frame after frame on the calling process alone.
class Potential {
 public:
  Potential(const std::string &path, dptrain::Precision precision) :
      evaluator_(std::make_shared<dptrain::Evaluator>(open(path, precision)))
  {
  }

  dptrain::Model &model() const { return evaluator_->model(); }
  bool has_bars() const { return model().bars().is_known(); }

  dptrain::FrameValues evaluate(const dptrain::WholeFrame &whole)
  {
    return dptrain::evaluate_frame(dptrain::make_mpi_communicator(), *evaluator_, whole,
                                   has_bars());
  }

 private:
  static std::shared_ptr<dptrain::Model> open(const std::string &path, dptrain::Precision precision)
  {
    start_kernels();
    auto model = dptrain::load_model(path);
    model->set_precision(precision);
    return model;
  }

  std::shared_ptr<dptrain::Evaluator> evaluator_;
};

/// By atom; empty: there are none.
nb::object array_or_none(std::vector<double> values)
{
  const std::size_t n = values.size();
  return n == 0 ? nb::object(nb::none()) : nb::object(array(std::move(values), {n}));
}

nb::tuple evaluate(Potential &potential, Positions positions, Types types,
                   const std::optional<Cell> &cell, std::optional<double> charge)
{
  start_kernels();
  dptrain::WholeFrame whole = frame_of(positions, types, cell);
  whole.charge = charge;
  dptrain::FrameValues values;
  {
    nb::gil_scoped_release others_may_run;
    values = potential.evaluate(whole);
  }
  const std::size_t n = whole.type.size();
  return nb::make_tuple(values.energy, array(std::move(values.force), {n, 3}),
                        array({values.virial.begin(), values.virial.end()}, {3, 3}),
                        array(std::move(values.atom_energy), {n}),
                        array_or_none(std::move(values.bar)),
                        array_or_none(std::move(values.charge)));
}

/// The section `info` of a model's definition: what its maker says of it.
nb::object notes_of(const std::string &model_def_script)
{
  if (model_def_script.empty()) return nb::dict();
  const nb::object script = nb::module_::import_("json").attr("loads")(model_def_script);
  return script.attr("get")("info", nb::dict());
}

/// The distance in Angstrom at which the wall of each two elements begins, "Na-Cl": 2.1.
nb::dict walls_of(const dptrain::ModelData &data)
{
  nb::dict walls;
  const std::vector<std::string> &elements = data.config.type_map;
  for (std::size_t a = 0; a < elements.size() && !data.walls.empty(); ++a)
    for (std::size_t b = a; b < elements.size(); ++b)
      walls[nb::str((elements[a] + "-" + elements[b]).c_str())] =
          data.walls.begin.at(static_cast<int>(a), static_cast<int>(b));
  return walls;
}

/// The energy in eV of a separate atom of each element; None: the energy bias is fitted.
nb::dict separate_atoms_of(const dptrain::ModelData &data)
{
  nb::dict energies;
  const auto known = dptrain::known_atom_energies(data);
  for (std::size_t t = 0; t < known.size(); ++t)
    energies[nb::str(data.config.type_map[t].c_str())] = nb::cast(known[t]);
  return energies;
}

/// What is known of the error bars; None: the model has none.
nb::object bars_of(const dptrain::ModelData &data)
{
  if (!data.bars.is_known()) return nb::none();
  nb::dict atoms, scale, bars;
  for (std::size_t t = 0; t < data.bars.scale.size(); ++t) {
    const nb::str element(data.config.type_map[t].c_str());
    atoms[element] = data.bars.atoms[t];
    scale[element] = data.bars.scale[t];
  }
  bars["coverage"] = data.bars.coverage;
  bars["frames"] = data.bars.frames;
  bars["source"] = data.bars.source;
  bars["atoms"] = atoms;
  bars["scale"] = scale;
  return bars;
}

/// What is doubtful about its terms.
std::vector<std::string> warnings_of(const Potential &potential)
{
  const dptrain::ModelConfig config = potential.model().data().config;
  std::vector<std::string> warnings;
  for (const auto &term : config.terms)
    if (const std::string warning = term->warning(config); !warning.empty())
      warnings.push_back(warning);
  return warnings;
}

/// What the model is made of, for `Potential.info`.
nb::dict describe(const Potential &potential)
{
  const dptrain::ModelData data = potential.model().data();
  const dptrain::ModelConfig &config = data.config;
  const bool is_native = data.kind == dptrain::ModelKind::native;
  nb::dict info;
  info["kind"] = is_native ? "native" : "torchscript";
  info["rcut"] = config.rcut;
  info["info"] = notes_of(data.model_def_script);
  info["error_bars"] = bars_of(data);
  if (!is_native) {
    info["model_def_script"] = data.model_def_script;
    info["energy_bias"] = potential.model().energy_bias();
    info["min_distance"] = data.min_nbor_dist;
    return info;
  }
  info.update(nb::cast<nb::dict>(
      nb::module_::import_("json").attr("loads")(config.descriptor->keys(config))));
  info["descriptor"] = info.attr("pop")("type");
  info["in_deepmd"] = config.is_in_deepmd();
  info.attr("pop")("precision");  // of the stored weights
  if (info.contains("activation_function"))
    info["activation"] = info.attr("pop")("activation_function");
  info["fitting_neuron"] = config.fitting_neuron;
  info["fitting_activation"] = config.fitting_activation;
  info["energy_bias"] = potential.model().energy_bias();
  info["separate_atoms"] = separate_atoms_of(data);
  info["min_distance"] = data.min_nbor_dist;
  info["walls"] = walls_of(data);
  if (!config.baseline.empty()) info["baseline"] = dptrain::name_of(config.baseline);
  if (!config.terms.empty()) {
    std::vector<std::string> terms;
    for (const auto &term : config.terms) {
      const std::string note = term->note();
      terms.push_back(term->text() + (note.empty() ? "" : "; ") + note);
    }
    info["terms"] = terms;
  }
  const auto charges = potential.model().charges();
  const bool are_fixed =
      std::none_of(config.terms.begin(), config.terms.end(), [](const auto &term) {
        return term->type() == "charges" && term->has_parameters();
      });
  if (charges && are_fixed) {
    nb::dict by_element;
    for (std::size_t t = 0; t < charges->by_type.size(); ++t)
      by_element[nb::str(config.type_map[t].c_str())] = charges->by_type[t];
    info["charges"] = by_element;
  }
  return info;
}

/// Names and sizes of the parameter arrays, and whether they are trained.
std::vector<std::pair<std::string, std::pair<std::size_t, bool>>>
parameter_blocks(const Potential &potential)
{
  std::vector<std::pair<std::string, std::pair<std::size_t, bool>>> blocks;
  for (const dptrain::ParameterBlock &block : potential.model().parameters().blocks())
    blocks.push_back({block.name, {block.size, block.trainable}});
  return blocks;
}

}  // namespace

void add_session(nb::module_ &m);

NB_MODULE(_dptrain, m)
{
  nb::exception<dptrain::Error>(m, "Error", PyExc_ValueError);
  nb::class_<Potential>(m, "Potential")
      .def("__init__",
           [](Potential *self, const std::string &path, const std::string &precision) {
             new (self) Potential(path, dptrain::precision_of(precision));
           })
      .def("evaluate", &evaluate, nb::arg("positions"), nb::arg("types"),
           nb::arg("cell") = nb::none(), nb::arg("charge") = nb::none())
      .def("save",
           [](const Potential &self, const std::string &path) {
             dptrain::write_model_file(path, self.model().data());
           })
      .def("info", &describe)
      .def("parameter_blocks", &parameter_blocks)
      .def_prop_ro("has_charges",
                   [](const Potential &self) { return self.model().charges().has_value(); })
      .def_prop_ro("type_map", [](const Potential &self) { return self.model().type_map(); })
      .def_prop_ro("baseline",
                   [](const Potential &self) {  // JSON; empty: none
                     const auto baseline = self.model().data().config.baseline;
                     return baseline.empty() ? std::string() : dptrain::text_of(baseline);
                   })
      .def_prop_ro("warnings", &warnings_of)
      .def_prop_ro("cutoff", [](const Potential &self) { return self.model().cutoff(); })
      .def_prop_ro("memory_bytes",
                   [](const Potential &self) { return self.model().memory_bytes(); })
      .def_prop_ro("overflow_count",
                   [](const Potential &self) { return self.model().neighbor_report().overflow; });
  m.def("is_checkpoint", &dptrain::is_checkpoint);
  add_session(m);
}
