// Facts of the format: GPUMD's manual (potentials/nep) and PR #745 of GPUMD.

#include "potential/files/nep_file.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <sstream>

#include "base/advice.h"
#include "base/finite_number.h"
#include "base/text.h"
#include "dptrain/base/elements.h"
#include "dptrain/base/error.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/potential/descriptor/nep_config.h"
#include "dptrain/potential/native/deep_pot.h"
#include "input/model_keys.h"
#include "input/nep_in.h"
#include "io/file.h"
#include "kernels/limits.h"
#include "potential/terms/nep_zbl_config.h"

namespace dptrain {

namespace {

constexpr int last_element = 94;  // Pu
constexpr double same = 1e-12;    // of distances that are written with fewer digits

// The largest potential that GPUMD and calorine read: neurons, numbers of an atom, those of the angular part, basis_size, n_max.
namespace gpumd {
constexpr int neurons = most_nep_neurons, size = 103, angular = 90, basis = 16, n_max_angular = 16;
}

/// Lines of the header and numbers behind it, with what messages say of them.
class Text {
 public:
  explicit Text(const std::string &path) : path_(path)
  {
    const std::string text = read_file(path);
    has_end_ = text.ends_with('\n');
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      lines_.emplace_back();
      for (std::string word; words >> word;) lines_.back().push_back(word);
    }
  }

  [[noreturn]] void fail(const std::string &what) const
  {
    throw Error(fmt::format("{}: line {}: {}", path_, next_, what));
  }
  /// The words behind `name`, with which the next line has to begin.
  std::vector<std::string> line(const std::string &name, const std::string &usage)
  {
    while (next_ < lines_.size() && lines_[next_].empty()) ++next_;
    const bool is_there = next_ < lines_.size();
    const std::vector<std::string> words = is_there ? lines_[next_] : std::vector<std::string>();
    ++next_;
    if (words.empty())
      fail(fmt::format("the file ends before '{} {}': copy it again", name, usage));
    if (words[0] != name)
      fail(fmt::format("found '{}', expected '{} {}': this is no nep.txt that this version knows",
                       words[0], name, usage));
    return {words.begin() + 1, words.end()};
  }
  std::vector<std::string> first_line()
  {
    while (next_ < lines_.size() && lines_[next_].empty()) ++next_;
    return next_ < lines_.size() ? lines_[next_++] : std::vector<std::string>();
  }
  double number(const std::string &word) const
  {
    const std::optional<double> value = finite_number(word);
    if (!value) fail(fmt::format("found '{}', expected a number", word));
    return *value;
  }
  int whole(const std::string &word, int least) const
  {
    const double value = number(word);
    if (value != std::floor(value) || value < least || value > 1e6)
      fail(fmt::format("found '{}', expected a whole number from {}", word, least));
    return static_cast<int>(value);
  }
  /// All numbers that are left.
  std::vector<double> rest()
  {
    std::vector<double> numbers;
    for (; next_ < lines_.size();) {
      const std::vector<std::string> &words = lines_[next_++];
      for (const std::string &word : words) numbers.push_back(number(word));
    }
    return numbers;
  }
  /// Where the last line has no end, digits of its number may be missing.
  void check_end() const
  {
    if (!has_end_)
      fail("this last line has no end, so that digits of it may be missing: copy the file again, "
           "or, if it is whole, add the end of the line");
  }

