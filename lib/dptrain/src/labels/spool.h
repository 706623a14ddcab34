#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/labels/spool_source.h"
#include "labels/spool_folder.h"

namespace dptrain {

/// What a SpoolSource does on rank 0.
class Spool final : public LocalSource {
 public:
  Spool(const SpoolOptions &options, std::function<SpoolAtoms()> atoms, Messages messages);

  std::int64_t submit(const WholeFrame &frame) override;
  std::vector<LabelAnswer> poll(double seconds) override;
  void cancel(std::int64_t request) override;

 private:
  using Time = double;  // of the clock, seconds

  // Something that cannot be used, but may change.
  struct Doubt {
    std::string sign;  // what it is: another sign is another doubt
    Time since = 0.0;
    bool reported = false;
  };
  struct Request {
    std::string name;       // of its folder
    std::string structure;  // text of its file
    WholeFrame frame;
    std::vector<std::string> elements;
    Time start = 0.0;
    Doubt doubt;
  };

  SpoolOptions options_;
  std::function<SpoolAtoms()> atoms_;
  Messages messages_;
  SpoolFolder folder_;
  std::int64_t submitted_ = 0;
  std::map<std::int64_t, Request> open_;
  Time last_event_, next_look_;
  double waited_ = 0.0;  // seconds since an answer came in which the run had nothing else to do
  bool reported_waiting_ = false, reported_answers_ = false;

  Time now() const { return options_.clock.now(); }
  /// True once, when the sign has been the same for long enough.
  bool is_settled(Doubt &doubt, const std::string &sign) const;
  std::vector<LabelAnswer> look_at_all();
  std::optional<LabelAnswer> look_at(Request &request);
  std::optional<LabelAnswer> find_answer(Request &request);
  std::optional<LabelAnswer> read_answer(Request &request);
  LabelAnswer read_failure(const Request &request) const;
  void report_waiting();
};

}  // namespace dptrain
