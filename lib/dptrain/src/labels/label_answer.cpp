#include "dptrain/labels/label_source.h"
#include "parallel/byte_archive.h"

namespace dptrain {

void broadcast(const Communicator &comm, LabelAnswer &answer, int root)
{
  ByteArchive(comm, root).send(answer);
}

}  // namespace dptrain
