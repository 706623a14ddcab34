#include "labels/answer_bytes.h"

namespace dptrain {

void broadcast(const Communicator &comm, LabelAnswer &answer, int root)
{
  ByteArchive(comm, root).send(answer);
}

}  // namespace dptrain
