#include "potential/model/model_tree.h"

#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <utility>

namespace dptrain {

namespace {

std::string show_shape(const std::vector<std::int64_t> &shape)
{
  std::string text = "[";
  for (const auto extent : shape) text += (text.size() > 1 ? "," : "") + std::to_string(extent);
  return text + "]";
}

}  // namespace

std::string TreeWriter::add(const double *values, const std::vector<std::int64_t> &shape,
                            bool single)
{
  char name[32];
  std::snprintf(name, sizeof name, "/variable_%04d", count_++);
  file_.write_array(name, values, shape, single);
  return name;
}

std::optional<Hdf5Array> TreeReader::find(JsonReader &variables, const std::string &name) const
{
  const nlohmann::json *value = variables.find(name);
  if (!value) return std::nullopt;
  if (value->is_number()) return Hdf5Array{{}, {value->get<double>()}};
  auto array = file_.read_array(variables.text(name, ""));
  for (const double number : array.values)
    if (!std::isfinite(number))
      variables.fail(name, "holds a value that is not finite; copy or train the model again");
  return array;
}

std::vector<double> TreeReader::array(JsonReader &variables, const std::string &name) const
{
  auto array = find(variables, name);
  if (!array)
    variables.fail(name, "the array is missing; the file is not a complete model: copy it again");
  return std::move(array->values);
}

std::vector<double> TreeReader::array(JsonReader &variables, const std::string &name,
                                      const std::vector<std::int64_t> &shape) const
{
  auto array = find(variables, name);
  if (!array)
    variables.fail(name, "the array is missing; the file is not a complete model: copy it again");
  // DeePMD-kit flattens what should be a vector
  const bool flat = shape.size() == 1 && array->values.size() == static_cast<std::size_t>(shape[0]);
  if (array->shape != shape && !flat)
    variables.fail(name, fmt::format("expected an array of shape {}, found {}", show_shape(shape),
                                     show_shape(array->shape)));
  return std::move(array->values);
}

void check_version(JsonReader &section, std::int64_t least, std::int64_t most, const char *advice)
{
  const std::int64_t version = section.integer("@version", 1);
  if (version < least || version > most)
    section.fail("@version", fmt::format("found {}, this version reads {} to {}; {}", version,
                                         least, most, advice));
}

}  // namespace dptrain
