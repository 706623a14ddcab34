#include "input/input_sections.h"

namespace dptrain {

namespace {

using nlohmann::json;

void read_prefactors(JsonReader &reader, LossConfig &loss)
{
  for (auto &[term, prefactor] : loss.prefactors) {
    prefactor.start = reader.not_negative("start_pref_" + term, prefactor.start);
    prefactor.limit = reader.not_negative("limit_pref_" + term, prefactor.limit);
  }
  for (const char *key : {"start_pref_h", "limit_pref_h"})
    reader.only(key, 0,
                "the Hessian term of the loss, which needs third derivatives of the energy");
}

void read_huber_delta(JsonReader &reader, LossConfig &loss)
{
  const json *value = reader.find("huber_delta");
  if (!value) return;
  if (value->is_number()) {
    loss.huber_delta.fill(reader.positive("huber_delta", 0.0));
    return;
  }
  const char *allowed =
      "a positive number, or a list of three of them for energy, force and virial";
  if (!value->is_array() || value->size() != 3) reader.expected("huber_delta", allowed);
  for (std::size_t i = 0; i < 3; ++i) {
    const json &delta = (*value)[i];
    if (!delta.is_number() || !(delta.get<double>() > 0.0)) reader.expected("huber_delta", allowed);
    loss.huber_delta[i] = delta.get<double>();
  }
}

/// The form of the loss. As in DeePMD-kit, loss_func "mae" leaves use_huber without effect.
void read_function(JsonReader &reader, LossConfig &loss)
{
  const bool huber = reader.boolean("use_huber", false);
  const bool mae = reader.choice("loss_func", "mse", {"mse", "mae"}) == "mae";
  loss.function = mae ? LossFunction::mae : huber ? LossFunction::huber : LossFunction::mse;
  loss.f_use_norm = reader.boolean("f_use_norm", loss.f_use_norm);
  if (loss.f_use_norm && !huber && !mae)
    reader.fail("f_use_norm", "needs use_huber true or loss_func \"mae\"");
  if (!huber) return;
  const auto refuse = [&](bool active, const char *key) {
    if (active) reader.fail(key, "does not go together with use_huber; keep one of them");
  };
  refuse(loss.prefactors["pf"].is_on(), "start_pref_pf");
  refuse(loss.prefactors["gf"].is_on(), "start_pref_gf");
  refuse(loss.relative_f.has_value(), "relative_f");
}

}  // namespace

void read_loss_section(JsonReader reader, InputFile &input)
{
  LossConfig &loss = input.training.loss;
  check_kind(reader, reader.text("type", "ener"), {"ener", "ener_hess"}, "loss");
  read_prefactors(reader, loss);
  loss.numb_generalized_coord =
      static_cast<int>(reader.integer("numb_generalized_coord", 0, 0, INT32_MAX));
  if (loss.prefactors["gf"].is_on() && loss.numb_generalized_coord < 1)
    reader.expected("numb_generalized_coord", "a positive integer beside start_pref_gf");
  loss.relative_f = reader.optional_number("relative_f");
  if (loss.relative_f) reader.not_negative("relative_f", 0.0);
  loss.enable_atom_ener_coeff =
      reader.boolean("enable_atom_ener_coeff", loss.enable_atom_ener_coeff);
  loss.use_default_pf = reader.boolean("use_default_pf", loss.use_default_pf);
  loss.intensive_ener_virial = reader.boolean("intensive_ener_virial", loss.intensive_ener_virial);
  read_huber_delta(reader, loss);
  read_function(reader, loss);
  reader.finish();
}

}  // namespace dptrain
