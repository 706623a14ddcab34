#pragma once

#include "dptrain/labels/label_source.h"
#include "frames/label_bytes.h"

namespace dptrain {

/// For others who send structs that have an answer.
inline void visit_fields(ByteArchive &archive, LabelAnswer &answer)
{
  auto &[request, failure, label, extra, seconds] = answer;
  archive.fields(request, failure, label, extra, seconds);
}

}  // namespace dptrain