 private:
  std::string path_;
  bool has_end_ = false;
  std::vector<std::vector<std::string>> lines_;
  std::size_t next_ = 0;
};

struct Kind {
  int version = 4;
  bool zbl = false;
};

// Of the first word. Others than potentials are refused by their names.
Kind kind_of(const Text &text, const std::string &token)
{
  std::string word = token;
  const auto take = [&](const std::string &part) {
    const bool found = word.starts_with(part);
    if (found) word.erase(0, part.size());
    return found;
  };
  Kind kind;
  const bool is_nep = take("nep") && !word.empty() && word[0] >= '3' && word[0] <= '5';
  if (!is_nep)
    text.fail(
        fmt::format("found '{}': use a potential nep3, nep4 or nep5, with _zbl or without, which "
                    "are the versions of NEP that are read",
                    token));
  kind.version = word[0] - '0';
  word.erase(0, 1);
  kind.zbl = take("_zbl");
  if (word.empty()) return kind;
  const std::string what = word.starts_with("_charge")           ? "charges (qNEP)"
                           : word.starts_with("_vdw")            ? "dispersion"
                           : word.starts_with("_dipole")         ? "dipole moments, no energy"
                           : word.starts_with("_polarizability") ? "polarizabilities, no energy"
                           : word.starts_with("_temperature")    ? "a temperature as an input"
                                                              : "what this version does not know";
  text.fail(
      fmt::format("a '{}' has {}, which is not read: use a potential nep3, nep4 or nep5, with "
                  "_zbl or without",
                  token, what));
}

void read_elements(Text &text, const std::vector<std::string> &words, ModelConfig &config)
{
  const int number = words.size() > 1 ? text.whole(words[1], 1) : 0;
  if (static_cast<int>(words.size()) != number + 2)
    text.fail(fmt::format("found {} elements, expected {} as the number before them",
                          std::max<int>(0, static_cast<int>(words.size()) - 2), number));
  for (std::size_t k = 2; k < words.size(); ++k) {
    if (atomic_number(words[k]) > last_element)
      text.fail(
          fmt::format("found '{}', which is no element up to Pu: correct the name", words[k]));
    if (std::find(config.type_map.begin(), config.type_map.end(), words[k]) !=
        config.type_map.end())
      text.fail(fmt::format("names {} twice: remove one of them", words[k]));
    config.type_map.push_back(words[k]);
  }
}

void read_cutoffs(Text &text, int ntypes, NepConfig &own)
{
  const std::string usage =
      "RADIAL ANGULAR (of all elements, or of each) and two numbers of neighbors";
  const std::vector<std::string> words = text.line("cutoff", usage);
  const std::size_t pairs = words.size() == 4 ? 1 : ntypes;
  if (words.size() != 2 * pairs + 2)
    text.fail(
        fmt::format("found {} numbers behind cutoff, expected 4, or {} with cutoffs of each of "
                    "the {} elements",
                    words.size(), 2 * ntypes + 2, ntypes));
  std::vector<double> radial, angular;
  for (std::size_t k = 0; k < pairs; ++k) {
    radial.push_back(text.number(words[2 * k]));
    angular.push_back(text.number(words[2 * k + 1]));
    if (!(angular.back() > 0.0 && angular.back() <= radial.back()))
      text.fail(
          fmt::format("found cutoffs {} and {}: the second, of the angular part, must be above 0 "
                      "and not above the first",
                      words[2 * k], words[2 * k + 1]));
  }
  for (std::size_t k = 2 * pairs; k < words.size(); ++k) text.number(words[k]);  // as a check
  own.rcut_radial = NepConfig::shortened(radial);
  own.rcut_angular = NepConfig::shortened(angular);
}

void read_degrees(Text &text, NepConfig &own)
{
  const std::vector<std::string> words =
      text.line("l_max", "L F222 F1111 [F112 [F123 [F233 [F134]]]]");
  if (words.empty() || words.size() > 7)
    text.fail(fmt::format("found {} numbers behind l_max, expected 1 to 7", words.size()));
  own.l_max = text.whole(words[0], 1);
  if (own.l_max > kernels::most_nep_l)
    text.fail(
        fmt::format("found l_max {}, at most {} is possible", own.l_max, kernels::most_nep_l));
  const std::tuple<bool NepConfig::*, int, const char *> flags[] = {
      {&NepConfig::has_222, 2, "222"}, {&NepConfig::has_1111, 1, "1111"},
      {&NepConfig::has_112, 2, "112"}, {&NepConfig::has_123, 3, "123"},
      {&NepConfig::has_233, 3, "233"}, {&NepConfig::has_134, 4, "134"}};
  for (std::size_t k = 0; k < std::size(flags); ++k) {
    const auto &[flag, degree, name] = flags[k];
    own.*flag = k + 1 < words.size() && text.number(words[k + 1]) != 0.0;
    if (own.*flag && own.l_max < degree)
      text.fail(fmt::format("the term {} needs l_max {}, found {}", name, degree, own.l_max));
  }
}

std::pair<int, int> read_two(Text &text, const std::string &name, int most)
{
  const std::vector<std::string> words = text.line(name, "RADIAL ANGULAR");
  if (words.size() != 2)
    text.fail(fmt::format("found {} numbers behind {}, expected 2", words.size(), name));
  for (const std::string &word : words)
    if (text.whole(word, 0) > most)
      text.fail(fmt::format("found {} {}, at most {} is possible", name, word, most));
  return {text.whole(words[0], 0), text.whole(words[1], 0)};
}

int read_neurons(Text &text)
{
  const std::vector<std::string> words = text.line("ANN", "NEURONS 0");
  if (words.size() != 2)
    text.fail(fmt::format("found {} numbers behind ANN, expected 2", words.size()));
  if (text.whole(words[1], 0) != 0)
    text.fail(
        fmt::format("a second hidden layer with {} neurons, which no program for MD reads: use a "
                    "potential with one",
                    words[1]));
  return text.whole(words[0], 1);
}

/// Numbers in their order in the file, with the parts that messages name.
class Numbers {
 public:
  Numbers(const std::string &path, std::vector<double> values) :
      path_(path), values_(std::move(values))
  {
  }
  void expect(const std::string &part, std::size_t count)
  {
    total_ += count;
    parts_ += fmt::format("{}{} of the {}", parts_.empty() ? "" : ", ", count, part);
    if (total_ > values_.size() && missing_.empty()) missing_ = part;
  }
  void check() const
  {
    if (total_ == values_.size()) return;
    throw Error(fmt::format("{}: found {} numbers behind the header, expected {} ({}): {}", path_,
                            values_.size(), total_, parts_,
                            missing_.empty()
                                ? "the header may be that of another file, or the file of another "
                                  "version of GPUMD"
                                : fmt::format("it ends within the {}, copy it again", missing_)));
  }
  std::span<const double> take(std::size_t count)
  {
    const std::span<const double> part(values_.data() + place_, count);
    place_ += count;
    return part;
  }

