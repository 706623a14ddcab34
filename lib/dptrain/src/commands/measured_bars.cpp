#include "commands/measured_bars.h"

#include <fmt/format.h>

#include "commands/spread_frames.h"
#include "commands/test_frame.h"
#include "dptrain/uncertainty/bar_calibration.h"

namespace dptrain {

namespace {

constexpr std::int64_t bar_frames = 200;    // enough to say how large errors are
constexpr std::int64_t known_frames = 100;  // enough to say how far what is known reaches
// errors on frames of another run over those on held-out ones of the same run (bench/results/bars.md)
constexpr double other_runs = 1.1;

}  // namespace

ErrorBars measured_bars(const std::shared_ptr<Model> &model,
                        const std::shared_ptr<const Communicator> &comm, const Systems &learned,
                        const Systems &others, bool are_held_out)
{
  model->set_bars({});  // predictions have plain distances then
  BarCalibration calibration(ErrorBars().coverage, BarCalibration::everything);
  KnownDistances known;
  const auto read = [&](const Systems &systems, const FrameId &id) {
    WholeFrame frame;
    guarded(*comm, [&] { frame = systems[id.system]->read(id.frame); });
    return frame;
  };
  for (const FrameId &id : spread_frames(learned, known_frames))
    known.add(predict(model, comm, read(learned, id)).bar);
  for (const FrameId &id : spread_frames(others, bar_frames)) {
    const WholeFrame frame = read(others, id);
    if (frame.label.force.empty()) continue;
    const FramePrediction found = predict(model, comm, frame);
    calibration.add(atom_errors(frame, found, {}));
    known.add(found.bar);
  }
  ErrorBars bars = calibration.bars(model->type_map().size(),
                                    are_held_out ? "frames that were held out, in blocks"
                                                 : "frames of the validation data");
  if (!bars.is_known()) return bars;
  bars.known_atom = known.largest();
  bars.known_frame = known.largest_frame();
  if (are_held_out)
    for (double &scale : bars.scale) scale *= other_runs;
  return bars;
}

std::vector<std::string> lines_about(const ErrorBars &bars,
                                     const std::vector<std::string> &type_map)
{
  const std::int64_t needed = frames_for(bars.coverage);
  if (!bars.is_known())
    return {fmt::format(
        "no error bars: they need forces of frames that are not trained on: give "
        "validation_data, or \"held_out\": 0.1 in the section training and {} frames or more",
        needed * 10)};
  std::vector<std::string> lines{fmt::format("error bars: {}", text_of(bars, type_map))};
  if (bars.frames < needed)
    lines.push_back(
        fmt::format("WARNING: {} frames are too few for bars that cover {:.3g} %: add frames until "
                    "{} or more are not trained on",
                    bars.frames, 100.0 * bars.coverage, needed));
  return lines;
}

}  // namespace dptrain
