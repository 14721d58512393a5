#include "autograd/dot.h"

#include <vector>

namespace mercer {
namespace {

// Names come from C++ literals; what DOT could take for syntax is escaped all the same.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string line(const std::string& id, const std::string& label, const std::string& style) {
    return "  " + id + " [label=" + quoted(label) + style + "];\n";
}

}  // namespace

std::string to_dot(const Tape& tape) {
    std::string out = "digraph tape {\n  node [shape=box];\n";
    std::vector<std::string> maker(tape.values());  // the DOT node behind each value
    for (size_t i = 0; i < tape.operations(); ++i) {
        const Tape::Operation o = tape.operation(i);
        const std::string node = "op" + std::to_string(i);
        std::string label = o.name;
        for (const uint32_t id : o.outputs) {
            label += '\n' + to_string(tape.dtype_of(id), tape.shape_of(id));
            maker[id] = node;
        }
        if (o.dropped)
            label += "\nsaved values dropped";
        else if (o.saved_values)
            label += "\nsaves " + std::to_string(o.saved_bytes) + " bytes";
        out += line(node, label, "");
        for (size_t k = 0; k < o.inputs.size(); ++k) {
            const uint32_t id = o.inputs[k];
            std::string from;
            if (id == Tape::constant) {
                from = "constant" + std::to_string(i) + "_" + std::to_string(k);
                out += line(from, "constant", ", style=dashed");
            } else if (maker[id].empty()) {
                from = maker[id] = "leaf" + std::to_string(id);
                out += line(from,
                            "leaf " + std::to_string(id) + '\n' +
                                to_string(tape.dtype_of(id), tape.shape_of(id)),
                            ", shape=ellipse");
            } else {
                from = maker[id];
            }
            out += "  " + from + " -> " + node + ";\n";
        }
    }
    return out + "}\n";
}

}  // namespace mercer
