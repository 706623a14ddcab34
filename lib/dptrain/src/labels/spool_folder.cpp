#include "labels/spool_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "dptrain/base/error.h"
#include "dptrain/io/atomic_file.h"
#include "io/file.h"

namespace dptrain {

namespace {

namespace fs = std::filesystem;

constexpr const char *description = "spool.json", *format = "dptrain spool";
constexpr int version = 1;
constexpr int attempts = 3;  // a file server that was restarted refuses the first one
constexpr auto pause = std::chrono::milliseconds(100);

void write_text(const std::string &path, const std::string &text)
{
  write_atomically(path, [&text](const std::string &temporary) { write_file(temporary, text); });
}

// Without those that begin with a dot: files in the making, and what file systems hide.
std::vector<std::string> visible_names(const std::string &folder)
{
  std::vector<std::string> names = list_folder(folder);
  names.erase(std::remove_if(names.begin(), names.end(),
                             [](const std::string &name) { return name[0] == '.'; }),
              names.end());
  return names;
}

// Not the spool as well: where that is gone, something is wrong.
void make_request_folder(const std::string &path)
{
  std::error_code code;
  fs::create_directory(path, code);
  if (code)
    throw Error(fmt::format("cannot create the folder '{}' for a request: {}; check that the spool "
                            "is there, has space and may be written to",
                            path, code.message()));
}

void expect_spool(const std::string &path)
{
  const std::string file = path + "/" + description;
  const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
  const bool ours = json.is_object() && json.value("format", nlohmann::json()) == format &&
                    json.value("version", nlohmann::json()).is_number_integer();
  if (!ours)
    throw Error(fmt::format(
        "the file '{}' does not describe a spool of dptrain; choose another folder", file));
  if (json["version"] > version)
    throw Error(fmt::format("the spool '{}' has format version {}, this program knows {}; update "
                            "it, or choose another folder",
                            path, json["version"].dump(), version));
}

}  // namespace

bool has(const std::vector<std::string> &names, const std::string &name)
{
  return std::find(names.begin(), names.end(), name) != names.end();
}

SpoolFolder::SpoolFolder(const std::string &path) : path_(fs::absolute(path).lexically_normal())
{
  make_folder(path_);
  const std::vector<std::string> names = visible_names(path_);
  if (has(names, description)) {
    expect_spool(path_);
    return;
  }
  if (!names.empty())
    throw Error(fmt::format("the folder '{}' is no spool, but not empty either (it has '{}'); "
                            "choose a new folder, or the one of an earlier run",
                            path_, names.front()));
  write_text(path_ + "/" + description,
             nlohmann::json({{"format", format}, {"version", version}}).dump() + "\n");
}

std::string SpoolFolder::path(const std::string &name, const std::string &file) const
{
  return path_ + "/" + name + "/" + file;
}

bool SpoolFolder::put(const std::string &name, const std::string &structure) const
{
  for (int attempt = 1;; ++attempt) {
    try {
      make_request_folder(path_ + "/" + name);
      if (has(files(name), request)) return true;
      write_text(path(name, request), structure);
      return false;
    } catch (const Error &) {
      if (attempt == attempts) throw;
      std::this_thread::sleep_for(pause);
    }
  }
}

std::vector<std::string> SpoolFolder::files(const std::string &name) const
{
  try {
    return visible_names(path_ + "/" + name);
  } catch (const Error &) {
    // a spool without its description is a disk that is not there at the moment
    const std::vector<std::string> names = visible_names(path_);
    if (has(names, description) && !has(names, name)) return {};
    throw;
  }
}

std::string SpoolFolder::put_aside(const std::string &name) const
{
  const std::vector<std::string> names = files(name);
  std::string aside;
  for (int k = 1; aside.empty() || has(names, aside); ++k)
    aside = fmt::format("{}.bad{}", answer, k);
  if (std::rename(path(name, answer).c_str(), path(name, aside).c_str()) != 0)
    throw Error(fmt::format("it cannot be renamed: {} (remove it)", std::strerror(errno)));
  return aside;
}

void SpoolFolder::take_back(const std::string &name) const
{
  try {
    if (files(name) != std::vector<std::string>{request}) return;
  } catch (const Error &) {
    return;  // somebody has removed it
  }
  // the folder stays where somebody begins just now; he finds no request
  ::unlink(path(name, request).c_str());
  ::rmdir((path_ + "/" + name).c_str());
}

}  // namespace dptrain
