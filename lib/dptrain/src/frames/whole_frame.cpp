#include "dptrain/frames/whole_frame.h"

#include "frames/label_bytes.h"

namespace dptrain {

void visit_fields(ByteArchive &archive, Label &label)
{
  auto &[energy, force, virial, force_weight, atom_energy, atom_pref, atom_ener_coeff, drdq] =
      label;
  archive.fields(energy, force, virial, force_weight, atom_energy, atom_pref, atom_ener_coeff,
                 drdq);
}

void visit_fields(ByteArchive &archive, WholeFrame &frame)
{
  auto &[step, coord, type, box, periodic, held_out, label] = frame;
  archive.fields(step, coord, type, box, periodic, held_out, label);
}

void broadcast(const Communicator &comm, WholeFrame &frame)
{
  ByteArchive(comm).send(frame);
}

}  // namespace dptrain