 private:
  std::string path_, parts_, missing_;
  std::vector<double> values_;
  std::size_t total_ = 0, place_ = 0;
};

constexpr std::size_t flexible_numbers = 10;  // of a pair of elements

/// Of a file, of an element or of all.
struct Net {
  std::span<const double> weights, bias, output, energy;
};

// NEP4 has one energy for all elements. Those of single elements go through one more neuron, the last one, which is constant: its
// weights are zero, and its bias is so large that tanh is 1 in any precision.
constexpr double constant_bias = -20.0;

bool ends_with_constant(const Net &net)
{
  const auto weights = net.weights.last(net.weights.size() / net.bias.size());
  return std::tanh(-net.bias.back()) == 1.0 &&
         std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0.0; });
}

/// Puts numbers into the arrays of a model, by their names.
class Parameters {
 public:
  explicit Parameters(const ModelConfig &config) : blocks_(parameter_index(config))
  {
    values.assign(blocks_.back().offset + blocks_.back().size, 0.0);
  }
  double *at(const std::string &name)
  {
    for (const ParameterBlock &block : blocks_)
      if (block.name == name) return &values[block.offset];
    throw internal_error("a NEP has no parameters " + name);
  }
  double *descriptor(const char *name, int type)
  {
    return at(fmt::format("/model/descriptor/@variables/{}{}", name, type));
  }
  double *net(int type, int layer, const char *name)
  {
    return at(
        fmt::format("/model/fitting/nets/networks/{}/layers/{}/@variables/{}", type, layer, name));
  }
  std::vector<double> values;

 private:
  std::vector<ParameterBlock> blocks_;
};

// Of an atom: what the energy is beside its bias and the sum over neurons. A separate atom, whose descriptor is zero, has its bias alone
// where the energy is given (atom_ener).
double energy_beside_sum(Parameters &parameters, const ModelConfig &config, int type)
{
  const bool is_given = !config.atom_ener.empty() && config.atom_ener[type].has_value();
  if (!is_given) return *parameters.net(type, 1, "b");
  double sum = 0.0;
  const double *b = parameters.net(type, 0, "b"), *output = parameters.net(type, 1, "w");
  for (int n = 0; n < config.fitting_neuron[0]; ++n) sum += output[n] * std::tanh(b[n]);
  return -sum;
}

