#include "commands/test_system.h"

#include <cstring>
#include <fmt/format.h>
#include <numeric>

#include "dptrain/base/error.h"
#include "dptrain/parallel/broadcast.h"

namespace dptrain {

namespace {

constexpr std::size_t sums_size = sizeof(ErrorSums) / sizeof(double);
static_assert(sizeof(ErrorSums) == num_test_quantities * 4 * sizeof(double));

ErrorSums to_sums(const double *numbers)
{
  ErrorSums sums;
  std::memcpy(static_cast<void *>(sums.data()), numbers, sizeof(sums));
  return sums;
}

}  // namespace

/// Numbers of a record before the details: sums of errors, and how many forces are below their bars.
std::size_t SystemTest::head_size() const
{
  return sums_size + 2 * model_->type_map().size();
}

/// Frames that are tested before results are exchanged, and which rank has each.
struct SystemTest::Block {
  std::vector<std::int64_t> frame, natoms;
  std::vector<std::size_t> size;  ///< of the record
  std::vector<int> rank;          ///< that sends the record
};

SystemTest::SystemTest(std::shared_ptr<const Communicator> comm, std::shared_ptr<Model> model,
                       bool atomic, bool details, EvaluateBaseline baseline,
                       std::size_t block_numbers) :
    comm_(std::move(comm)),
    alone_(make_mpi_communicator()),
    model_(std::move(model)),
    atomic_(atomic),
    details_(details),
    baseline_(std::move(baseline)),
    block_numbers_(block_numbers)
{
}

SystemTest::Block SystemTest::next_block(const DataSystem &system,
                                         const std::vector<std::int64_t> &frames, std::size_t first,
                                         bool together) const
{
  Block block;
  const std::size_t ranks = comm_->size();
  std::size_t numbers = 0;
  for (std::size_t k = first; k < frames.size(); ++k) {
    const std::int64_t natoms = system.natoms(frames[k]);
    const std::size_t size = head_size() + (details_ ? detail_row::size(natoms) : 0);
    if (numbers + size > block_numbers_ && block.frame.size() >= ranks) break;
    numbers += size;
    block.frame.push_back(frames[k]);
    block.natoms.push_back(natoms);
    block.size.push_back(size);
    block.rank.push_back(together ? 0 : static_cast<int>((k - first) % ranks));
  }
  return block;
}

std::vector<double> SystemTest::test(const DataSystem &system, std::int64_t index,
                                     const std::shared_ptr<const Communicator> &comm) const
{
  WholeFrame frame;
  guarded(*comm, [&] { frame = system.read(index); });
  try {
    FramePrediction prediction = predict(model_, comm, frame);
    if (baseline_) guarded(*comm, [&] { dptrain::add(prediction, baseline_(frame)); });
    const ErrorSums sums = frame_errors(frame, prediction, atomic_);
    std::vector<double> record(sums_size);
    std::memcpy(record.data(), sums.data(), sizeof(sums));
    BarCoverage coverage;
    coverage.add(atom_errors(frame, prediction, model_->bars()));
    const std::vector<double> bars = coverage.numbers(model_->type_map().size());
    record.insert(record.end(), bars.begin(), bars.end());
    if (details_) {
      const std::vector<double> row =
          frame_details(frame, prediction, model_->bars().is_known() && !frame.label.force.empty());
      record.insert(record.end(), row.begin(), row.end());
    }
    return record;
  } catch (const Error &error) {
    throw Error(fmt::format("{}: frame {}: {}", system.name(), index, error.what()));
  }
}

void SystemTest::add(const Block &block, const std::vector<double> &records, SystemErrors &errors,
                     const Receive &receive) const
{
  // records lie rank after rank, each rank's in the order of the frames
  std::vector<std::size_t> next(comm_->size() + 1, 0);
  for (std::size_t k = 0; k < block.frame.size(); ++k) next[block.rank[k] + 1] += block.size[k];
  for (std::size_t r = 1; r < next.size(); ++r) next[r] += next[r - 1];
  for (std::size_t k = 0; k < block.frame.size(); ++k) {
    const double *record = &records[next[block.rank[k]]];
    next[block.rank[k]] += block.size[k];
    const ErrorSums of_frame = to_sums(record);
    for (std::size_t q = 0; q < num_test_quantities; ++q) errors.sums[q].add(of_frame[q]);
    errors.bars.add(std::vector<double>(record + sums_size, record + head_size()));
    if (details_) receive(record + head_size(), block.natoms[k]);
  }
}

std::vector<double> SystemTest::test_block(const DataSystem &system, const Block &block,
                                           bool together) const
{
  std::vector<double> records;
  guarded(*comm_, [&] {
    for (std::size_t k = 0; k < block.frame.size(); ++k) {
      const bool mine = block.rank[k] == comm_->rank();
      if (!together && !mine) continue;
      const auto record = test(system, block.frame[k], together ? comm_ : alone_);
      if (mine) records.insert(records.end(), record.begin(), record.end());
    }
  });
  return records;
}

std::vector<double> SystemTest::gather(const Block &block, const std::vector<double> &mine) const
{
  std::vector<int> sent(comm_->size(), 0), received(comm_->size(), 0);
  std::vector<double> all;
  guarded(*comm_, [&] {
    sent[0] = static_cast<int>(mine.size());
    if (comm_->rank() != 0) return;
    for (std::size_t k = 0; k < block.frame.size(); ++k)
      received[block.rank[k]] += static_cast<int>(block.size[k]);
    all.resize(std::accumulate(received.begin(), received.end(), std::size_t(0)));
  });
  comm_->all_to_all(mine.data(), sent, all.data(), received);
  return all;
}

SystemErrors SystemTest::run(const DataSystem &system, const std::vector<std::int64_t> &frames,
                             const Receive &receive) const
{
  const bool together = frames.size() < std::size_t(comm_->size()) && model_->is_local();
  SystemErrors errors;
  for (std::size_t done = 0; done < frames.size();) {
    Block block;
    guarded(*comm_, [&] { block = next_block(system, frames, done, together); });
    const std::vector<double> records = gather(block, test_block(system, block, together));
    guarded(*comm_, [&] {
      if (comm_->rank() == 0) add(block, records, errors, receive);
    });
    done += block.frame.size();
  }
  comm_->broadcast(errors.sums.data(), sizeof(errors.sums), 0);
  broadcast(*comm_, errors.bars);
  return errors;
}

}  // namespace dptrain
