#include "engine/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

namespace mercer::io {
namespace {

using Entry = SafetensorsHeader::Entry;
constexpr uint64_t prefix = 8;  // the length

// An input iterator that tells how far the parser has come.
struct Cursor {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at;
    const char** reached;
    const char& operator*() const { return *at; }
    Cursor& operator++() {
        *reached = ++at;
        return *this;
    }
    friend bool operator==(const Cursor& a, const Cursor& b) { return a.at == b.at; }
};

// The parser's events, by what is expected next; anything else is refused at once, so that nesting
// never grows.
class Events {
public:
    Events(const File& file, const ReadOptions& options, SafetensorsHeader& header)
        : file_(file),
          options_(options),
          h_(header),
          reached_(header.text.data()),
          data_size_(file.size() - header.data_at) {}

    Cursor begin() { return {h_.text.data(), &reached_}; }
    Cursor end() { return {h_.text.data() + h_.text.size(), &reached_}; }
    size_t position() const { return size_t(reached_ - h_.text.data()); }

    bool null() { return unexpected("null"); }
    bool boolean(bool) { return unexpected("a boolean"); }
    bool number_integer(int64_t x) {
        if (state_ == State::sizes)
            reject(Reject::dimension_negative, "size ", x, " is negative; sizes are 0 or more");
        if (state_ == State::offsets)
            reject(Reject::offset_negative, "offset ", x, " is negative; offsets are 0 or more");
        return unexpected("a number");
    }
    bool number_float(double, const std::string& text) {
        const bool is_whole = text.find_first_not_of("0123456789") == std::string::npos;
        if (is_whole && state_ == State::sizes) return size_too_large();
        if (is_whole && state_ == State::offsets)
            return reject(Reject::offset_too_large, "an offset does not fit 64 bits");
        return unexpected("the number " + in_quotes(text));
    }
    bool number_unsigned(uint64_t x);
    bool string(std::string& text);
    bool binary(std::vector<uint8_t>&) { return unexpected("binary data"); }
    bool key(std::string& text);
    bool start_object(size_t);
    bool end_object();
    bool start_array(size_t);
    bool end_array();
    bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error);

private:
    enum class State {
        top,     // the object that is the header
        names,   // a tensor's name or __metadata__
        entry,   // the object of a tensor
        fields,  // dtype, shape, data_offsets
        dtype,   // a string
        shape,
        sizes,  // an array; its numbers
        span,
        offsets,          // an array; its two numbers
        metadata,         // the object
        metadata_keys,    // its keys
        metadata_values,  // a string
    };
    struct Field {
        std::string_view name;
        State then;
    };
    static constexpr Field fields[] = {
        {"dtype", State::dtype}, {"shape", State::shape}, {"data_offsets", State::span}};

    template <class... Parts>
    [[noreturn]] bool reject(Reject code, const Parts&... what) {
        file_.reject(code, field_, prefix + position(), what...);
    }
    [[noreturn]] bool size_too_large() {
        reject(Reject::dimension_too_large, "a size is above 2^63 - 1");
    }
    [[noreturn]] bool unexpected(const std::string& found);
    // Where `decoded` now stands in the text, ending where its closing quote was.
    uint32_t keep(const std::string& decoded) {
        char* const quote = h_.text.data() + position() - 1;
        std::memcpy(quote - decoded.size(), decoded.data(), decoded.size());
        return uint32_t(quote - decoded.size() - h_.text.data());
    }
    void check_name(const std::string& name);
    void finish_entry();

