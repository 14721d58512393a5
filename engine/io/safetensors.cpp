#include "engine/io/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/io/atomic_file.h"
#include "engine/io/safetensors_header.h"

namespace mercer::io {

struct Safetensors::State {
    std::shared_ptr<const File> file;
    ReadOptions options;
    SafetensorsHeader header;

    Tensor load(const TensorInfo& t) const;
};

Safetensors Safetensors::from(std::shared_ptr<const File> file, const ReadOptions& options) {
    SafetensorsHeader header = read_safetensors_header(*file, options);
    return Safetensors(
        std::make_shared<const State>(State{std::move(file), options, std::move(header)}));
}

Safetensors Safetensors::open(const std::filesystem::path& path, const ReadOptions& options) {
    return from(File::open("read_safetensors", path, options.map), options);
}

Safetensors Safetensors::parse(std::span<const std::byte> bytes, const ReadOptions& options) {
    return from(File::view("read_safetensors", bytes), options);
}

size_t Safetensors::size() const { return state_->header.entries.size(); }

TensorInfo Safetensors::info(size_t i) const {
    const SafetensorsHeader& h = state_->header;
    const auto& e = h.entries.at(i);
    return {h.name(e), e.element, h.shape(e), h.data_at + e.begin, e.end - e.begin};
}

// size() where there is none.
size_t Safetensors::place(std::string_view name) const {
    const SafetensorsHeader& h = state_->header;
    const auto at = std::partition_point(h.entries.begin(), h.entries.end(),
                                         [&](const auto& e) { return h.name(e) < name; });
    return at == h.entries.end() || h.name(*at) != name ? size() : size_t(at - h.entries.begin());
}

bool Safetensors::contains(std::string_view name) const { return place(name) < size(); }

TensorInfo Safetensors::info(std::string_view name) const {
    const size_t i = place(name);
    if (i < size()) return info(i);
    std::string known;
    for (size_t k = 0; k < std::min<size_t>(size(), 5); ++k)
        known += (k ? ", " : ": ") + in_quotes(info(k).name);
    state_->file->reject(Reject::no_such_tensor, name, 8,
                         "the file has no tensor of this name; it has ", size(), known,
                         size() > 5 ? ", …" : "");
}

Tensor Safetensors::State::load(const TensorInfo& t) const {
    return load_elements(file, t.name, t.element, t.shape, t.offset, false, options);
}

Tensor Safetensors::read(std::string_view name) const { return state_->load(info(name)); }

TensorMap Safetensors::read(std::span<const std::string> names) const {
    TensorMap tensors;
    for (const std::string& name : names) tensors.insert_or_assign(name, read(name));
    return tensors;
}

TensorMap Safetensors::read_all() const {
    TensorMap tensors;
    for (size_t i = 0; i < size(); ++i) {
        const TensorInfo t = info(i);
        tensors.emplace_hint(tensors.end(), t.name, state_->load(t));
    }
    return tensors;
}

Metadata Safetensors::metadata() const {
    Metadata all;
    for (uint32_t at : state_->header.metadata) {
        const std::string key = state_->header.text.data() + at;
        all.emplace_hint(all.end(), key, state_->header.text.data() + at + key.size() + 1);
    }
    return all;
}

// ---- writing -----------------------------------------------------------------------------------

namespace {

constexpr const char* writing = "write_safetensors";

// As a JSON string. Throws ValueError when it is not UTF-8.
std::string json_string(std::string_view text) {
    try {
        return nlohmann::json(text).dump();
    } catch (const nlohmann::json::exception&) {
        throw ValueError(writing, in_quotes(text), " is not UTF-8; encode it");
    }
}

void refuse(const std::string& name, const char* what) {
    throw ValueError(writing, "the tensor ", in_quotes(name), what);
}

void check(const std::string& name, const Tensor& tensor) {
    require_name(name);
    if (!tensor.defined()) refuse(name, " is not defined; give it a value or leave it out");
    if (tensor.device() != Device{})
        throw DeviceError(writing, "the tensor ", in_quotes(name),
                          " is not in host memory; copy it");
}

}  // namespace

void require_name(const std::string& name) {
    if (name.empty() || name == metadata_name || name.size() > longest_name)
        refuse(name, ": a name has 1 to 65536 bytes and is not \"__metadata__\"; choose another");
    for (unsigned char c : name)
        if (c < 0x20 || c == 0x7f)
            refuse(name, ": its name has a control character; choose another");
}

void write_safetensors(const std::filesystem::path& path, const TensorMap& tensors,
                       const Metadata& metadata) {
    std::vector<TensorMap::const_pointer> order;
    for (const auto& item : tensors) {
        check(item.first, item.second);
        order.push_back(&item);
    }
    std::stable_sort(order.begin(), order.end(), [](auto a, auto b) {
        return element_of(a->second.dtype()) > element_of(b->second.dtype());
    });

    std::string header = "{";
    if (!metadata.empty()) {
        header += "\"__metadata__\":{";
        for (const auto& [key, value] : metadata) {
            if ((key + value).find('\0') != std::string::npos)
                throw ValueError(writing, "metadata ", in_quotes(key),
                                 " holds a NUL; leave it out");
            ((header += json_string(key)) += ':') += json_string(value) + ',';
        }
        header.back() = '}';
        header += ',';
    }
    uint64_t end = 0;
    for (const auto* item : order) {
        const auto& [name, t] = *item;
        std::string shape;
        for (int64_t size : t.shape()) shape += (shape.empty() ? "" : ",") + std::to_string(size);
        const uint64_t begin = end;
        end += uint64_t(t.count()) * size_of(t.dtype());
        ((header += json_string(name)) += ":{\"dtype\":\"") += name_of(element_of(t.dtype()));
        header += "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(begin) + ',' +
                  std::to_string(end) + "]},";
    }
    if (header.back() == ',') header.pop_back();
    header += '}';
    header.resize((header.size() + 7) / 8 * 8, ' ');
    if (header.size() > highest_header)
        throw ValueError(writing, "the header would have ", header.size(),
                         " bytes, the format's limit is 100000000; write two files");

    AtomicFile file(writing, path);
    const uint64_t length = header.size();  // little-endian, as the machine is (element.cpp)
    file.write(&length, sizeof length);
    file.write(header);
    for (const auto* item : order) {
        const Tensor t = item->second.contiguous();
        file.write(t.raw(), size_t(t.count()) * size_of(t.dtype()));
    }
    file.commit();
}

}  // namespace mercer::io
