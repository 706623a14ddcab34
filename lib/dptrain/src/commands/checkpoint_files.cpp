#include "commands/checkpoint_files.h"

#include <filesystem>
#include <fmt/format.h>

#include "dptrain/io/atomic_file.h"
#include "io/file.h"

namespace dptrain {

namespace fs = std::filesystem;

CheckpointFiles::CheckpointFiles(const OfflineConfig &config, int keep) :
    prefix_((fs::path(config.save_dir) / config.save_ckpt).string()), keep_(keep)
{
  const std::string folder = fs::path(prefix_).parent_path().string();
  if (!folder.empty()) make_folder(folder);
}

std::set<std::int64_t> CheckpointFiles::left() const
{
  const fs::path folder = fs::path(prefix_).parent_path();
  const std::string start = fs::path(prefix_).filename().string() + "-", end = ".dp";
  std::set<std::int64_t> steps;
  for (const std::string &name : list_folder(folder.empty() ? "." : folder.string())) {
    if (name.size() <= start.size() + end.size() || name.compare(0, start.size(), start) != 0)
      continue;
    const std::string digits = name.substr(start.size(), name.size() - start.size() - end.size());
    constexpr std::size_t most_digits = 18;
    const bool is_number = digits.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || digits.size() > most_digits) continue;
    const std::int64_t step = std::stoll(digits);
    if (name == start + digits + end) steps.insert(step);
  }
  return steps;
}

void CheckpointFiles::take_over(std::int64_t last)
{
  for (const std::int64_t step : left())
    if (step <= last) written_.push_back(path(step));
}

std::string CheckpointFiles::path(std::int64_t step) const
{
  return fmt::format("{}-{}.dp", prefix_, step);
}

void CheckpointFiles::wrote(std::int64_t step)
{
  const std::string file = path(step);
  const std::string target = fs::path(file).filename().string();
  // the link itself is replaced, not the file behind it
  const std::string link = newest() + ".new";
  fs::remove(link);
  fs::create_symlink(target, link);
  fs::rename(link, newest());
  write_atomically("checkpoint", [&](const std::string &name) { write_file(name, file + "\n"); });
  if (written_.empty() || written_.back() != file) written_.push_back(file);
  while (keep_ > 0 && written_.size() > keep_) {
    std::error_code missing;
    fs::remove(written_.front(), missing);
    written_.pop_front();
  }
}

}  // namespace dptrain
