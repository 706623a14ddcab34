#include "labels/result_check.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "labels/label_virial.h"

namespace dptrain {

namespace {

constexpr std::size_t longest_message = 200;

template <class Values> bool all_finite(const Values &values)
{
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

// {"converged": false, "message": "..."} of a code that knows it; any other text says nothing.
std::string not_converged(const std::string &extra)
{
  const nlohmann::json json = nlohmann::json::parse(extra, nullptr, false);
  if (!json.is_object()) return "";
  const auto converged = json.find("converged");
  if (converged == json.end() || !converged->is_boolean() || converged->get<bool>()) return "";
  std::string text = "the calculation has failed or has not converged";
  const auto message = json.find("message");
  if (message == json.end() || !message->is_string()) return text;
  text += ": ";
  for (const char c : message->get<std::string>().substr(0, longest_message))
    text += c >= ' ' && c <= '~' ? c : ' ';
  return text;
}

}  // namespace

std::string calculator_of(const IpiResult &result)
{
  const nlohmann::json json = nlohmann::json::parse(result.extra, nullptr, false);
  const auto name = json.is_object() ? json.find("calculator") : json.end();
  return name != json.end() && name->is_string() ? name->get<std::string>() : "";
}

std::string why_unusable(const IpiResult &result, const WholeFrame &frame, bool virial)
{
  const std::string text = not_converged(result.extra);
  if (!text.empty()) return text;
  if (!std::isfinite(result.energy) || !all_finite(result.force))
    return "energy or forces are not finite: check the configuration and the code";
  if (!virial) return "";
  if (!all_finite(result.virial))
    return "the virial is not finite: let the client compute the stress, or choose 'virial no'";
  if (is_left_out(result.virial, result.force, frame))
    return "there is no virial (all components are zero): let the client compute the stress, or "
           "choose 'virial no'";
  return "";
}

}  // namespace dptrain
