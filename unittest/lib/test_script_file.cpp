// TorchScript archives as files: read, written, refused.

#include <caffe2/serialize/inline_container.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include "dptrain/base/error.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/files/pth_file.h"
#include "dptrain/potential/model/model_data.h"
#include "potential/torchscript/archive.h"
#include "potential/torchscript/script_model.h"
#include "support/scratch.h"
#include "support/script_case.h"

namespace dptrain::test {

namespace {

using Extra = std::vector<std::pair<std::string, std::string>>;

/// A zip file as PyTorch writes them, with these files in it.
std::string zip_of(const Extra &files)
{
  std::string bytes;
  caffe2::serialize::PyTorchStreamWriter writer([&bytes](const void *data, std::size_t size) {
    bytes.append(static_cast<const char *>(data), size);
    return size;
  });
  for (const auto &[name, text] : files) writer.writeRecord(name, text.data(), text.size());
  writer.writeEndOfFile();
  return bytes;
}

std::string with_extra(const std::string &archive, const Extra &files)
{
  std::istringstream in(archive);
  const torch::jit::Module module = torch::jit::load(in);
  torch::jit::ExtraFilesMap extra;
  for (const auto &[name, text] : files) extra[name] = text;
  std::ostringstream out;
  module.save(out, extra);
  return out.str();
}

std::string record(const std::string &bytes, const std::string &name)
{
  for (const ArchiveRecord &found : read_records(bytes, "toy", name))
    if (found.name == name) return found.bytes;
  return "";
}

std::string code_of(const std::string &bytes)
{
  std::string code;
  for (const ArchiveRecord &found : read_records(bytes, "toy", "code/"))
    if (found.name.find(".debug_pkl") == std::string::npos) code += found.bytes;
  return code;
}

/// Text of the refusal of these bytes in FILE.pth.
std::string refusal(const std::string &bytes)
{
  const Scratch scratch;
  const std::string path = scratch.with("some.pth", bytes);
  const std::string text = message_of([&] { read_pth(path); });
  EXPECT_EQ(text.find(path + ": "), 0u) << text;  // which file it is
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  return text;
}

std::string refusal_of_toy(const std::string &name)
{
  return refusal(script_toy(script_toy_named(name)));
}

/// Parameters and constants that nobody has frozen.
void change(ModelData &data)
{
  Numbers random(8);
  for (double &p : data.parameters) p += random(-0.1, 0.1);
  for (double &b : data.out_bias) b += random(-100, 100);
}

}  // namespace

TEST(ScriptFile, WhatIsReadIsWhatTheArchiveSays)
{
  const Scratch scratch;
  for (const char *name : {"local", "messages", "mixed", "features"}) {
    const ScriptToy &toy = script_toy_named(name);
    const ModelData data = read_pth(scratch.with("a.pth", script_toy(toy)));
    EXPECT_EQ(data.kind, ModelKind::torchscript);
    EXPECT_EQ(data.config.type_map, (std::vector<std::string>{"A", "B"}));
    EXPECT_EQ(data.config.rcut, 4.0);
    EXPECT_EQ(data.max_neighbors, 80);
    EXPECT_EQ(data.passes_messages, toy.messages);
    EXPECT_EQ(data.min_nbor_dist, 0.9);
    EXPECT_NE(data.model_def_script.find("\"toy\""), std::string::npos);
    EXPECT_EQ(data.parameters.size(), 20u + 16u + 20u + 8u + 4u + 8u);
    EXPECT_EQ(data.out_bias, (std::vector<double>{-1.5, 2.25}));
    const auto model = script_model(toy);
    const AtomFeatures *layer = model->features();
    EXPECT_EQ(layer ? layer->number() : 0, toy.features ? 4u : 0u);
  }
}

TEST(ScriptFile, MadeTwiceItIsTheSame)
{
  const Scratch scratch;
  const ModelData a = read_pth(scratch.with("a.pth", script_toy()));
  const ModelData b = read_pth(scratch.with("b.pth", script_toy()));
  EXPECT_EQ(a.parameters, b.parameters);
}

TEST(ScriptFile, WhatIsWrittenIsRead)
{
  const Scratch scratch;
  for (const char *name : {"local", "messages", "fparam", "padding", "border"}) {
    ModelData data = read_pth(scratch.with("a.pth", script_toy(script_toy_named(name))));
    change(data);
    if (script_toy_named(name).fparam) data.fparam = {FPARAM};
    write_pth(scratch / "b.pth", data);
    ModelData again = read_pth(scratch / "b.pth");
    EXPECT_EQ(again.parameters, data.parameters) << name;     // bits
    expect_same(data.out_bias, again.out_bias, 1e-14, name);  // one addition each way
    // and the archive runs with them, whoever loads it
    again.fparam = data.fparam;
    const Frame frame = one_rank_frame(script_frame());
    ScriptModel of_file(again, "b.pth"), of_data(data, "a.pth");
    const ScriptResult a = script_results(of_data, frame.domain());
    const ScriptResult b = script_results(of_file, frame.domain());
    EXPECT_EQ(a.network_energy, b.network_energy) << name;
    EXPECT_EQ(a.force, b.force) << name;
    // the second generation is the first
    write_pth(scratch / "c.pth", again);
    EXPECT_EQ(read_pth(scratch / "c.pth").parameters, data.parameters) << name;
  }
}

TEST(ScriptFile, WrittenAgainItDependsOnTheLatestDataOnly)
{
  const Scratch scratch;
  const ModelData data = read_pth(scratch.with("a.pth", script_toy()));
  ModelData other = data;
  change(other);
  write_pth(scratch / "first.pth", data);
  write_pth(scratch / "other.pth", other);
  write_pth(scratch / "second.pth", data);
  EXPECT_EQ(read_file(scratch / "first.pth"), read_file(scratch / "second.pth"));
  // and of another archive
  ModelData messages = read_pth(scratch.with("b.pth", script_toy(script_toy_named("messages"))));
  change(messages);
  write_pth(scratch / "third.pth", messages);
  EXPECT_EQ(read_pth(scratch / "third.pth").parameters, messages.parameters);
}

TEST(ScriptFile, OtherProgramsSeeTheNewParameters)
{
  const Scratch scratch;
  ModelData data = read_pth(scratch.with("a.pth", script_toy()));
  change(data);
  write_pth(scratch / "b.pth", data);
  torch::jit::Module module = torch::jit::load(scratch / "b.pth");
  EXPECT_FALSE(module.is_training());
  const torch::Tensor bias =
      module.attr("atomic_model").toModule().attr("out_bias").toTensor().view({-1});
  std::size_t next = 0;
  for (const auto &parameter : module.named_parameters()) {
    const torch::Tensor values = parameter.value.detach().contiguous();
    EXPECT_TRUE(parameter.value.requires_grad());
    for (std::int64_t k = 0; k < values.numel(); ++k)
      EXPECT_EQ(values.data_ptr<double>()[k], data.parameters.at(next++));
  }
  for (int t = 0; t < 2; ++t) EXPECT_NEAR(bias[t].item<double>(), data.out_bias[t], 1e-12);
}

TEST(ScriptFile, Float32ArchivesKeepTheirPrecision)
{
  const Scratch scratch;
  ModelData data = read_pth(scratch.with("a.pth", script_toy(script_toy_named("single"))));
  change(data);
  write_pth(scratch / "b.pth", data);
  const ModelData again = read_pth(scratch / "b.pth");
  for (std::size_t k = 0; k < data.parameters.size(); ++k)
    EXPECT_EQ(again.parameters[k], static_cast<double>(static_cast<float>(data.parameters[k])));
  for (const auto &parameter : torch::jit::load(scratch / "b.pth").named_parameters())
    EXPECT_EQ(parameter.value.scalar_type(), torch::kFloat32);
}

TEST(ScriptFile, FilesOfOthersInTheArchiveStay)
{
  const Scratch scratch;
  const std::string archive = with_extra(script_toy(), {{"notes.txt", "trained on Monday"}});
  ModelData data = read_pth(scratch.with("a.pth", archive));
  change(data);
  write_pth(scratch / "b.pth", data);
  EXPECT_EQ(record(read_file(scratch / "b.pth"), "extra/notes.txt"), "trained on Monday");
  EXPECT_EQ(record(read_file(scratch / "b.pth"), "extra/dptrain.h5"), "");  // nothing to keep
}

TEST(ScriptFile, ErrorBarsAreKept)
{
  const Scratch scratch;
  const std::string archive =
      with_extra(script_toy(script_toy_named("features")), {{"notes.txt", "trained on Monday"}});
  ModelData data = read_pth(scratch.with("a.pth", archive));
  EXPECT_TRUE(data.metric.empty());
  for (int k = 0; k < 2 * 4; ++k) data.metric.center.push_back(std::sin(k));
  for (int k = 0; k < 2 * 4 * 4; ++k)  // upper triangles of numbers that float32 has
    data.metric.matrices.push_back(k % 4 >= k / 4 % 4 ? 0.25 * k : 0.0);
  data.bars = {{0.1, 0.3}, 0.95, 12, {24, 36}, "12 labels"};
  data.learning.set("force", 1.0 / 3.0);
  write_pth(scratch / "b.pth", data);
  ModelData again = read_pth(scratch / "b.pth");
  EXPECT_EQ(again.metric, data.metric);
  EXPECT_EQ(again.bars, data.bars);
  EXPECT_EQ(again.learning, data.learning);
  EXPECT_EQ(record(again.archive, "extra/notes.txt"), "trained on Monday");
  // written without it, it is gone
  again.metric = {};
  write_pth(scratch / "c.pth", again);
  EXPECT_TRUE(read_pth(scratch / "c.pth").metric.empty());
}

TEST(ScriptFile, DamagedErrorBarsAreAnError)
{
  const std::string text = refusal(with_extra(script_toy(), {{"dptrain.h5", "not HDF5"}}));
  expect_in("error bars", text);
  expect_in("damaged", text);
}

TEST(ScriptFile, AnArchiveIsWrittenUnderTheNameOfOne)
{
  const Scratch scratch;
  const auto model = script_model({});
  ModelData data = model->data();
  for (double &p : data.parameters) p *= 0.5;
  write_model_file(scratch / "a.pth", data);
  EXPECT_EQ(read_pth(scratch / "a.pth").parameters, data.parameters);
  EXPECT_THROW(write_model_file(scratch / "a.dp", data), Error);
}

TEST(ScriptFile, ModelsOfNoArchiveAreNotWritten)
{
  const Scratch scratch;
  const std::string text = message_of([&] { write_pth(scratch / "a.pth", {}); });
  expect_in(".dp", text);
  expect_in("dp convert-backend", text);
}

// Each says what the file is and what to do.
TEST(ScriptRefusals, ModelsThatAreNoPotentialsHere)
{
  std::string text = refusal_of_toy("spin");
  expect_in("spin model", text);
  expect_in("pair_style deepspin", text);
  text = refusal_of_toy("aparam");
  expect_in("2 parameters of each atom", text);
  expect_in("train a model without aparam", text);
  text = refusal_of_toy("dipole");
  expect_in("predicts dipole, not energies", text);
}

TEST(ScriptRefusals, FrameParameters)
{
  const auto message = [](const char *name, std::vector<double> fparam) {
    ModelData data;
    data.archive = script_toy(script_toy_named(name));
    data.fparam = std::move(fparam);
    return message_of([&] { ScriptModel(data, "toy.pth"); });
  };
  std::string text = message("fparam", {});
  expect_in("toy.pth: ", text);
  expect_in("1 frame parameters", text);
  expect_in("0 are given", text);
  expect_in("fparam V1", text);
  expect_in("2 are given", message("fparam", {1.0, 2.0}));
  expect_in("remove the keyword fparam", message("local", {1.0}));
}

TEST(ScriptRefusals, OtherArchives)
{
  for (const char *name : {"archive_format", "data/aotinductor/model/a.so"}) {
    const std::string text = refusal(zip_of({{name, "pt2"}, {"data.pkl", "x"}}));
    expect_in(".pt2", text);
    expect_in("dp freeze -o model.pth", text);
  }
  std::string text = refusal(zip_of({{"data.pkl", "x"}, {"data/0", "12345678"}}));
  expect_in("weights without a program", text);
  expect_in("freeze -c", text);
  text = refusal("PK\x03\x04 and nothing that belongs there, of some length to be read at all");
  expect_in("damaged archive", text);
  const std::string whole = script_toy();
  expect_in("damaged archive", refusal(whole.substr(0, whole.size() / 2)));
}

TEST(ScriptRefusals, OtherModules)
{
  torch::jit::Module module("__torch__.toy.Plain");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define("def forward(self, x: Tensor) -> Tensor:\n    return x\n");
  std::ostringstream stream;
  module.save(stream);
  const std::string text = refusal(stream.str());
  expect_in("TorchScript module, but no potential", text);
  expect_in("forward_lower", text);
  expect_in("dp --pt freeze", text);
}

TEST(ScriptRefusals, DamageInsideTheProgram)
{
  const std::string broken = with_edited_code(script_toy(), "toy", [](std::string &code) {
    const std::size_t at = code.find("torch.tanh(");
    if (at != std::string::npos) code.replace(at, 11, "torch.no_such_function(");
  });
  expect_in("LibTorch cannot load", refusal(broken));
}

TEST(ScriptOperators, ThoseOfNobodyAreNamed)
{
  const std::string text = refusal_of_toy("foreign");
  expect_in("elsewhere.thing", text);
  expect_in("plugin load", text);
  ScriptToy unknown;
  unknown.operators = "deepmd.of_a_later_version";
  expect_in("deepmd.of_a_later_version", refusal(script_toy(unknown)));
}

// The operator stands in a branch that never runs, as where DeePMD-kit froze the model with its library loaded.
TEST(ScriptOperators, StandInsDoForWhatIsNeverCalled)
{
  const Scratch scratch;
  const std::string archive = script_toy(script_toy_named("border"));
  ASSERT_NE(code_of(archive).find("ops.deepmd.border_op("), std::string::npos);
  EXPECT_ANY_THROW({
    std::istringstream in(archive);
    torch::jit::load(in);
  });
  ModelData data = read_pth(scratch.with("a.pth", archive));
  const Frame frame = one_rank_frame(script_frame());
  ScriptModel model(data, "a.pth");
  EXPECT_EQ(script_results(model, frame.domain()).force,
            script_results(*script_model({}), frame.domain()).force);
  change(data);
  write_pth(scratch / "b.pth", data);
  const std::string code = code_of(read_file(scratch / "b.pth"));
  EXPECT_NE(code.find("ops.deepmd.border_op("), std::string::npos);
  EXPECT_EQ(code.find("stand_in"), std::string::npos);
  EXPECT_EQ(read_pth(scratch / "b.pth").parameters, data.parameters);
}

TEST(ScriptOperators, StandInsThatAreCalledSaySo)
{
  ScriptToy toy = script_toy_named("border");
  ModelData data = script_data(toy);
  data.archive = with_edited_code(data.archive, "toy", [](std::string &code) {
    for (std::size_t at = code.find("self.never"); at != std::string::npos;
         at = code.find("self.never", at))
      code.replace(at, 10, "True");
  });
  const std::string text = message_of([&] { ScriptModel(data, "toy.pth"); });
  expect_in("border_op", text);
  expect_in("not loaded", text);
}

TEST(ScriptFile, IsArchiveByItsFirstBytes)
{
  EXPECT_TRUE(is_archive(script_toy()));
  EXPECT_FALSE(is_archive("{\"model\": {}}"));
  EXPECT_FALSE(is_archive(""));
}

}  // namespace dptrain::test
