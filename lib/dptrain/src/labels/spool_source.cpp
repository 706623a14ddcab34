#include "dptrain/labels/spool_source.h"

#include <utility>

#include "labels/spool.h"

namespace dptrain {

constexpr double longest_spool_sleep =
    0.2;  // seconds; sleeps grow with the time that an answer needs

SpoolSource::SpoolSource(std::shared_ptr<const Communicator> comm, const SpoolOptions &options,
                         std::function<SpoolAtoms()> atoms, const Messages &messages) :
    RankZeroSource(
        std::move(comm),
        [&] { return std::make_unique<Spool>(options, std::move(atoms), messages); },
        longest_spool_sleep)
{
}

}  // namespace dptrain