    const File& file_;
    const ReadOptions& options_;
    SafetensorsHeader& h_;
    const char* reached_;
    uint64_t data_size_;
    State state_ = State::top;
    std::string field_;  // the tensor's name, for messages
    Entry entry_{};
    std::array<bool, std::size(fields)> has_{};
    bool has_metadata_ = false;
    int offsets_ = 0;
};

bool Events::unexpected(const std::string& found) {
    const auto [code, what] = [&]() -> std::pair<Reject, const char*> {
        switch (state_) {
            case State::top: return {Reject::header_not_object, "the header's object"};
            case State::entry:
                return {Reject::entry_not_object, "the object that describes a tensor"};
            case State::dtype: return {Reject::dtype_not_string, "the element type's name"};
            case State::shape: return {Reject::shape_not_array, "an array of sizes"};
            case State::sizes: return {Reject::dimension_not_integer, "a size, a whole number"};
            case State::span: return {Reject::offsets_not_array, "the array [begin, end]"};
            case State::offsets: return {Reject::offset_not_integer, "an offset, a whole number"};
            case State::metadata: return {Reject::metadata_not_object, "an object of strings"};
            case State::metadata_values: return {Reject::metadata_not_string, "a string"};
            default: return {Reject::invalid_syntax, "a key"};  // the parser itself sees to it
        }
    }();
    reject(code, "found ", found, ", expected ", what);
}

bool Events::number_unsigned(uint64_t x) {
    if (state_ == State::sizes) {
        if (x > uint64_t(INT64_MAX)) size_too_large();
        if (entry_.rank == highest_rank)
            reject(Reject::rank_above_limit, "more than 64 sizes; reshape the tensor");
        ++entry_.rank;
    } else if (state_ == State::offsets) {
        if (offsets_ == 2) reject(Reject::offsets_count, "more than two offsets");
        (offsets_++ ? entry_.end : entry_.begin) = x;
    } else {
        unexpected("the number " + std::to_string(x));
    }
    return true;
}

bool Events::string(std::string& text) {
    if (state_ == State::dtype) {
        const std::optional<Element> element = element_named(text);
        if (!element)
            reject(Reject::unknown_dtype, in_quotes(text),
                   " is no element type of safetensors; names are like F32");
        entry_.element = *element;
        state_ = State::fields;
    } else if (state_ == State::metadata_values) {
        if (text.find('\0') != text.npos)
            reject(Reject::metadata_nul, "a value holds a NUL character; write it without");
        // Directly after its key: between the two stood two quotes and a colon.
        char* const value =
            h_.text.data() + h_.metadata.back() + std::strlen(&h_.text[h_.metadata.back()]) + 1;
        std::memcpy(value, text.data(), text.size());
        value[text.size()] = '\0';
        state_ = State::metadata_keys;
    } else {
        unexpected("the text " + in_quotes(text));
    }
    return true;
}

void Events::check_name(const std::string& name) {
    field_ = name.substr(0, 256);
    if (name.empty()) reject(Reject::name_empty, "a tensor's name is empty; give it one");
    if (name.size() > longest_name)
        reject(Reject::name_too_long, "the name has ", name.size(),
               " bytes, the limit is 65536; shorten it");
    for (unsigned char c : name)
        if (c < 0x20 || c == 0x7f)
            reject(Reject::name_control_character, "the name has the control character ", int(c),
                   "; rename it");
}

bool Events::key(std::string& text) {
    switch (state_) {
        case State::names:
            if (text == metadata_name) {
                field_ = text;
                if (has_metadata_)
                    reject(Reject::duplicate_metadata, "appears twice; keep one of them");
                has_metadata_ = true;
                state_ = State::metadata;
                return true;
            }
            check_name(text);
            if (h_.entries.size() == options_.max_tensors)
                reject(Reject::too_many_tensors, "more than ", options_.max_tensors,
                       " tensors; raise ReadOptions::max_tensors");
            entry_ = {};
            entry_.name_at = keep(text);
            entry_.name_size = uint32_t(text.size());
            has_ = {};
            offsets_ = 0;
            state_ = State::entry;
            return true;
        case State::fields: {
            const size_t i = size_t(std::ranges::find(fields, text, &Field::name) - fields);
            if (i == std::size(fields))
                reject(Reject::unknown_field, "the field ", in_quotes(text),
                       " is not of the format; fields are dtype, shape, data_offsets");
            if (std::exchange(has_[i], true))
                reject(Reject::duplicate_field, "the field ", in_quotes(text), " appears twice");
            state_ = fields[i].then;
            return true;
        }
        default:
            if (text.find('\0') != text.npos)
                reject(Reject::metadata_nul, "a key holds a NUL character; write it without");
            h_.metadata.push_back(keep(text));
            h_.text[position() - 1] = '\0';
            state_ = State::metadata_values;
            return true;
    }
}

bool Events::start_object(size_t) {
    switch (state_) {
        case State::top: state_ = State::names; return true;
        case State::entry: state_ = State::fields; return true;
        case State::metadata: state_ = State::metadata_keys; return true;
        default: unexpected("an object");
    }
}

bool Events::start_array(size_t) {
    if (state_ == State::shape) {
        entry_.shape_at = uint32_t(position());
        state_ = State::sizes;
    } else if (state_ == State::span) {
        state_ = State::offsets;
    } else {
        unexpected("an array");
    }
    return true;
}

bool Events::end_array() {
    if (state_ == State::offsets && offsets_ != 2)
        reject(Reject::offsets_count, offsets_, " offsets, expected two: [begin, end]");
    state_ = State::fields;
    return true;
}

bool Events::end_object() {
    if (state_ == State::fields) finish_entry();
    if (state_ == State::names && position() != h_.text.size()) {
        // Here, for the parser takes a NUL for the end of the text.
        field_.clear();
        reject(Reject::trailing_text, "text after the header's object; only spaces may follow");
    }
    state_ = State::names;
    return true;
}

void Events::finish_entry() {
    for (size_t i = 0; i < has_.size(); ++i)
        if (!has_[i]) reject(Reject::missing_field, "the field '", fields[i].name, "' is missing");
    const std::optional<int64_t> bits = packed_bits(entry_.element, h_.shape(entry_));
    if (!bits) reject(Reject::shape_overflow, "the shape's elements are too many for 64 bits");
    if (*bits % 8 != 0)
        reject(Reject::partial_byte, uint64_t(*bits), " bits of ", entry_.element,
               " are not whole bytes");
    const uint64_t begin = entry_.begin, end = entry_.end, bytes = uint64_t(*bits) / 8;
    if (end < begin)
        reject(Reject::offsets_reversed, "data_offsets [", begin, ", ", end,
               "] end before they begin");
    if (end > data_size_)
        reject(Reject::span_beyond_file, "data_offsets end at ", end, ", the file has ", data_size_,
               " bytes of data; it is incomplete, fetch it again");
    if (end - begin != bytes)
        reject(Reject::size_mismatch, "the shape needs ", bytes, " bytes of ", entry_.element,
               ", data_offsets give ", end - begin);
    h_.entries.push_back(entry_);
}

bool Events::parse_error(size_t, const std::string&, const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 8: syntax error …"
    const std::string_view said(error.what());
    const bool is_utf8 = said.find("UTF-8") != said.npos;
    const size_t begin = std::min(said.find(": ") + 2, said.size());
    const size_t end = std::min(said.find("; last read"), begin + 200);  // not the text itself
    field_.clear();
    reject(is_utf8 ? Reject::invalid_utf8 : Reject::invalid_syntax,
           "the header is not valid JSON: ", said.substr(begin, end - begin));
}

// Data that begin at 0, follow one another and end with the file. Equal begins: the empty one first.
void check_spans(const File& file, const SafetensorsHeader& h) {
    const auto& entries = h.entries;
    std::vector<uint32_t> order(entries.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {},
                      [&](uint32_t i) { return std::pair(entries[i].begin, entries[i].end); });
    uint64_t expected = 0;
    for (uint32_t i : order) {
        const Entry& e = entries[i];
        if (e.begin != expected)
            file.reject(e.begin < expected ? Reject::overlap : Reject::hole, h.name(e),
                        h.data_at + e.begin, "its data begin at ", e.begin,
                        ", those before end at ", expected,
                        "; data must follow one another without gaps");
        expected = e.end;
    }
    if (expected != file.size() - h.data_at)
        file.reject(Reject::trailing_bytes, "", h.data_at + expected, "the tensors end after ",
                    expected, " bytes of data, the file has ", file.size() - h.data_at,
                    "; it was written wrongly");
}

void check_duplicates(const File& file, SafetensorsHeader& h) {
    const auto name = [&](const Entry& e) { return h.name(e); };
    std::ranges::sort(h.entries, {}, name);
    const auto twin = std::ranges::adjacent_find(h.entries, {}, name);
    if (twin != h.entries.end())
        file.reject(Reject::duplicate_tensor, h.name(*twin),
                    prefix + std::max(twin[0].name_at, twin[1].name_at),
                    "two tensors have this name; rename one of them");
    const auto key = [&](uint32_t at) { return std::string_view(h.text.data() + at); };
    std::ranges::sort(h.metadata, {}, key);
    const auto again = std::ranges::adjacent_find(h.metadata, {}, key);
    if (again != h.metadata.end())
        file.reject(Reject::duplicate_metadata_key, metadata_name,
                    prefix + std::max(again[0], again[1]), "the key ", in_quotes(key(*again)),
                    " appears twice; keep one of them");
}

// White space outside strings becomes spaces: for its messages the parser spells other kinds with eight
// bytes each.
void flatten_space(std::string& text) {
    bool in_string = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') in_string = !in_string;
        if (c == '\\' && in_string) ++i;
        if (!in_string && (c == '\n' || c == '\r' || c == '\t')) text[i] = ' ';
    }
}

