#include "dptrain/frames/whole_frame.h"

#include "parallel/byte_archive.h"

namespace dptrain {

void broadcast(const Communicator &comm, WholeFrame &frame)
{
  ByteArchive(comm).send(frame);
}

}  // namespace dptrain
