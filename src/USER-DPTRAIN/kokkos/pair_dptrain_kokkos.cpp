/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "kokkos/pair_dptrain_kokkos.h"

#include <cstddef>
#include <type_traits>
#include <utility>

#include "adapter/lammps_compat.h"
#include "atom_masks.h"
#include "error.h"
#include "kokkos/kokkos_atoms.h"
#include "neigh_list_kokkos.h"
#include "neighbor.h"
#include "styles/pair_dptrain_data.h"

using namespace LAMMPS_NS;

namespace {

template <class DeviceType> using Range = Kokkos::RangePolicy<DeviceType>;

/// Whether the host reads what lies in the memory of this device.
template <class DeviceType>
constexpr bool HOST_READS =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename DeviceType::memory_space>::accessible;

/// Whether it is the memory that the library's kernels use: they run on the default device.
template <class DeviceType>
constexpr bool IS_KERNEL_MEMORY =
    std::is_same_v<typename DeviceType::memory_space,
                   typename Kokkos::DefaultExecutionSpace::memory_space>;

template <class T>
using HostNumbers = Kokkos::View<T *, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
template <class DeviceType, class T>
using DeviceNumbers = Kokkos::View<T *, DeviceType, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class DeviceType> void to_host(const double *values, std::size_t n, double *host)
{
  Kokkos::deep_copy(HostNumbers<double>(host, n),
                    DeviceNumbers<DeviceType, const double>(values, n));
}

template <class View> void grow(View &view, std::size_t n)
{
  if (view.extent(0) >= n) return;
  view = View();  // before there are two
  view = View(Kokkos::view_alloc(Kokkos::WithoutInitializing, "dptrain"), n + n / 8);
}

// Kernels stand in functions of their own: nvcc takes none from private functions of a class.

template <class DeviceType, class From>
void to_angstrom(const From &x, double length, int n, const Kokkos::View<double *, DeviceType> &to)
{
  Kokkos::parallel_for(
      "dptrain::to_angstrom", Range<DeviceType>(0, n), KOKKOS_LAMBDA(const int i) {
        for (int k = 0; k < 3; ++k) to(3 * i + k) = x(i, k) / length;
      });
}

template <class DeviceType, class From>
void map_types(const From &type, const Kokkos::View<int *, DeviceType> &map, int n,
               const Kokkos::View<int *, DeviceType> &to)
{
  Kokkos::parallel_for(
      "dptrain::map_types", Range<DeviceType>(0, n),
      KOKKOS_LAMBDA(const int i) { to(i) = map(type(i)); });
}

template <class DeviceType, class Masks>
void hide_types(const Masks &mask, int groups, int n, const Kokkos::View<int *, DeviceType> &type)
{
  Kokkos::parallel_for(
      "dptrain::hide_types", Range<DeviceType>(0, n), KOKKOS_LAMBDA(const int i) {
        if (mask(i) & groups) type(i) = -1;
      });
}

template <class DeviceType, class Force>
void add_to_forces(const Kokkos::View<double *, DeviceType> &values, double unit, int n,
                   const Force &f)
{
  Kokkos::parallel_for(
      "dptrain::add_to_forces", Range<DeviceType>(0, n), KOKKOS_LAMBDA(const int i) {
        for (int k = 0; k < 3; ++k) f(i, k) += unit * values(3 * i + k);
      });
}

template <class DeviceType, class Buffer>
void pack(const double *values, int n, const Buffer &buffer)
{
  Kokkos::parallel_for(
      "dptrain::pack", Range<DeviceType>(0, n),
      KOKKOS_LAMBDA(const int k) { buffer(k) = values[k]; });
}

// An atom is once in the list of a swap.
template <class DeviceType, class Atoms, class Buffer>
void unpack(const Buffer &buffer, const Atoms &atoms, int n, int width, double *values)
{
  Kokkos::parallel_for(
      "dptrain::unpack", Range<DeviceType>(0, n), KOKKOS_LAMBDA(const int i) {
        for (int k = 0; k < width; ++k)
          values[static_cast<std::size_t>(atoms(i)) * width + k] += buffer(i * width + k);
      });
}

}  // namespace

template <class DeviceType>
PairDPTrainKokkos<DeviceType>::PairDPTrainKokkos(LAMMPS *lmp) : PairDPTrain(lmp)
{
  respa_enable = 0;
  kokkosable = 1;
  reverse_comm_device = 1;
  atomKK = kokkos_atoms(lmp, "Pair style dptrain");
  execution_space = ExecutionSpaceFromDevice<DeviceType>::space;
  datamask_read = X_MASK | F_MASK | TYPE_MASK | ENERGY_MASK | VIRIAL_MASK;
  datamask_modify = F_MASK | ENERGY_MASK | VIRIAL_MASK;
}