// Calls f(n, k, a, b, number of the coefficient in the file) for the coefficients of a part.
template <class F> void for_coefficients(int channels, int functions, int ntypes, const F &f)
{
  std::size_t number = 0;
  for (int n = 0; n < channels; ++n)
    for (int k = 0; k < functions; ++k)
      for (int a = 0; a < ntypes; ++a)
        for (int b = 0; b < ntypes; ++b) f(n, k, a, b, number++);
}

struct CoefficientPart {
  const char *name;
  int channels, functions;
};
std::array<CoefficientPart, 2> coefficient_parts(const NepConfig &own)
{
  return {{{"c_radial", own.n_max_radial + 1, own.basis_size_radial + 1},
           {"c_angular", own.n_max_angular + 1, own.basis_size_angular + 1}}};
}

}  // namespace

bool is_nep(const std::string &bytes)
{
  const auto first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string::npos && bytes.compare(first, 3, "nep") == 0 &&
         first + 3 < bytes.size() && std::isdigit(static_cast<unsigned char>(bytes[first + 3]));
}

ModelData read_nep(const std::string &path)
{
  Text text(path);
  const std::vector<std::string> first = text.first_line();
  const Kind kind = kind_of(text, first.empty() ? "" : first[0]);
  ModelData data;
  ModelConfig &config = data.config;
  read_elements(text, first, config);
  const int ntypes = config.ntypes();
  auto own = std::make_unique<NepConfig>();
  std::vector<double> zbl;
  if (kind.zbl) {
    const std::vector<std::string> words = text.line("zbl", "INNER OUTER [FACTOR]");
    if (words.size() != 2 && words.size() != 3)
      text.fail(fmt::format("found {} numbers behind zbl, expected 2 or 3", words.size()));
    for (const std::string &word : words) zbl.push_back(text.number(word));
    const bool flexible = words.size() == 2 && zbl[0] == 0.0 && zbl[1] == 0.0;
    if (!flexible && !(zbl[0] >= 0.0 && zbl[0] < zbl[1] && (zbl.size() == 2 || zbl[2] > 0.0)))
      text.fail(fmt::format("found 'zbl {}': expected two distances, the second above the first, "
                            "and where there is a third number, one above 0: copy the file again",
                            joined(words)));
  }
  read_cutoffs(text, ntypes, *own);
  std::tie(own->n_max_radial, own->n_max_angular) = read_two(text, "n_max", NepConfig::most_n);
  std::tie(own->basis_size_radial, own->basis_size_angular) =
      read_two(text, "basis_size", kernels::most_functions - 1);
  read_degrees(text, *own);
  const int neurons = read_neurons(text);
  const std::size_t size = own->size(), width = neurons;

  config.rcut = *std::max_element(own->rcut_radial.begin(), own->rcut_radial.end());
  config.cutoff_source = CutoffSource::input;
  config.fitting_activation = "tanh";
  config.fitting_resnet_dt = false;
  const auto parts = coefficient_parts(*own);
  const bool flexible = kind.zbl && zbl.size() == 2 && zbl[0] == 0.0 && zbl[1] == 0.0;
  const std::size_t pairs = static_cast<std::size_t>(ntypes) * (ntypes + 1) / 2;

  Numbers numbers(path, text.rest());
  const std::size_t nets = kind.version == 3 ? 1 : ntypes, biases = kind.version == 5 ? 1 : 0;
  numbers.expect(nets == 1 ? "net" : "nets", nets * ((size + 2) * width + biases) + 1);
  for (const CoefficientPart &part : parts)
    numbers.expect(part.name == parts[0].name ? "radial coefficients" : "angular coefficients",
                   static_cast<std::size_t>(part.channels) * part.functions * ntypes * ntypes);
  numbers.expect("scaler", size);
  if (flexible) numbers.expect("ZBL", pairs * flexible_numbers);
  numbers.check();
  text.check_end();

  std::vector<Net> of_file;
  for (std::size_t net = 0; net < nets; ++net)
    of_file.push_back({numbers.take(size * width), numbers.take(width), numbers.take(width),
                       numbers.take(biases)});
  const bool has_energy_neuron =
      width > 1 && std::all_of(of_file.begin(), of_file.end(), ends_with_constant);
  const std::size_t hidden = has_energy_neuron ? width - 1 : width;
  config.fitting_neuron = {static_cast<int>(hidden)};
  config.descriptor = std::move(own);
  Parameters parameters(config);
  std::vector<double> energies(ntypes, 0.0);
  for (int type = 0; type < ntypes; ++type) {
    const Net &net = of_file[nets == 1 ? 0 : type];
    double *w = parameters.net(type, 0, "w"), *b = parameters.net(type, 0, "b");
    for (std::size_t n = 0; n < hidden; ++n) {
      for (std::size_t d = 0; d < size; ++d) w[d * hidden + n] = net.weights[n * size + d];
      b[n] = -net.bias[n];
    }
    std::copy_n(net.output.begin(), hidden, parameters.net(type, 1, "w"));
    if (has_energy_neuron) energies[type] += net.output.back();
    if (biases > 0) energies[type] -= net.energy[0];
  }
  const double common = numbers.take(1)[0];
  for (double &energy : energies) energy -= common;
  for (const CoefficientPart &part : parts) {
    const auto c =
        numbers.take(static_cast<std::size_t>(part.channels) * part.functions * ntypes * ntypes);
    for_coefficients(
        part.channels, part.functions, ntypes, [&](int n, int k, int a, int b, std::size_t number) {
          const long columns = static_cast<long>(ntypes) * part.functions;
          parameters.descriptor(part.name, a)[n * columns + b * part.functions + k] = c[number];
        });
  }
  const auto scaler = numbers.take(size);
  data.descriptor_constants["scaler"] = {scaler.begin(), scaler.end()};
  if (kind.zbl) {
    const auto rest = flexible ? numbers.take(pairs * flexible_numbers) : std::span<const double>();
    config.terms.push_back(nep_zbl(zbl, {rest.begin(), rest.end()}, config));
  }
  data.parameters = std::move(parameters.values);
  data.out_bias.assign(ntypes, 0.0);
  data.bias_atom_e = energies;
  data.model_def_script = written_model(config).dump();
  return data;
}

