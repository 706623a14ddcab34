#include <algorithm>

#include "input/input_sections.h"

namespace dptrain {

namespace {

using nlohmann::json;

void read_huber_delta(JsonReader &reader, const std::string &key, LossConfig &loss)
{
  const json &value = *reader.find(key);
  const auto is_delta = [](const json &item) { return item.is_number() && item.get<double>() > 0; };
  if (is_delta(value))
    loss.huber_delta.fill(value.get<double>());
  else if (value.is_array() && value.size() == 3 &&
           std::all_of(value.begin(), value.end(), is_delta))
    value.get_to(loss.huber_delta);
  else
    reader.expected(key,
                    "a positive number, or a list of three of them for energy, force and virial");
}

// As in DeePMD-kit, loss_func "mae" leaves use_huber without effect.
void read_loss_func(JsonReader &reader, const std::string &key, LossConfig &loss)
{
  const bool is_mae = reader.choice(key, "mse", {"mse", "mae"}) == "mae";
  loss.function = is_mae ? LossFunction::mae : LossFunction::mse;
}

void read_use_huber(JsonReader &reader, const std::string &key, LossConfig &loss)
{
  if (reader.boolean(key, false) && loss.function == LossFunction::mse)
    loss.function = LossFunction::huber;
}

/// A prefactor at the begin or the end of the training.
Key<LossConfig> prefactor_key(const char *end, const std::string &term, double Prefactor::*member)
{
  return {end + std::string("_pref_") + term,
          [=](LossConfig &loss) -> double & { return loss.prefactors[term].*member; },
          not_negative};
}

void check_function(JsonReader &reader, const LossConfig &loss)
{
  if (loss.f_use_norm && loss.function == LossFunction::mse)
    reader.fail("f_use_norm", "needs use_huber true or loss_func \"mae\"");
  if (!reader.boolean("use_huber", false)) return;
  const auto refuse = [&](bool active, const char *key) {
    if (active) reader.fail(key, "does not go together with use_huber; keep one of them");
  };
  refuse(loss.prefactor("pf").is_on(), "start_pref_pf");
  refuse(loss.prefactor("gf").is_on(), "start_pref_gf");
  refuse(loss.relative_f.has_value(), "relative_f");
}

Keys<LossConfig> all_loss_keys()
{
  using K = Key<LossConfig>;
  using C = LossConfig;
  Keys<C> keys{
      fixed_key<C>("loss", {"ener", "ener_hess"}),
      K("numb_generalized_coord", &C::numb_generalized_coord, not_negative),
      K("loss_func", read_loss_func,
        [](const C &c) { return c.function == LossFunction::mae ? "mae" : "mse"; }),
      K("use_huber", read_use_huber, [](const C &c) { return c.function == LossFunction::huber; }),
      K("huber_delta", read_huber_delta, [](const C &c) { return OrderedJson(c.huber_delta); }),
      K("f_use_norm", &C::f_use_norm),
      K("intensive_ener_virial", &C::intensive_ener_virial),
      K("enable_atom_ener_coeff", &C::enable_atom_ener_coeff),
      K("use_default_pf", &C::use_default_pf),
      K("relative_f", &C::relative_f, not_negative),
  };
  for (const auto &[term, prefactor] : C().prefactors) {
    keys.add(prefactor_key("start", term, &Prefactor::start));
    keys.add(prefactor_key("limit", term, &Prefactor::limit));
  }
  return keys;
}

}  // namespace

const Keys<LossConfig> &loss_keys()
{
  static const Keys<LossConfig> keys = all_loss_keys();
  return keys;
}

void read_loss_section(JsonReader reader, InputFile &input)
{
  LossConfig &loss = input.training.loss;
  loss_keys().read(reader, loss);
  input.virial_given = reader.has("start_pref_v") || reader.has("limit_pref_v");
  if (loss.prefactor("gf").is_on() && loss.numb_generalized_coord < 1)
    reader.expected("numb_generalized_coord", "a positive integer beside start_pref_gf");
  check_function(reader, loss);
  const char *hessian = "the Hessian term of the loss, which needs third derivatives of the energy";
  read_foreign(reader, {{"start_pref_h", 0, hessian}, {"limit_pref_h", 0, hessian}}, input.ignored);
  reader.finish();
}

}  // namespace dptrain