template <class DeviceType> void PairDPTrainKokkos<DeviceType>::init_style()
{
  atomKK->sync(Host, TYPE_MASK | Q_MASK | TAG_MASK);
  PairDPTrain::init_style();
  auto *request = neighbor->find_request(this);
  request->set_kokkos_host(std::is_same_v<DeviceType, LMPHostType> &&
                           !std::is_same_v<DeviceType, LMPDeviceType>);
  request->set_kokkos_device(std::is_same_v<DeviceType, LMPDeviceType>);
  check_model();
  model_type_ = Integers("dptrain", data_->slot->model_type().size());
  copy_map(data_->slot->model_type());
}

template <class DeviceType>
void PairDPTrainKokkos<DeviceType>::copy_map(const std::vector<int> &map)
{
  Kokkos::deep_copy(model_type_, HostNumbers<const int>(map.data(), map.size()));
}

// What only the host can do.
template <class DeviceType> void PairDPTrainKokkos<DeviceType>::check_model() const
{
  if (HOST_READS<DeviceType>) return;
  const ModelInUse &slot = *data_->slot;
  const bool device_model = !slot.model() || slot.model()->reads_kernel_memory();
  if (device_model && data_->committee.empty()) return;
  error->all(FLERR,
             "Pair style dptrain/kk: {}: use pair_style dptrain/kk/host, which takes the atoms "
             "from the host",
             device_model
                 ? "a committee compares forces on the host"
                 : fmt::format("{} is a program of TorchScript, which reads the host's memory",
                               slot.path()));
}

template <class DeviceType> void PairDPTrainKokkos<DeviceType>::compute(int eflag, int vflag)
{
  atomKK->sync(execution_space, datamask_read);
  // the host looks at atoms that pass messages, some of them on one rank, and sorts deviations by
  // ids
  const bool passes_messages = (data_->slot->model() && !data_->slot->model()->is_local()) ||
                               data_->committee.passes_messages();
  if (passes_messages || data_->deviation_options.every > 0 || data_->watch.is_due())
    atomKK->sync(Host, X_MASK | TYPE_MASK | TAG_MASK | IMAGE_MASK);
  if (data_->exclusions.any()) {
    atomKK->sync(Host, MASK_MASK | TYPE_MASK);
    atomKK->sync(execution_space, MASK_MASK);
  }
  ev_init(eflag, vflag);
  compute_model();
  atomKK->modified(execution_space, F_MASK);
  if (has_baseline()) atomKK->sync(Host, ALL_MASK);
  add_baseline(eflag, vflag);
  if (has_baseline()) atomKK->modified(Host, F_MASK);
}

template <class DeviceType> dptrain::Domain PairDPTrainKokkos<DeviceType>::atoms()
{
  atomKK->sync(execution_space, X_MASK | TYPE_MASK);  // who asks for bars may come from the host
  const auto &lists = static_cast<NeighListKokkos<DeviceType> &>(*list);
  dptrain::Domain domain;
  domain.in_kernel_memory = IS_KERNEL_MEMORY<DeviceType>;
  domain.nlocal = atom->nlocal;
  domain.nall = atom->nlocal + atom->nghost;
  domain.x = positions(domain.nall);
  domain.type = model_types(domain.nall);
  domain.num_centers = list->inum;
  domain.centers = lists.d_ilist.data();
  domain.num_neighbors = lists.d_numneigh.data();
  domain.neighbor_table = lists.d_neighbors.data();
  domain.row_stride = static_cast<std::ptrdiff_t>(lists.d_neighbors.stride(0));
  domain.entry_stride = static_cast<std::ptrdiff_t>(lists.d_neighbors.stride(1));
  domain.largest_row = static_cast<int>(lists.d_neighbors.extent(1));
  domain.neighbor_mask = NEIGHMASK;
  data_->add_whole_frame(lmp, domain);
  return domain;
}

// Those of LAMMPS where they are double, in rows, and in Angstrom.
template <class DeviceType> const double *PairDPTrainKokkos<DeviceType>::positions(int nall)
{
  const auto x = atomKK->k_x.template view<DeviceType>();
  const double length = data_->units.length;
  if constexpr (std::is_same_v<typename decltype(x)::non_const_value_type, double>)
    if (length == 1.0 && x.stride(0) == 3 && x.stride(1) == 1) return x.data();
  grow(x_, 3 * static_cast<std::size_t>(nall));
  to_angstrom<DeviceType>(x, length, nall, x_);
  return x_.data();
}