std::string not_nep_because(const ModelData &data)
{
  const ModelConfig &config = data.config;
  const std::string other = ": write a .dp file";
  if (data.kind != ModelKind::native || !config.descriptor || config.descriptor->type() != "nep")
    return "only models with descriptor nep can be written as nep.txt" + other;
  if (!config.pair_exclude_types.empty() || !config.atom_exclude_types.empty())
    return "a nep.txt has no exclusions of types" + other;
  for (const std::string &element : config.type_map)
    if (atomic_number(element) > last_element)
      return fmt::format("{} of type_map is no element up to Pu{}", element, other);
  if (!data.walls.empty())
    return "a nep.txt has no walls" + other + ", or leave them out (wall no)";
  if (config.fitting_neuron.size() != 1 || config.fitting_activation != "tanh")
    return "a nep.txt has one hidden layer with tanh" + other;
  const NepConfig &own = nep(config);
  const int neurons = config.fitting_neuron[0], size = own.size(),
            angular = size - own.n_max_radial - 1,
            basis = std::max(own.basis_size_radial, own.basis_size_angular);
  if (neurons > gpumd::neurons || size > gpumd::size || angular > gpumd::angular ||
      basis > gpumd::basis || own.n_max_angular > gpumd::n_max_angular)
    return fmt::format(
        "GPUMD reads potentials of at most {} neurons, {} numbers of an atom, {} of them of the "
        "angular part, a basis_size of {} and an angular n_max of {}; here are {}, {}, {}, {} and "
        "{}{}, or make it smaller",
        gpumd::neurons, gpumd::size, gpumd::angular, gpumd::basis, gpumd::n_max_angular, neurons,
        size, angular, basis, own.n_max_angular, other);
  if (!config.baseline.empty() || config.terms.size() > 1 ||
      (config.terms.size() == 1 && !is_nep_zbl(*config.terms[0].get())))
    return "a nep.txt has no terms but the ZBL of NEP, and no baseline" + other;
  return "";
}

