#include "labels/answer_bytes.h"

namespace dptrain {

void visit_fields(ByteArchive &archive, LabelAnswer &answer)
{
  auto &[request, failure, label, extra, seconds] = answer;
  archive.fields(request, failure, label, extra, seconds);
}

void broadcast(const Communicator &comm, LabelAnswer &answer, int root)
{
  ByteArchive(comm, root).send(answer);
}

}  // namespace dptrain
