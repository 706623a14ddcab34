// Keywords: GPUMD's manual, "nep.in input file".

#include "input/nep_in.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <vector>

#include "base/finite_number.h"
#include "base/nearest_name.h"
#include "base/text_words.h"
#include "dptrain/base/elements.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class NepIn {
 public:
  explicit NepIn(const std::string &path) : path_(path) {}

  void read(const std::string &text)
  {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      const Words words = words_of(line);
      if (!words.empty()) read_line(words[0], {words.begin() + 1, words.end()});
    }
  }

  json document() const
  {
    if (elements_.empty())
      throw Error(fmt::format(
          "{}: there is no line with the elements: add one, as in 'type 2 Ti O'", path_));
    if (factor_ > 0.0 && zbl_ <= 0.0)
      throw Error(fmt::format("{}: use_typewise_cutoff_zbl has no meaning without zbl: give both, "
                              "or neither",
                              path_));
    json descriptor = descriptor_, fitting = {{"neuron", {neurons_}}}, data;
    descriptor["type"] = "nep";
    json model{{"type_map", elements_}, {"descriptor", descriptor}, {"fitting_net", fitting}};
    if (zbl_ > 0.0) {
      json term{{"type", "nep_zbl"}, {"inner", 0.5 * zbl_}, {"outer", zbl_}};
      if (factor_ > 0.0) term["factor"] = factor_;
      model["terms"] = {term};
    }
    data["training_data"] = {{"systems", {"train.xyz"}}};
    return {{"model", model}, {"training", data}, {ignored_of_nep_in, ignored_}};
  }

 private:
  [[noreturn]] void fail(const std::string &what) const
  {
    throw Error(fmt::format("{}: line {}: {}", path_, line_, what));
  }
  double number(const Words &words, std::size_t k) const
  {
    const std::optional<double> value = k < words.size() ? finite_number(words[k]) : std::nullopt;
    if (!value)
      fail(k < words.size() ? fmt::format("found '{}', expected a number", words[k])
                            : "a number is missing at its end");
    return *value;
  }
  int whole(const Words &words, std::size_t k) const
  {
    const double value = number(words, k);
    constexpr double most = 1e6;
    if (value != std::floor(value) || value < 0.0 || value > most)
      fail(fmt::format("found '{}', expected a whole number", words[k]));
    return static_cast<int>(value);
  }
  void count(const std::string &key, const Words &words, std::size_t least, std::size_t most) const
  {
    if (words.size() < least || words.size() > most)
      fail(least == most ? fmt::format("{} has {} values, expected {}", key, words.size(), least)
                         : fmt::format("{} has {} values, expected {} to {}", key, words.size(),
                                       least, most));
  }

  void read_line(const std::string &key, const Words &words)
  {
    using Read = std::function<void(const Words &)>;
    const auto two = [this, &key](const char *first, const char *second) {
      return [=, this](const Words &values) {
        count(key, values, 2, 2);
        descriptor_[first] = whole(values, 0);
        descriptor_[second] = whole(values, 1);
      };
    };
    const auto only = [this, &key](int allowed, const char *what) {
      return [=, this](const Words &values) {
        if (whole(values, 0) != allowed)
          fail(fmt::format("{} {} is {}: only {} can be trained here", key, values[0], what,
                           allowed));
      };
    };
    const std::map<std::string, Read> keywords{
        {"type", [this](const Words &values) { read_elements(values); }},
        {"version", only(4, "another form of the net")},
        {"model_type", only(0, "no potential")},
        {"charge_mode", only(0, "a potential with charges of GPUMD")},
        {"prediction", only(0, "no training (dptrain test evaluates)")},
        {"cutoff", [this](const Words &values) { read_cutoffs(values); }},
        {"n_max", two("n_max_radial", "n_max_angular")},
        {"basis_size", two("basis_size_radial", "basis_size_angular")},
        {"l_max", [this](const Words &values) { read_degrees(values); }},
        {"neuron", [this](const Words &values) { read_neurons(values); }},
        {"zbl", [this](const Words &values) { read_zbl(values); }},
        {"use_typewise_cutoff_zbl",
         [this](const Words &values) { factor_ = values.empty() ? 0.7 : number(values, 0); }},
        {"fine_tune",
         [this](const Words &) {
           fail("fine_tune: remove the line, and give the potential to 'dptrain train' with "
                "--finetune, or to pair_coeff");
         }},
    };
    const Words without_meaning{
        "lambda_1",       "lambda_2",          "lambda_e",     "lambda_f",        "lambda_v",
        "lambda_q",       "lambda_z",          "lambda_shear", "batch",           "population",
        "generation",     "type_weight",       "force_delta",  "import_q_scaler", "output_interval",
        "save_potential", "output_descriptor", "atomic_v"};
    if (const auto [first, is_new] = lines_.emplace(key, line_); !is_new)
      fail(fmt::format("{} is given twice, first in line {}: keep one", key, first->second));
    if (key == "use_typewise_cutoff")
      fail("use_typewise_cutoff: GPUMD no longer has it: give the cutoffs of each element in the "
           "line cutoff");
    const auto found = keywords.find(key);
    if (found != keywords.end()) return found->second(words);
    if (std::find(without_meaning.begin(), without_meaning.end(), key) != without_meaning.end()) {
      ignored_.push_back(key);
      return;
    }
    Words names = without_meaning;
    for (const auto &[name, read] : keywords) names.push_back(name);
    const std::string nearest = nearest_name(key, names);
    constexpr std::size_t typing_error = 2;
    fail(fmt::format("'{}' is no keyword of nep.in that is known here: {}", key,
                     edit_distance(key, nearest) <= typing_error
                         ? "did you mean " + nearest + "?"
                         : "remove the line; for settings of a training, begin with an input.json "
                           "in its place (out.json of a training with this file is one)"));
  }

  void read_elements(const Words &words)
  {
    const int number = whole(words, 0);
    if (number < 1 || static_cast<int>(words.size()) != number + 1)
      fail(fmt::format("type has {} elements behind the number {}: give as many as it says",
                       words.size() - 1, number));
    elements_.assign(words.begin() + 1, words.end());
    for (const std::string &element : elements_)
      if (element_symbol(atomic_number(element)).empty())
        fail(fmt::format("type: {} is no element: correct its name", element));
  }

  // Of all elements, or of each.
  void read_cutoffs(const Words &words)
  {
    if (words.size() < 2 || words.size() % 2 != 0)
      fail(fmt::format("cutoff has {} values, expected 2, or 2 for each element", words.size()));
    std::vector<double> radial, angular;
    for (std::size_t k = 0; k < words.size(); k += 2) {
      radial.push_back(number(words, k));
      angular.push_back(number(words, k + 1));
      if (!(angular.back() > 0.0 && angular.back() <= radial.back()))
        fail(
            fmt::format("found cutoffs {} and {}: the second, of the angular part, must be above 0 "
                        "and not above the first",
                        words[k], words[k + 1]));
    }
    descriptor_["rcut_radial"] = radial;
    descriptor_["rcut_angular"] = angular;
  }

  void read_degrees(const Words &words)
  {
    count("l_max", words, 1, 7);
    descriptor_["l_max"] = whole(words, 0);
    // products that are not named stay as they are: 222 is there
    struct Product {
      const char *key;
      json set, not_set;
      int degree;
    };
    const Product products[] = {{"l_max_4body", 2, 0, 2},    {"l_max_5body", 1, 0, 1},
                                {"has_112", true, false, 2}, {"has_123", true, false, 3},
                                {"has_233", true, false, 3}, {"has_134", true, false, 4}};
    for (std::size_t k = 1; k < words.size(); ++k) {
      const Product &product = products[k - 1];
      const bool is_set = whole(words, k) != 0;
      descriptor_[product.key] = is_set ? product.set : product.not_set;
      if (is_set && whole(words, 0) < product.degree)
        fail(fmt::format("{} needs l_max {} or more, found {}", product.key, product.degree,
                         words[0]));
    }
  }

  void read_zbl(const Words &words)
  {
    zbl_ = number(words, 0);
    if (zbl_ <= 0.0)
      fail(fmt::format("found zbl {}: give a distance above 0, or no such line", words[0]));
    if (std::filesystem::exists("zbl.in"))
      fail("numbers of single elements in zbl.in are not read: give the terms of an input.json "
           "(nep_zbl with pairs), or remove that file");
  }

  void read_neurons(const Words &words)
  {
    count("neuron", words, 1, 2);
    if (words.size() == 2 && whole(words, 1) != 0)
      fail("neuron has two hidden layers, and a potential of GPUMD has one: give one number, or an "
           "input.json, whose potential is a .dp file");
    neurons_ = whole(words, 0);
    if (neurons_ < 1 || neurons_ > most_nep_neurons)
      fail(fmt::format("neuron {}: GPUMD has 1 to {}: give fewer, or an input.json, whose "
                       "potential is a .dp file",
                       neurons_, most_nep_neurons));
  }

  const std::string path_;
  int line_ = 0;
  Words elements_, ignored_;
  std::map<std::string, int> lines_;  // of keywords
  int neurons_ = 30;
  json descriptor_{{"rcut_radial", 8.0}, {"rcut_angular", 4.0},    {"n_max_radial", 6},
                   {"n_max_angular", 6}, {"basis_size_radial", 6}, {"basis_size_angular", 6}};
  double zbl_ = 0.0, factor_ = 0.0;
};

}  // namespace

bool is_nep_in(const std::string &text, const std::string &path)
{
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && text[first] == '{';
  if (path.ends_with("nep.in") && !is_json) return true;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Words words = words_of(line);
    if (words.size() > 1 && words[0] == "type") return true;
  }
  return false;
}

std::string json_of_nep_in(const std::string &text, const std::string &path)
{
  NepIn input(path);
  input.read(text);
  return input.document().dump(2);
}

}  // namespace dptrain
