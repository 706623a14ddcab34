#include "session/learning/model_factory.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/native/deep_pot.h"
#include "io/file.h"
#include "session/learning/descriptor_scale.h"

namespace dptrain {

namespace {

constexpr double neighbor_margin = 1.5;  // the first frames are few: others will have more

// Changes with each position, cell and type, but not with rounding: runs on other numbers of ranks differ by that.
std::uint64_t mix(std::uint64_t hash, const WholeFrame &frame)
{
  const auto add = [&hash](std::int64_t value) { hash = hash_of(&value, sizeof(value), hash); };
  constexpr double resolution = 1e4;  // per Angstrom
  for (const double component : frame.box) add(std::llround(component * resolution));
  for (const double component : frame.coord) add(std::llround(component * resolution));
  for (const int type : frame.type) add(type);
  return hash;
}

// "Si 64", the same for all orders of the atoms.
std::string composition_of(const WholeFrame &frame, const std::vector<std::string> &type_map)
{
  std::string text;
  for (std::size_t t = 0; t < type_map.size(); ++t)
    text += fmt::format("{}{} {}", t == 0 ? "" : " ", type_map[t],
                        std::count(frame.type.begin(), frame.type.end(), static_cast<int>(t)));
  return text;
}

std::vector<const Frame *> pointers(const std::vector<Frame> &frames)
{
  std::vector<const Frame *> all;
  for (const Frame &frame : frames) all.push_back(&frame);
  return all;
}

}  // namespace

ModelData new_model(std::shared_ptr<const Communicator> comm, const ModelConfig &config,
                    const Statistics &statistics, const std::string &model_def_script,
                    const std::function<std::vector<const Frame *>()> &frames)
{
  ModelData data;
  guarded(*comm, [&] {
    if (comm->rank() == 0) data = new_deep_pot(config, statistics, model_def_script);
  });
  broadcast(*comm, data);
  scale_descriptor(std::move(comm), data, frames);
  return data;
}

ModelFactory::ModelFactory(std::shared_ptr<const Communicator> comm, const TrainingOptions &options,
                           const InputFile &input) :
    comm_(std::move(comm)), options_(options), model_def_script_(input.model_def_script)
{
  set_config(input.model);
}

void ModelFactory::set_config(const ModelConfig &config)
{
  config_ = config;
  if (options_.seed) config_.descriptor->seed = config_.fitting_seed = options_.seed;
}

void ModelFactory::note(const WholeFrame &frame)
{
  if (noted_++ == 0) composition_ = composition_of(frame, config_.type_map);
  data_hash_ = mix(data_hash_, frame);
}

// The frames that statistics are made of.
std::string ModelFactory::source() const
{
  return fmt::format("{}, {} frames with hash {:016x}", composition_, noted_,
                     static_cast<unsigned long long>(data_hash_));
}

// A file of an earlier run saves the computation, and gives the new model the same numbers.
bool ModelFactory::read_statistics(std::string &said)
{
  std::string text;
  guarded(*comm_, [&] {
    if (comm_->rank() == 0 && std::filesystem::exists(options_.stat))
      text = read_file(options_.stat);
  });
  broadcast(*comm_, text);
  if (text.empty()) return false;
  statistics_ =
      Statistics::from_json(text, options_.stat, config_.type_map, statistics_settings(config_));
  if (statistics_.source() != source())
    said = fmt::format("the statistics in {} are those of other frames ({}) than the present ones "
                       "({}), and are used; remove the file to have them computed",
                       options_.stat, statistics_.source(), source());
  return true;
}

void ModelFactory::collect_statistics(const std::vector<Frame> &frames)
{
  statistics_ = Statistics(config_.ntypes(), statistics_settings(config_));
  const BatchShares shares(pointers(frames), *comm_);
  guarded(*comm_, [&] {
    for (const Frame *share : shares.frames()) statistics_.add(share->weighted_domain());
  });
  statistics_.reduce(*comm_);
  statistics_.set_source(source());
  guarded(*comm_, [&] {
    if (comm_->rank() != 0 || options_.stat.empty()) return;
    const std::string text = statistics_.to_json(config_.type_map);
    write_atomically(options_.stat, [&](const std::string &name) { write_file(name, text); });
  });
}

ModelData ModelFactory::make(const std::vector<Frame> &frames, std::string &said)
{
  if (options_.stat.empty() || !read_statistics(said)) collect_statistics(frames);
  complete(config_, statistics_, neighbor_margin);
  return new_model(comm_, config_, statistics_, model_def_script_,
                   [&] { return pointers(frames); });
}

}  // namespace dptrain
