#pragma once

#include "dptrain/frames/frame.h"
#include "parallel/byte_archive.h"

namespace dptrain {

/// For others who send structs that have a label.
void visit_fields(ByteArchive &archive, Label &label);

}  // namespace dptrain
