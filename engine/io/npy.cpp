#include "engine/io/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <numeric>
#include <utility>

#include "engine/functions.h"
#include "engine/io/atomic_file.h"

namespace mercer::io {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr uint64_t highest_header = 1 << 20;
constexpr size_t highest_rank = 64;

// numpy's kind and width.
struct Row {
    std::string_view type;
    Element element;
};
constexpr Row rows[] = {{"b1", Element::BOOL}, {"i1", Element::I8},  {"u1", Element::U8},
                        {"i2", Element::I16},  {"u2", Element::U16}, {"i4", Element::I32},
                        {"u4", Element::U32},  {"i8", Element::I64}, {"u8", Element::U64},
                        {"f2", Element::F16},  {"f4", Element::F32}, {"f8", Element::F64},
                        {"c8", Element::C64}};

// Reads the Python dict {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }: the keys in any
// order, each once; nothing else that Python allows.
class HeaderParser {
public:
    HeaderParser(const File& file, std::string_view text, uint64_t text_at)
        : file_(file), text_(text), text_at_(text_at) {}

    NpyInfo parse() {
        if (!take('{')) reject(Reject::header_not_object, "expected the dict that is the header");
        std::array<bool, std::size(keys)> has{};
        for (bool more = true; more && !take('}');) {
            field_ = quoted_text(Reject::invalid_syntax, "a key in quotes");
            const size_t i = size_t(std::ranges::find(keys, field_, &Key::name) - keys);
            if (i == has.size())
                reject(Reject::unknown_field, "keys are descr, fortran_order and shape");
            if (std::exchange(has[i], true)) reject(Reject::duplicate_field, "appears twice");
            if (!take(':')) reject(Reject::invalid_syntax, "expected ':' after the key");
            (this->*keys[i].read)();
            more = take(',');
            if (!more && !take('}'))
                reject(Reject::invalid_syntax, "expected ',' or '}' after the value");
        }
        field_ = {};
        skip_spaces();
        if (at_ != text_.size())
            reject(text_[at_] == '\0' ? Reject::nul_padding : Reject::trailing_text,
                   "after the dict only spaces and a newline may follow");
        for (size_t i = 0; i < has.size(); ++i)
            if (!has[i]) reject(Reject::missing_field, "the key '", keys[i].name, "' is missing");
        return std::move(info_);
    }

private:
    template <class... Parts>
    [[noreturn]] void reject(Reject code, const Parts&... what) {
        file_.reject(code, field_, text_at_ + at_, what...);
    }
    void skip_spaces() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    }
    bool take(char c) { return take(std::string_view(&c, 1)); }
    bool take(std::string_view word) {
        skip_spaces();
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }

    // 'text' or "text", without escapes: none of the texts that are accepted needs one.
    std::string_view quoted_text(Reject code, const char* expected) {
        skip_spaces();
        const char quote = at_ < text_.size() ? text_[at_] : '\0';
        const size_t end =
            quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
        if (end == std::string_view::npos)
            reject(code, "expected ", expected, ", found ", in_quotes(text_.substr(at_, 20)));
        const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return inside;
    }

    void descr() {
        skip_spaces();
        if (text_.substr(at_).starts_with('[') || text_.substr(at_).starts_with('('))
            reject(Reject::structured_dtype,
                   "a structured type; save each of its fields as an array");
        const std::string_view type =
            quoted_text(Reject::dtype_not_string, "an element type in quotes");
        if (type == "O" || type.starts_with("|O"))
            reject(Reject::object_dtype, "an array of Python objects, which only Python can read ",
                   "(and run); convert it to numbers");
        const Row* const row = std::ranges::find(rows, type.substr(!type.empty()), &Row::type);
        const bool one_byte = row != std::end(rows) && bits_of(row->element) == 8;
        const char order = type.empty() ? '\0' : type[0];
        // '|' says that order means nothing, '=' that of the machine: NumPy writes no such file.
        if (row == std::end(rows) || !(order == '<' || order == '>' || (order == '|' && one_byte)))
            reject(Reject::unknown_dtype, in_quotes(type),
                   " is no type that can be read; types are like <f4");
        info_.element = row->element;
        info_.is_big_endian = order == '>' && !one_byte;
    }

    void order() {
        info_.is_fortran = take("True");
        if (!info_.is_fortran && !take("False"))
            reject(Reject::order_not_bool, "expected True or False");
    }

    // (), (3,), (3, 4), (3L, 4L) from Python 2.
    void shape() {
        if (!take('(')) reject(Reject::shape_not_array, "expected a tuple of sizes");
        bool comma = true;
        while (!take(')')) {
            if (!comma) reject(Reject::invalid_syntax, "expected ',' or ')' after a size");
            if (info_.shape.size() == highest_rank)
                reject(Reject::rank_above_limit, "more than 64 sizes; reshape the array");
            info_.shape.push_back(size());
            comma = take(',');
        }
        if (info_.shape.size() == 1 && !comma)
            reject(Reject::shape_not_array, "(n) is a number, a tuple of one is (n,)");
    }

    int64_t size() {
        skip_spaces();
        const char *const from = text_.data() + at_, *const end = text_.data() + text_.size();
        if (from != end && *from == '-')
            reject(Reject::dimension_negative, "a size is negative; sizes are 0 or more");
        int64_t value = 0;
        const auto [to, error] = std::from_chars(from, end, value);
        if (error == std::errc::result_out_of_range)
            reject(Reject::dimension_too_large, "a size is above 2^63 - 1");
        const bool has_more =
            to != end && std::string_view(", )\nL").find(*to) == std::string_view::npos;
        if (error != std::errc() || has_more || (to - from > 1 && *from == '0'))
            reject(Reject::dimension_not_integer, "expected a size, a whole number, found ",
                   in_quotes(text_.substr(at_, 20)));
        at_ += size_t(to - from);
        if (at_ < text_.size() && text_[at_] == 'L') ++at_;
        return value;
    }

