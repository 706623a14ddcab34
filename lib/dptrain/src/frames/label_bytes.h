#pragma once

#include "dptrain/frames/whole_frame.h"
#include "parallel/byte_archive.h"

namespace dptrain {

/// For others who send structs that have a label or a frame.
void visit_fields(ByteArchive &archive, Label &label);
void visit_fields(ByteArchive &archive, WholeFrame &frame);

}  // namespace dptrain
