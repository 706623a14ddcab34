// _dptrain: the library's model for Python. The package around it (python/dptrain/potential.py) checks arguments and
// documents what users see; here are only the calls.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/kernels/threads.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/evaluator.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"

namespace nb = nanobind;

namespace {

using Cell = std::array<double, 9>;
using Positions = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Types = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Energy (eV), forces [natoms][3] (eV/Angstrom), virial (eV), atomic energies [natoms] (eV).
struct Values {
  double energy;
  std::vector<double> force, atom_energy;
  Cell virial;
};

/// Evaluates frame after frame on the calling process alone.
class Potential {
 public:
  Potential(const std::string &path, dptrain::Precision precision) :
      comm_(dptrain::make_mpi_communicator(nullptr)),
      evaluator_(std::make_shared<dptrain::Evaluator>(open(path, precision)))
  {
  }

  dptrain::Model &model() const { return evaluator_->model(); }

  Values evaluate(const dptrain::WholeFrame &whole)
  {
    const dptrain::Frame frame = dptrain::scatter_frame(comm_, whole, model().cutoff());
    std::vector<double> force(3 * std::size_t(frame.nall())), atom_energy(frame.nlocal);
    dptrain::ForwardOutput out;
    out.force = force.data();
    out.atom_energy = atom_energy.data();
    evaluator_->step(frame.domain(), out);
    frame.halo->reduce(force.data(), 3);

    Values values{out.energy, std::vector<double>(3 * atom_energy.size()), atom_energy, out.virial};
    for (int i = 0; i < frame.nlocal; ++i) {
      const auto atom = static_cast<std::size_t>(frame.tag[i] - 1);
      std::copy_n(&force[3 * std::size_t(i)], 3, &values.force[3 * atom]);
      values.atom_energy[atom] = atom_energy[i];
    }
    return values;
  }

 private:
  static std::shared_ptr<dptrain::Model> open(const std::string &path, dptrain::Precision precision)
  {
    static const int threads = dptrain::use_threads(dptrain::thread_share());
    static_cast<void>(threads);
    auto model = dptrain::load_model(path);
    model->set_precision(precision);
    return model;
  }

  std::shared_ptr<const dptrain::Communicator> comm_;
  std::shared_ptr<dptrain::Evaluator> evaluator_;
};

dptrain::Precision precision_of(const std::string &name)
{
  if (name == "double") return dptrain::Precision::float64;
  if (name == "single") return dptrain::Precision::single;
  if (name == "mixed") return dptrain::Precision::mixed;
  throw dptrain::Error("precision '" + name + "' is not known: use double, single or mixed");
}

/// A NumPy array that owns its numbers.
nb::object array(std::vector<double> &&values, std::initializer_list<std::size_t> shape)
{
  auto *kept = new std::vector<double>(std::move(values));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<double> *>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double>(kept->data(), shape.size(), shape.begin(), owner));
}

nb::tuple evaluate(Potential &potential, Positions positions, Types types,
                   const std::optional<Cell> &cell)
{
  dptrain::WholeFrame whole;
  const std::size_t n = positions.shape(0);
  whole.coord.assign(positions.data(), positions.data() + 3 * n);
  whole.type.assign(types.data(), types.data() + types.shape(0));
  whole.periodic = cell.has_value();
  if (cell) whole.box = *cell;
  Values values;
  {
    nb::gil_scoped_release others_may_run;
    // the library's own threads serve one evaluation at a time
    static std::mutex one_at_a_time;
    const std::lock_guard<std::mutex> turn(one_at_a_time);
    values = potential.evaluate(whole);
  }
  return nb::make_tuple(values.energy, array(std::move(values.force), {n, 3}),
                        array({values.virial.begin(), values.virial.end()}, {3, 3}),
                        array(std::move(values.atom_energy), {n}));
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
  if (!is_native) {
    info["model_def_script"] = data.model_def_script;
    info["energy_bias"] = potential.model().energy_bias();
    info["min_distance"] = data.min_nbor_dist;
    return info;
  }
  info["descriptor"] = config.descriptor->type();
  const nb::object keys = nb::module_::import_("json").attr("loads")(config.descriptor->keys(config));
  info.update(nb::cast<nb::dict>(keys));
  info["fitting_neuron"] = config.fitting_neuron;
  info["fitting_activation"] = config.fitting_activation;
  info["energy_bias"] = potential.model().energy_bias();
  info["min_distance"] = data.min_nbor_dist;
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

NB_MODULE(_dptrain, m)
{
  nb::exception<dptrain::Error>(m, "Error", PyExc_ValueError);
  nb::class_<Potential>(m, "Potential")
      .def("__init__",
           [](Potential *self, const std::string &path, const std::string &precision) {
             new (self) Potential(path, precision_of(precision));
           })
      .def("evaluate", &evaluate, nb::arg("positions"), nb::arg("types"),
           nb::arg("cell") = nb::none())
      .def("save",
           [](const Potential &self, const std::string &path) {
             dptrain::write_model_file(path, self.model().data());
           })
      .def("info", &describe)
      .def("parameter_blocks", &parameter_blocks)
      .def_prop_ro("type_map", [](const Potential &self) { return self.model().type_map(); })
      .def_prop_ro("cutoff", [](const Potential &self) { return self.model().cutoff(); })
      .def_prop_ro("memory_bytes",
                   [](const Potential &self) { return self.model().memory_bytes(); })
      .def_prop_ro("overflow_count",
                   [](const Potential &self) { return self.model().neighbor_report().overflow; });
  m.def("is_checkpoint", &dptrain::is_checkpoint);
}
