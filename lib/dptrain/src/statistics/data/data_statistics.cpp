#include "statistics/data/data_statistics.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "dptrain/base/error.h"
#include "dptrain/potential/native/deep_pot.h"
#include "statistics/data/statistics_share.h"

namespace dptrain {

namespace {

/// Keeps the closer of two pairs; of equal ones the first in the data.
void keep_closest(std::optional<ClosestPair> &kept, const ClosestPair &other)
{
  const auto order = [](const ClosestPair &c) {
    return std::make_tuple(c.pair.distance, c.frame, c.pair.i, c.pair.j);
  };
  if (!kept || order(other) < order(*kept)) kept = other;
}

/// The sums of one rank.
class Collector {
 public:
  Collector(const Systems &systems, const ModelConfig &config, const StatisticsOptions &options) :
      systems_(systems),
      rcut_(config.rcut),
      min_pair_dist_(options.min_pair_dist),
      ntypes_(config.ntypes()),
      energies_(config.ntypes()),
      outliers_(config.ntypes()),
      config_(config)
  {
    found_.statistics = Statistics(ntypes_, statistics_settings(config));
    found_.systems.resize(systems.size());
    for (auto &system : found_.systems) system.max_neighbors.assign(ntypes_, 0);
  }

  void add(const FrameShare &share)
  {
    const DataSystem &system = *systems_[share.system];
    const WholeFrame frame = system.read(share.frame);
    try {
      add(share, frame);
    } catch (const Error &error) {
      throw Error(fmt::format("System {}, frame {} (frames and atoms are counted from 0): {}",
                              system.name(), share.frame, error.what()));
    }
  }

  DataStatistics finish(const Communicator &comm)
  {
    found_.statistics.reduce(comm);
    energies_.gather(comm);
    gather_systems(comm);
    found_.outliers = outliers_.find(comm);
    found_.energy = energies_.fit(config_.atom_exclude_types, config_.atom_ener);
    return std::move(found_);
  }

 private:
  void add(const FrameShare &share, const WholeFrame &frame);
  void gather_systems(const Communicator &comm);

  const Systems &systems_;
  double rcut_, min_pair_dist_;
  int ntypes_;
  DataStatistics found_;
  EnergyStatistics energies_;
  OutlierSearch outliers_;
  const ModelConfig &config_;
};

void Collector::add(const FrameShare &share, const WholeFrame &frame)
{
  SystemStatistics &system = found_.systems[share.system];
  FrameSearch search(frame, ntypes_, rcut_);
  if (min_pair_dist_ > 0.0) {
    search.for_each_atom(0, 1, 1, [](const Neighborhood &) {});
    if (search.closest() && search.closest()->distance < min_pair_dist_) {
      ++system.skipped;
      return;
    }
  }
  search.for_each_atom(share.begin, share.end, share.of, [&](const Neighborhood &around) {
    found_.statistics.add(around);
    ++system.atoms;
    for (int t = 0; t < ntypes_; ++t)
      system.max_neighbors[t] =
          std::max(system.max_neighbors[t], around.first[t + 1] - around.first[t]);
  });
  if (search.closest()) keep_closest(system.closest, {*search.closest(), share.frame});
  if (share.begin != 0) return;
  ++system.frames;
  energies_.add(frame.type, frame.label);
  outliers_.add(frame.type, frame.label, share.system, share.frame);
  if (frame.periodic) {
    system.volume += search.volume();
    system.atoms_in_cells += search.natoms();
  }
}

// A record of fixed length for each system of which the rank has seen something.
void Collector::gather_systems(const Communicator &comm)
{
  std::vector<double> packed;
  for (std::size_t s = 0; s < systems_.size(); ++s) {
    const SystemStatistics &system = found_.systems[s];
    if (system.frames + system.skipped + system.atoms == 0) continue;
    const ClosestPair closest = system.closest.value_or(ClosestPair{{0.0, 0, 0}, -1});
    for (double value :
         {double(s), double(system.frames), double(system.skipped), double(system.atoms),
          system.volume, double(system.atoms_in_cells), closest.pair.distance,
          double(closest.pair.i), double(closest.pair.j), double(closest.frame)})
      packed.push_back(value);
    packed.insert(packed.end(), system.max_neighbors.begin(), system.max_neighbors.end());
  }
  for (auto &system : found_.systems) system = {0, 0, 0, 0.0, 0, {}, std::vector<int>(ntypes_, 0)};
  for (const auto &records : gather_arrays(comm, packed))
    for (const double *p = records.data(); p < records.data() + records.size(); p += 10 + ntypes_) {
      SystemStatistics &system = found_.systems[static_cast<std::size_t>(p[0])];
      system.frames += static_cast<std::int64_t>(p[1]);
      system.skipped += static_cast<std::int64_t>(p[2]);
      system.atoms += static_cast<std::int64_t>(p[3]);
      system.volume += p[4];
      system.atoms_in_cells += static_cast<std::int64_t>(p[5]);
      if (p[9] >= 0)
        keep_closest(system.closest, {{p[6], static_cast<int>(p[7]), static_cast<int>(p[8])},
                                      static_cast<std::int64_t>(p[9])});
      for (int t = 0; t < ntypes_; ++t)
        system.max_neighbors[t] = std::max(system.max_neighbors[t], static_cast<int>(p[10 + t]));
    }
}

}  // namespace

DataStatistics collect_statistics(const Communicator &comm, const Systems &systems,
                                  const ModelConfig &config, const StatisticsOptions &options)
{
  std::unique_ptr<Collector> collector;
  guarded(comm, [&] {
    collector = std::make_unique<Collector>(systems, config, options);
    // whether a frame is left out shows only when all of it has been searched
    const bool cut = options.min_pair_dist <= 0.0;
    for_each_share(systems, options.max_frames, cut, comm.rank(), comm.size(),
                   [&](const FrameShare &share) { collector->add(share); });
  });
  return collector->finish(comm);
}

}  // namespace dptrain
