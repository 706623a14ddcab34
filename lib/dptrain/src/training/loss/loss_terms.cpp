// The list of all terms, and what settings they have in common.

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>

#include "dptrain/base/error.h"
#include "training/loss/terms.h"

namespace dptrain {

namespace {

struct Entry {
  const char *name;
  std::unique_ptr<LossTerm> (*make)(const LossConfig &);
  bool always;  ///< in the list also where it is off
};

constexpr Entry all_terms[] = {
    {"e", make_energy_term, true},           {"f", make_force_term, true},
    {"v", make_virial_term, true},           {"ae", make_atom_energy_term, false},
    {"pf", make_weighted_force_term, false}, {"gf", make_generalized_force_term, false},
};

void check(bool good, const std::string &message)
{
  if (!good) throw Error("loss: " + message);
}

void check_settings(const LossConfig &config)
{
  check(!config.f_use_norm || config.function != LossFunction::mse,
        "f_use_norm needs loss_func mae or use_huber");
  check(config.function != LossFunction::huber ||
            (!config.prefactor("pf").is_on() && !config.prefactor("gf").is_on() &&
             !config.relative_f),
        "use_huber does not go with relative_f, nor with the terms pf and gf: remove one of them");
  check(!config.relative_f || *config.relative_f >= 0.0, "relative_f must not be negative");
  for (const double delta : config.huber_delta)
    check(delta > 0.0, fmt::format("huber_delta must be positive, found {}", delta));
  for (const auto &item : config.prefactors)
    check(std::any_of(std::begin(all_terms), std::end(all_terms),
                      [&](const Entry &entry) { return entry.name == item.first; }),
          fmt::format("there is no term '{}': use e, f, v, ae, pf or gf", item.first));
}

}  // namespace

LossTerms make_loss_terms(const LossConfig &config)
{
  check_settings(config);
  LossTerms terms;
  for (const Entry &entry : all_terms)
    if (entry.always || config.prefactor(entry.name).is_on()) terms.push_back(entry.make(config));
  return terms;
}

}  // namespace dptrain
