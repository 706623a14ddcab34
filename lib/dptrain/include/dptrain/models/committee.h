#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/models/model_in_use.h"
#include "dptrain/potential/model/evaluator.h"

namespace dptrain {

/// The further models that pair style dptrain compares with the one that moves the atoms. They are evaluated when they are
/// asked, for the configuration that was shown last.
class Committee {
 public:
  /// Adds what ghosts hold to their owners: values [nall][3].
  using Fold = std::function<void(double *values)>;

  /// Reads the members' files, with the settings and the elements of `main`; replaces members that were there. Collective;
  /// throws Error on all ranks.
  void load(const Communicator &comm, const std::vector<std::string> &files,
            const ModelInUse &main);
  bool empty() const { return members_.empty(); }
  /// Whether the atoms of a member pass messages.
  bool passes_messages() const;
  double cutoff() const;  ///< the largest, Angstrom; 0 without members
  /// Files of members with the parameters of an earlier one or of `main`: they add nothing.
  std::vector<std::string> repeated(const ModelInUse &main) const;

  /// Shows what was computed with `main`: a domain with its model types, of which positions are copied (all else must
  /// stay until the next call), unfolded forces [nall][3] and virial.
  void show(const Domain &domain, const double *force, const std::array<double, 9> &virial);
  /// Forgets what was shown, as after a step without a model.
  void forget() { shown_ = false; }
  bool shown() const { return shown_; }
  int nlocal() const { return domain_.nlocal; }

  /// [models] forces on the owned atoms in eV/Angstrom, folded, the main model first. Collective through `fold`;
  /// throws what the evaluation of a model throws.
  std::vector<const double *> forces(const Fold &fold);
  /// [models] this rank's part of the virials in eV. After forces().
  const std::vector<std::array<double, 9>> &virials() const { return virials_; }
  double memory_bytes() const;

 private:
  struct Member {
    std::shared_ptr<ModelInUse> slot;
    std::unique_ptr<Evaluator> evaluator;
    int first_type = 0;     ///< the lowest of the member's types that are in use
    std::vector<int> type;  ///< by type of the main model: that of the member, -1: not in use
  };
  std::vector<Member> members_;
  bool shown_ = false, evaluated_ = false;
  Domain domain_;
  std::vector<double> x_;                       // [nall][3] Angstrom
  std::vector<int> type_;                       // [nall], of the member that is evaluated
  std::vector<std::vector<double>> forces_;     // [models][nall][3]; owned atoms count
  std::vector<std::array<double, 9>> virials_;  // [models]

  void evaluate(Member &member, std::size_t model);
};

}  // namespace dptrain
