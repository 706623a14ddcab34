#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/deep_pot.h"
#include "kernels/descriptor.h"
#include "kernels/environment.h"
#include "model/embedding_table.h"
#include "model/mlp.h"
#include "neighbor/edge_list.h"

namespace dptrain {

/// DeePMD-kit's se_e2_a descriptor with the energy fitting net.
///
/// For a chunk of centres of one type: edges -> environment matrix -> table of the embedding net -> T = scale * R^T G ->
/// D = T^T T_< -> fitting net -> E_i, and back. Pass B carries tangents along the same way and returns with the gradient of
/// (E, E_dot). No per-edge storage survives a chunk.
class DeepPot final : public Model {
 public:
  explicit DeepPot(ModelData data);

  double cutoff() const override { return data_.config.rcut; }
  const std::vector<std::string> &type_map() const override { return data_.config.type_map; }
  bool is_local() const override { return true; }
  const std::vector<ParameterBlock> &parameter_index() const override { return index_; }
  const std::vector<double> &parameters() const override { return data_.parameters; }
  void set_parameters(const std::vector<double> &values) override;
  void change_parameters(const std::function<void(std::vector<double> &)> &change) override;
  std::uint64_t version() const override { return version_; }
  std::vector<double> energy_bias() const override { return data_.out_bias; }
  void set_energy_bias(const std::vector<double> &bias) override;
  bool has_energy(int type) const override
  {
    const auto &excluded = data_.config.atom_exclude_types;
    return std::find(excluded.begin(), excluded.end(), type) == excluded.end();
  }
  void prepare() override;
  void expect_distance(double r_min) override;
  void forward(const Domain &domain, ForwardOutput &out) override;
  void gradient(const Domain &domain, const GradientSeed &seed, double *gradient) override;
  void set_chunk(int centers) override { chunk_ = centers; }
  std::vector<double> auxiliary_state() const override;
  void set_auxiliary_state(const std::vector<double> &state) override;
  std::size_t memory_bytes() const override;
  std::int64_t overflow_count() const override { return edges_.overflow_count(); }
  void save(const std::string &path, const std::vector<double> *parameters) const override;

  const ModelData &data() const { return data_; }
  EmbeddingTable &table() { return table_; }

 private:
  void make_networks();
  void make_rules();
  void sort_centers(const Domain &domain);
  double argument(int type, double r) const;
  double largest_argument(double r) const;
  void prepare_vacuum_energies();
  bool subtracts_vacuum(int type) const;
  kernels::DescriptorShape descriptor_shape(int centers) const;
  void begin_chunk(const Domain &domain, int type, const int *centers, int n);
  void forward_chunk(const Domain &domain, int type, const int *centers, int n, ForwardOutput &out);
  void gradient_chunk(int type, int n, const GradientSeed &seed, double *gradient);
  void add_vacuum_gradient(int type, double seed, double *gradient);
  void resize_edge_arrays(int num_edges);

  ModelData data_;
  std::vector<ParameterBlock> index_;
  std::uint64_t version_ = 1, prepared_version_ = 0;
  int chunk_ = 128;

  std::vector<kernels::EnvironmentParameters> environment_;  // by centre type
  EdgeRules rules_;
  EmbeddingTable table_;
  std::vector<Mlp> fitting_;           // by centre type
  std::vector<double> vacuum_energy_;  // fitting net at D = 0, by type, where it is subtracted
  double expected_distance_ = 0.0;

  EdgeList edges_;
  kernels::Edges view_;
  MlpWorkspace workspace_;
  std::vector<std::vector<int>> centers_by_type_;
  std::vector<double> t_, t_dot_, d_, g_t_, g_t_dot_, seeds_;
  std::vector<double> edge_vector_[3], edge_row_[4],
      edge_arg_;  // derivatives or tangents of the edges of a chunk
};

}  // namespace dptrain
