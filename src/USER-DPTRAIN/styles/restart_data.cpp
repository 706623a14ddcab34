/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/restart_data.h"

#include <optional>

#include "comm.h"
#include "error.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

// The first number. Others stand for versions before the first release.
constexpr int FORMAT = -8;

void write_text(FILE *file, const std::string &text)
{
  const int size = static_cast<int>(text.size());
  fwrite(&size, sizeof(int), 1, file);
  fwrite(text.data(), 1, size, file);
}

template <class T> void write_value(FILE *file, T value)
{
  fwrite(&value, sizeof(T), 1, file);
}

void write_level(FILE *file, std::optional<double> level)
{
  write_value(file, level.value_or(0.0));  // levels are positive
}

void write_deviation(FILE *file, const DeviationOptions &deviation)
{
  write_value(file, static_cast<int>(deviation.files.size()));
  for (const std::string &member : deviation.files) write_text(file, member);
  write_value(file, deviation.every);
  write_text(file, deviation.path);
  write_value(file, static_cast<int>(deviation.atomic));
  write_level(file, deviation.relative);
  write_level(file, deviation.relative_v);
}

// Reads on rank 0 for all.
class Reader {
 public:
  Reader(LAMMPS *lmp, FILE *file) : lmp_(lmp), file_(file) {}
  void bytes(void *data, std::size_t size)
  {
    if (lmp_->comm->me == 0) utils::sfread(FLERR, data, 1, size, file_, nullptr, lmp_->error);
    MPI_Bcast(data, static_cast<int>(size), MPI_BYTE, 0, lmp_->world);
  }
  template <class T> T value()
  {
    T number{};
    bytes(&number, sizeof(T));
    return number;
  }
  std::string text()
  {
    std::string characters(value<int>(), ' ');
    if (!characters.empty()) bytes(characters.data(), characters.size());
    return characters;
  }
  std::optional<double> level()
  {
    const double number = value<double>();
    return number > 0.0 ? std::optional<double>(number) : std::nullopt;
  }

 private:
  LAMMPS *lmp_;
  FILE *file_;
};

DeviationOptions read_deviation(Reader &reader)
{
  DeviationOptions deviation;
  const int members = reader.value<int>();
  for (int k = 0; k < members; ++k) deviation.files.push_back(reader.text());
  deviation.every = reader.value<bigint>();
  deviation.path = reader.text();
  deviation.atomic = reader.value<int>() != 0;
  deviation.relative = reader.level();
  deviation.relative_v = reader.level();
  return deviation;
}

}  // namespace

void LAMMPS_NS::write_restart_data(FILE *file, const RestartData &data)
{
  const ModelSettings &settings = data.settings;
  for (const int number :
       {FORMAT, settings.knots, settings.chunk, static_cast<int>(settings.precision)})
    write_value(file, number);
  write_value(file, data.hash);
  write_text(file, data.path);
  write_text(file, data.elements);
  write_deviation(file, data.deviation);
  write_value(file, static_cast<int>(settings.native));
  write_value(file, static_cast<int>(settings.fparam.size()));
  for (const double value : settings.fparam) write_value(file, value);
  write_value(file, static_cast<int>(settings.wall.choice));
  write_value(file, settings.wall.distance);
  write_value(file, static_cast<int>(settings.total.has_value()));
  write_value(file, settings.total.value_or(0.0));
  write_value(file, data.watch.every);
  write_text(file, data.watch.folder);
  write_value(file, static_cast<int>(data.watch.stops));
  write_text(file, data.kspace);
}

RestartData LAMMPS_NS::read_restart_data(LAMMPS *lmp, const std::string &who, FILE *file)
{
  Reader reader(lmp, file);
  RestartData data;
  const int format = reader.value<int>();
  if (format != FORMAT)
    lmp->error->all(
        FLERR,
        "{}: the restart file is of another version of the package (its settings have "
        "format {}, this version reads {}): write the atoms with that version as a data "
        "file (write_data) and read them with read_data",
        who, -format, -FORMAT);
  data.settings.knots = reader.value<int>();
  data.settings.chunk = reader.value<int>();
  const int precision = reader.value<int>();
  if (precision < 0 || precision > static_cast<int>(dptrain::Precision::mixed))
    lmp->error->all(FLERR,
                    "{}: the restart file has precision {}, allowed are 0 (double), 1 (single) and "
                    "2 (mixed): it is damaged, write it again",
                    who, precision);
  data.settings.precision = static_cast<dptrain::Precision>(precision);
  data.hash = reader.value<std::uint64_t>();
  data.path = reader.text();
  data.elements = reader.text();
  data.deviation = read_deviation(reader);
  data.settings.native = reader.value<int>() != 0;
  const int values = reader.value<int>();
  for (int k = 0; k < values; ++k) data.settings.fparam.push_back(reader.value<double>());
  data.settings.wall.choice = static_cast<dptrain::WallSettings::Choice>(reader.value<int>());
  data.settings.wall.distance = reader.value<double>();
  const bool has_total = reader.value<int>() != 0;
  const double total = reader.value<double>();
  if (has_total) data.settings.total = total;
  data.watch.every = reader.value<bigint>();
  data.watch.folder = reader.text();
  data.watch.stops = reader.value<int>() != 0;
  data.kspace = reader.text();
  return data;
}
