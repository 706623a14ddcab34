// The statistics file: JSON with a key that says to which settings and data the numbers belong.

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dptrain/base/error.h"
#include "dptrain/statistics/statistics.h"

namespace dptrain {

namespace {

using Json = nlohmann::ordered_json;
const char *const file_format = "dptrain statistics 1";

std::string fingerprint_of(const std::vector<std::array<int, 2>> &exclude_types)
{
  std::string excluded;
  for (const auto &[a, b] : exclude_types) excluded += fmt::format(" {}-{}", a, b);
  return fmt::format("excluded pairs of types:{}", excluded.empty() ? " none" : excluded);
}

Json make_key(const std::vector<std::string> &type_map, const StatisticsSettings &s)
{
  return {{"type_map", type_map},
          {"rcut", s.rcut},
          {"rcut_smth", s.rcut_smth},
          {"env_protection", s.env_protection},
          {"sel", s.sel.empty() ? Json("all") : Json(s.sel)},
          {"fingerprint", fingerprint_of(s.excluded)}};
}

/// Whether sums for one sel are also those for the other: no atom has more neighbors than either keeps.
bool equivalent_sel(const Json &there, const Json &here, const std::vector<int> &most)
{
  for (const Json *sel : {&there, &here}) {
    if (!sel->is_array()) continue;
    for (std::size_t t = 0; t < most.size(); ++t)
      if (t >= sel->size() || (*sel)[t] < most[t]) return false;
  }
  return true;
}

/// One line per part of the key that differs; empty if none does.
std::string differences(const Json &found, const Json &wanted)
{
  std::string text;
  for (const auto &[name, value] : wanted.items())
    if (!found.contains(name) || found[name] != value)
      text += fmt::format("{}{} is {} there and {} here", text.empty() ? "" : "; ", name,
                          found.contains(name) ? found[name].dump() : "missing", value.dump());
  return text;
}

}  // namespace

std::string Statistics::to_json(const std::vector<std::string> &type_map) const
{
  Json root;
  root["format"] = file_format;
  root["key"] = make_key(type_map, settings_);
  root["source"] = source_;
  root["min_distance"] = std::isfinite(min_distance_) ? Json(min_distance_) : Json();
  root["max_neighbors"] = max_neighbors_;
  root["centers"] = centers_;
  root["sums"] = sums_;
  if (neighbors_ >= 0.0) root["neighbors"] = neighbors_;
  return root.dump(1) + "\n";
}

Statistics Statistics::from_json(const std::string &text, const std::string &file_name,
                                 const std::vector<std::string> &type_map,
                                 const StatisticsSettings &settings)
{
  const std::string what = fmt::format("Statistics file {}", file_name);
  const std::string advice = ". Remove the file to have it computed again, or name another one";
  try {
    const Json root = Json::parse(text);
    if (!root.is_object() || root.value("format", "") != file_format)
      throw Error(fmt::format("{} is not one of this version: \"format\" must be \"{}\"{}", what,
                              file_format, advice));
    Json there = root.at("key");
    const Json here = make_key(type_map, settings);
    const auto most = root.at("max_neighbors").get<std::vector<int>>();
    if (there.contains("sel") && equivalent_sel(there["sel"], here["sel"], most))
      there["sel"] = here["sel"];
    const std::string different = differences(there, here);
    if (!different.empty())
      throw Error(fmt::format("{} belongs to other settings: {}{}", what, different, advice));
    Statistics s(static_cast<int>(type_map.size()), settings);
    s.source_ = root.value("source", "unknown");
    if (!root.at("min_distance").is_null()) s.min_distance_ = root.at("min_distance").get<double>();
    s.max_neighbors_ = most;
    s.centers_ = root.at("centers").get<std::vector<std::int64_t>>();
    s.sums_ = root.at("sums").get<std::vector<double>>();
    s.neighbors_ = root.value("neighbors", -1.0);  // files of earlier versions do not have it
    const std::size_t n = type_map.size();
    if (s.max_neighbors_.size() != n || s.centers_.size() != n || s.sums_.size() != 4 * n)
      throw Error(
          fmt::format("{} is damaged: its lists do not have one entry per type{}", what, advice));
    return s;
  } catch (const nlohmann::json::exception &error) {
    throw Error(fmt::format("{} cannot be read: {}{}", what, error.what(), advice));
  }
}

}  // namespace dptrain
