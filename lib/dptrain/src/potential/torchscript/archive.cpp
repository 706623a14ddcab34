#include "potential/torchscript/archive.h"

#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include <sstream>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

using caffe2::serialize::PyTorchStreamReader;
using caffe2::serialize::PyTorchStreamWriter;

/// Files that a writer makes itself.
bool is_of_writer(const std::string &name)
{
  return name == "version" || name == ".data/version" || name == ".data/serialization_id";
}

std::string first_line(const std::string &text)
{
  return text.substr(0, text.find('\n'));
}

/// Calls work(reader); what goes wrong is an Error about this file.
template <class Work>
auto with_reader(const std::string &bytes, const std::string &path, const Work &work)
{
  std::istringstream stream(bytes);
  try {
    PyTorchStreamReader reader(&stream);
    return work(reader);
  } catch (const c10::Error &e) {
    throw Error(fmt::format("{}: a damaged archive ({}); copy or freeze the model again", path,
                            first_line(e.what_without_backtrace())));
  }
}

std::string record(PyTorchStreamReader &reader, const std::string &name)
{
  const auto [data, size] = reader.getRecord(name);
  return {static_cast<const char *>(data.get()), size};
}

}  // namespace

std::vector<std::string> record_names(const std::string &bytes, const std::string &path)
{
  return with_reader(bytes, path,
                     [](PyTorchStreamReader &reader) { return reader.getAllRecords(); });
}

std::vector<ArchiveRecord> read_records(const std::string &bytes, const std::string &path,
                                        const std::string &beginning)
{
  return with_reader(bytes, path, [&](PyTorchStreamReader &reader) {
    std::vector<ArchiveRecord> records;
    for (const std::string &name : reader.getAllRecords())
      if (name.starts_with(beginning)) records.push_back({name, record(reader, name)});
    return records;
  });
}

std::string with_edited_code(const std::string &bytes, const std::string &path,
                             const std::function<void(std::string &)> &edit)
{
  return with_reader(bytes, path, [&](PyTorchStreamReader &reader) {
    std::string edited;
    PyTorchStreamWriter writer([&edited](const void *data, std::size_t size) {
      edited.append(static_cast<const char *>(data), size);
      return size;
    });
    writer.setMinVersion(reader.version());
    for (const std::string &name : reader.getAllRecords()) {
      if (is_of_writer(name) || name.ends_with(".debug_pkl")) continue;
      std::string content = record(reader, name);
      if (name.starts_with("code/") && name.ends_with(".py")) edit(content);
      writer.writeRecord(name, content.data(), content.size(), name.ends_with(".py"));
    }
    writer.writeEndOfFile();
    return edited;
  });
}

}  // namespace dptrain