// The header's text, without the spaces at its end.
void read_text(const File& file, const ReadOptions& options, SafetensorsHeader& h) {
    const auto reject = [&](Reject code, uint64_t at, const auto&... what) {
        file.reject(code, "", at, what...);
    };
    if (file.size() < prefix)
        reject(Reject::file_too_short, file.size(), "the file has ", file.size(),
               " bytes, a safetensors file begins with 8 that give its header's length");
    uint64_t n;  // little-endian, as the machine is (element.cpp)
    static_assert(sizeof n == prefix);
    file.read(0, &n, prefix);
    // In this order: a wrong file is called that, not too large.
    if (n > file.size() - prefix)
        reject(Reject::header_beyond_file, 0, "the header's length, ", n, ", is beyond the file's ",
               file.size(), " bytes; no safetensors file, or incomplete");
    const uint64_t limit = std::min(options.max_header, highest_header);
    if (n > limit)
        reject(Reject::header_above_limit, 0, "the header's length, ", n,
               ", is above the limit of ", limit, "; split the file");
    if (n == 0) reject(Reject::header_empty, 0, "the header is empty; write at least {}");
    h.data_at = prefix + n;
    std::string& text = h.text;
    text.resize(size_t(n));
    file.read(prefix, text.data(), n);
    if (text.starts_with("\xEF\xBB\xBF"))
        reject(Reject::byte_order_mark, prefix, "the header begins with a byte order mark");
    if (text[0] == ' ' || text[0] == '\n' || text[0] == '\t' || text[0] == '\r')
        reject(Reject::leading_space, prefix, "the header begins with white space, expected '{'");
    if (text[0] != '{')
        reject(Reject::header_not_object, prefix, "the header begins with ",
               in_quotes({text.data(), 1}), ", expected '{'");
    const size_t last = text.find_last_not_of(' ');
    if (text[last] == '\0')
        reject(Reject::nul_padding, prefix + last,
               "the header is padded with NUL, the format says spaces; mend the writer");
    text.resize(last + 1);
    flatten_space(text);
}

}  // namespace

std::vector<int64_t> SafetensorsHeader::shape(const Entry& e) const {
    std::vector<int64_t> sizes(e.rank);
    const char* at = text.data() + e.shape_at;
    for (int64_t& size : sizes) {
        while (!std::isdigit(static_cast<unsigned char>(*at))) ++at;
        at = std::from_chars(at, text.data() + text.size(), size).ptr;
    }
    return sizes;
}

SafetensorsHeader read_safetensors_header(const File& file, const ReadOptions& options) {
    SafetensorsHeader h;
    read_text(file, options, h);
    Events events(file, options, h);
    nlohmann::json::sax_parse(events.begin(), events.end(), &events);
    check_duplicates(file, h);
    check_spans(file, h);
    return h;
}

}  // namespace mercer::io