    struct Key {
        std::string_view name;
        void (HeaderParser::*read)();
    };
    static constexpr Key keys[] = {{"descr", &HeaderParser::descr},
                                   {"fortran_order", &HeaderParser::order},
                                   {"shape", &HeaderParser::shape}};

    const File& file_;
    std::string_view text_, field_;
    uint64_t text_at_;
    size_t at_ = 0;
    NpyInfo info_{};
};

NpyInfo read_header(const File& file, const ReadOptions& options) {
    const auto reject = [&](Reject code, uint64_t at, const auto&... what) {
        file.reject(code, "", at, what...);
    };
    unsigned char start[12] = {};
    const uint64_t size = file.size();
    file.read(0, start, std::min<uint64_t>(size, sizeof start));
    if (size < 10)
        reject(Reject::file_too_short, size, "the file has ", size,
               " bytes, an npy file begins with 10");
    if (std::memcmp(start, magic.data(), magic.size()) != 0)
        reject(Reject::bad_magic, 0, "the file does not begin as an npy file does; no such file");
    const int version = start[6];
    if (version < 1 || version > 3 || start[7] != 0)
        reject(Reject::bad_version, 6, "version ", version, ".", int(start[7]),
               " is not known; versions are 1.0, 2.0 and 3.0");
    const size_t text_at = version == 1 ? 10 : 12;
    if (size < text_at)
        reject(Reject::file_too_short, size, "the file ends within the header's length");
    uint64_t n = 0;
    for (size_t i = text_at; i-- > 8;) n = n << 8 | start[i];
    if (n > size - text_at)
        reject(Reject::header_beyond_file, 8, "the header's length, ", n, ", is beyond the file's ",
               size, " bytes; it is incomplete, fetch it again");
    const uint64_t limit = std::min(options.max_header, highest_header);
    if (n > limit)
        reject(Reject::header_above_limit, 8, "the header's length, ", n,
               ", is above the limit of ", limit, "; save it again");
    std::string text(size_t(n), '\0');
    file.read(text_at, text.data(), n);
    NpyInfo info = HeaderParser(file, text, text_at).parse();
    info.offset = text_at + n;
    const std::optional<int64_t> bits = packed_bits(info.element, info.shape);
    if (!bits)
        file.reject(Reject::shape_overflow, "shape", text_at,
                    "the shape's elements are too many for 64 bits");
    info.bytes = uint64_t(*bits) / 8;
    const uint64_t data = size - info.offset;
    const std::string sizes = "the shape needs " + std::to_string(info.bytes) +
                              " bytes of data, the file has " + std::to_string(data);
    if (info.bytes > data)
        reject(Reject::truncated, size, sizes, "; it is incomplete, fetch it again");
    if (info.bytes < data)
        reject(Reject::trailing_bytes, info.offset + info.bytes, sizes,
               "; it holds more than one array, or was written wrongly");
    return info;
}

Tensor read_from(const std::shared_ptr<const File>& file, const ReadOptions& options) {
    NpyInfo info = read_header(*file, options);
    // Fortran order is row-major order of the sizes reversed.
    if (info.is_fortran) std::reverse(info.shape.begin(), info.shape.end());
    const Tensor t =
        load_elements(file, "", info.element, info.shape, info.offset, info.is_big_endian, options);
    if (!info.is_fortran) return t;
    std::vector<int> axes(size_t(t.rank()));
    std::iota(axes.rbegin(), axes.rend(), 0);
    return permute(t, axes);
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path, const ReadOptions& options) {
    return read_from(File::open("read_npy", path, options.map), options);
}

Tensor parse_npy(std::span<const std::byte> bytes, const ReadOptions& options) {
    return read_from(File::view("read_npy", bytes), options);
}

NpyInfo npy_info(const std::filesystem::path& path, const ReadOptions& options) {
    return read_header(*File::open("npy_info", path), options);
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
    if (!tensor.defined())
        throw ValueError("write_npy", "the tensor is not defined; give it a value");
    if (tensor.device() != Device{})
        throw DeviceError("write_npy", "the tensor is not in host memory; copy it");
    const Tensor t = tensor.contiguous();
    const Element element = element_of(t.dtype());
    const Row* const row = std::ranges::find(rows, element, &Row::element);
    if (row == std::end(rows))
        throw DTypeError("write_npy", "NumPy has no bf16; use cast, or write safetensors");
    std::string shape;
    for (int64_t size : t.shape()) shape += std::to_string(size) + ", ";
    if (t.rank() > 0) shape.resize(shape.size() - (t.rank() == 1 ? 1 : 2));
    std::string header = std::string("{'descr': '") + (bits_of(element) == 8 ? '|' : '<') +
                         std::string(row->type) + "', 'fortran_order': False, 'shape': (" + shape +
                         "), }";
    // NumPy leaves room for the first size to grow in place to 21 digits; then up to a multiple of 64
    // with the newline.
    if (t.rank() > 0) header.append(21 - std::to_string(t.shape()[0]).size(), ' ');
    header.append((64 - (magic.size() + 4 + header.size() + 1) % 64) % 64, ' ');
    header += '\n';

    AtomicFile file("write_npy", path);
    file.write(magic);
    const char version_and_length[] = {1, 0, char(header.size() & 255), char(header.size() >> 8)};
    file.write(version_and_length, sizeof version_and_length);
    file.write(header);
    file.write(t.raw(), size_t(t.count()) * size_of(t.dtype()));
    file.commit();
}

}  // namespace mercer::io
