#pragma once

#include "dptrain/labels/label_source.h"
#include "frames/label_bytes.h"

namespace dptrain {

/// For others who send structs that have an answer.
void visit_fields(ByteArchive &archive, LabelAnswer &answer);

}  // namespace dptrain
