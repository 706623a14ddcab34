#include "restart_data.h"

#include "comm.h"
#include "error.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

// The first number. Version 0.1.0 began with the number of knots, and had no precision.
constexpr int FORMAT = -2;

void write_text(FILE *file, const std::string &text)
{
  const int size = static_cast<int>(text.size());
  fwrite(&size, sizeof(int), 1, file);
  fwrite(text.data(), 1, size, file);
}

}  // namespace

void LAMMPS_NS::write_restart_data(FILE *file, const RestartData &data)
{
  const ModelSettings &settings = data.settings;
  for (const int number :
       {FORMAT, settings.knots, settings.chunk, static_cast<int>(settings.precision)})
    fwrite(&number, sizeof(int), 1, file);
  fwrite(&data.hash, sizeof(data.hash), 1, file);
  write_text(file, data.path);
  write_text(file, data.elements);
}

RestartData LAMMPS_NS::read_restart_data(LAMMPS *lmp, const std::string &who, FILE *file)
{
  const auto read = [&](void *data, std::size_t size) {
    if (lmp->comm->me == 0) utils::sfread(FLERR, data, 1, size, file, nullptr, lmp->error);
    MPI_Bcast(data, static_cast<int>(size), MPI_BYTE, 0, lmp->world);
  };
  const auto read_int = [&] {
    int number = 0;
    read(&number, sizeof(int));
    return number;
  };
  const auto read_text = [&] {
    std::string text(read_int(), ' ');
    if (!text.empty()) read(text.data(), text.size());
    return text;
  };
  RestartData data;
  const int format = read_int();
  if (format < 0 && format != FORMAT)
    lmp->error->all(FLERR,
                    "{}: the restart file has settings of format {}, this version reads up to {}: "
                    "use the version of the package that wrote it",
                    who, -format, -FORMAT);
  data.settings.knots = format < 0 ? read_int() : format;
  data.settings.chunk = read_int();
  const int precision = format < 0 ? read_int() : 0;
  if (precision < 0 || precision > static_cast<int>(dptrain::Precision::mixed))
    lmp->error->all(FLERR,
                    "{}: the restart file has precision {}, allowed are 0 (double), 1 (single) and "
                    "2 (mixed): it is damaged, write it again",
                    who, precision);
  data.settings.precision = static_cast<dptrain::Precision>(precision);
  read(&data.hash, sizeof(data.hash));
  data.path = read_text();
  data.elements = read_text();
  return data;
}