template <class DeviceType> const int *PairDPTrainKokkos<DeviceType>::model_types(int nall)
{
  const Exclusions &exclusions = data_->exclusions;
  if (exclusions.any()) copy_map(exclusions.model_type());
  grow(type_, nall);
  map_types<DeviceType>(atomKK->k_type.template view<DeviceType>(), model_type_, nall, type_);
  if (exclusions.hidden_groups() != 0)
    hide_types<DeviceType>(atomKK->k_mask.template view<DeviceType>(), exclusions.hidden_groups(),
                           nall, type_);
  return type_.data();
}

template <class DeviceType>
double *PairDPTrainKokkos<DeviceType>::clear_result(Result result, std::size_t n)
{
  Numbers &values = results_[result];
  grow(values, n);
  sizes_[result] = n;
  Kokkos::deep_copy(DeviceType(),
                    Kokkos::subview(values, std::pair<std::size_t, std::size_t>(0, n)), 0.0);
  return values.data();
}

template <class DeviceType> const double *PairDPTrainKokkos<DeviceType>::host_result(Result result)
{
  const Numbers &values = results_[result];
  if (HOST_READS<DeviceType>) return values.data();
  std::vector<double> &host = data_->results[result];
  host.resize(sizes_[result]);
  to_host<DeviceType>(values.data(), host.size(), host.data());
  return host.data();
}

template <class DeviceType> void PairDPTrainKokkos<DeviceType>::add_forces(int n)
{
  add_to_forces<DeviceType>(results_[FORCE], data_->units.force(), n,
                            atomKK->k_f.template view<DeviceType>());
}

template <class DeviceType> void PairDPTrainKokkos<DeviceType>::host_atoms()
{
  atomKK->sync(Host, X_MASK | TYPE_MASK | MASK_MASK);
}

template <class DeviceType> bool PairDPTrainKokkos<DeviceType>::searches_neighbors() const
{
  return !IS_KERNEL_MEMORY<DeviceType>;
}

template <class DeviceType>
int PairDPTrainKokkos<DeviceType>::pack_reverse_comm_kokkos(int n, int first,
                                                            CommBufferKokkos &buffer)
{
  const int width = data_->fold.width;
  pack<DeviceType>(data_->fold.values + static_cast<std::size_t>(first) * width, n * width,
                   buffer.template view<DeviceType>());
  return n * width;
}

template <class DeviceType>
void PairDPTrainKokkos<DeviceType>::unpack_reverse_comm_kokkos(int n, DAT::tdual_int_1d list,
                                                               CommBufferKokkos &buffer)
{
  unpack<DeviceType>(buffer.template view<DeviceType>(), list.template view<DeviceType>(), n,
                     data_->fold.width, data_->fold.values);
}

// The communication of the host, which LAMMPS chooses where MPI cannot read the memory of a device.
template <class DeviceType>
int PairDPTrainKokkos<DeviceType>::pack_reverse_comm(int n, int first, double *buffer)
{
  if (HOST_READS<DeviceType>) return PairDPTrain::pack_reverse_comm(n, first, buffer);
  const std::size_t width = data_->fold.width;
  to_host<DeviceType>(data_->fold.values + width * first, width * n, buffer);
  return static_cast<int>(width) * n;
}

template <class DeviceType>
void PairDPTrainKokkos<DeviceType>::unpack_reverse_comm(int n, int *list, double *buffer)
{
  if (HOST_READS<DeviceType>) return PairDPTrain::unpack_reverse_comm(n, list, buffer);
  const int width = data_->fold.width;
  const Integers atoms("dptrain", n);
  const Numbers packed("dptrain", static_cast<std::size_t>(n) * width);
  Kokkos::deep_copy(atoms, HostNumbers<const int>(list, n));
  Kokkos::deep_copy(packed, HostNumbers<const double>(buffer, packed.extent(0)));
  unpack<DeviceType>(packed, atoms, n, width, data_->fold.values);
}

template <class DeviceType> double PairDPTrainKokkos<DeviceType>::memory_usage()
{
  double numbers = static_cast<double>(x_.extent(0));
  for (const Numbers &result : results_) numbers += static_cast<double>(result.extent(0));
  return PairDPTrain::memory_usage() + numbers * sizeof(double) +
         static_cast<double>(type_.extent(0) * sizeof(int));
}

namespace LAMMPS_NS {
template class PairDPTrainKokkos<LMPDeviceType>;
#ifdef LMP_KOKKOS_GPU
template class PairDPTrainKokkos<LMPHostType>;
#endif
}  // namespace LAMMPS_NS