void write_nep(const std::string &path, const ModelData &data)
{
  const ModelConfig &config = data.config;
  const NepConfig &own = nep(config);
  const int ntypes = config.ntypes();
  const std::size_t size = own.size(), width = config.fitting_neuron[0];
  Parameters parameters(config);
  parameters.values = data.parameters;

  std::vector<double> energies;
  for (int type = 0; type < ntypes; ++type)
    energies.push_back(data.out_bias[type] + data.bias_atom_e[type] +
                       energy_beside_sum(parameters, config, type));
  const double common = energies[0];
  const bool one_energy = std::all_of(energies.begin(), energies.end(),
                                      [&](double e) { return std::abs(e - common) < same; });
  const std::optional<NepZblText> zbl =
      config.terms.empty() ? std::nullopt
                           : std::optional(nep_zbl_text(*config.terms[0].get(), config));
  // in a neuron more, which is constant, or, where GPUMD has no room for it, as NEP5 has them
  const bool in_neuron = !one_energy && width < gpumd::neurons, of_nets = !one_energy && !in_neuron;
  std::string text = fmt::format("nep{}{} {} {}\n", of_nets ? 5 : 4, zbl ? "_zbl" : "", ntypes,
                                 joined(config.type_map));
  if (zbl) text += zbl->line + "\n";
  text += "cutoff";
  const bool by_element = own.rcut_radial.size() > 1 || own.rcut_angular.size() > 1;
  const std::vector<double> radial = own.cutoffs(own.rcut_radial, by_element ? ntypes : 1),
                            angular = own.cutoffs(own.rcut_angular, by_element ? ntypes : 1);
  for (std::size_t k = 0; k < radial.size(); ++k)
    text += fmt::format(" {} {}", radial[k], angular[k]);
  // largest numbers of neighbors, for which GPUMD makes room, and 819 at most: those of atoms as dense as in diamond
  constexpr double atoms_per_volume = 0.18, four_thirds_pi = 4.18879020478639;
  constexpr int most = 819;
  const auto neighbors = [&](double rcut) {
    const double number = std::ceil(four_thirds_pi * rcut * rcut * rcut * atoms_per_volume);
    return static_cast<int>(std::min<double>(most, number));
  };
  text += fmt::format(" {} {}\n", neighbors(*std::max_element(radial.begin(), radial.end())),
                      neighbors(*std::max_element(angular.begin(), angular.end())));
  text += fmt::format("n_max {} {}\nbasis_size {} {}\n", own.n_max_radial, own.n_max_angular,
                      own.basis_size_radial, own.basis_size_angular);
  std::vector<int> flags{own.has_222 ? 2 : 0, own.has_1111, own.has_112,
                         own.has_123,         own.has_233,  own.has_134};
  while (flags.size() > 2 && flags.back() == 0) flags.pop_back();
  text += fmt::format("l_max {} {}\nANN {} 0\n", own.l_max, joined(flags),
                      in_neuron ? width + 1 : width);

  const auto add = [&](double number) { text += fmt::format("{}\n", number); };
  for (int type = 0; type < ntypes; ++type) {
    const double *w = parameters.net(type, 0, "w"), *b = parameters.net(type, 0, "b"),
                 *output = parameters.net(type, 1, "w");
    for (std::size_t n = 0; n < width; ++n)
      for (std::size_t d = 0; d < size; ++d) add(w[d * width + n]);
    for (std::size_t d = 0; d < size && in_neuron; ++d) add(0.0);
    for (std::size_t n = 0; n < width; ++n) add(-b[n]);
    if (in_neuron) add(constant_bias);
    for (std::size_t n = 0; n < width; ++n) add(output[n]);
    if (!one_energy) add(in_neuron ? energies[type] - common : common - energies[type]);
  }
  add(-common);
  for (const CoefficientPart &part : coefficient_parts(own))
    for_coefficients(
        part.channels, part.functions, ntypes, [&](int n, int k, int a, int b, std::size_t) {
          const long columns = static_cast<long>(ntypes) * part.functions;
          add(parameters.descriptor(part.name, a)[n * columns + b * part.functions + k]);
        });
  for (const double scale : data.descriptor_constants.at("scaler")) add(scale);
  if (zbl)
    for (const double number : zbl->numbers) add(number);
  write_atomically(path, [&](const std::string &name) { write_file(name, text); });
}

}  // namespace dptrain
