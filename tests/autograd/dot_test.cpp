// A tape as DOT, and what it keeps by operation.
#include "autograd/dot.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "autograd/functions.h"
#include "autograd/map.h"
#include "engine/functions.h"
#include "engine/random.h"

using namespace mercer;

namespace {

// A reader of the part of DOT's grammar that matters: digraph ID { (node | edge | defaults ;)* }.
struct Graph {
    std::map<std::string, std::string> labels;
    std::vector<std::pair<std::string, std::string>> edges;
};

class Reader {
public:
    explicit Reader(const std::string& text) : text_(text) {}
    Graph graph() {
        Graph g;
        expect("digraph");
        id();
        expect("{");
        while (peek() != '}') {
            const std::string from = id();
            if (peek() == '-') {
                expect("->");
                g.edges.emplace_back(from, id());
            } else {
                const auto attributes = list();
                if (from != "node") {
                    REQUIRE(g.labels.count(from) == 0);
                    g.labels[from] = attributes.at("label");
                }
            }
            expect(";");
        }
        expect("}");
        skip();
        REQUIRE(at_ == text_.size());
        return g;
    }

private:
    void skip() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    }
    char peek() {
        skip();
        REQUIRE(at_ < text_.size());
        return text_[at_];
    }
    void expect(const std::string& word) {
        skip();
        REQUIRE(text_.compare(at_, word.size(), word) == 0);
        at_ += word.size();
    }
    std::string id() {
        std::string out;
        if (peek() == '"') {
            for (++at_; text_.at(at_) != '"'; ++at_) {
                if (text_[at_] == '\\') out += text_.at(at_++);
                out += text_.at(at_);
            }
            ++at_;
            return out;
        }
        while (std::isalnum(static_cast<unsigned char>(text_.at(at_))) || text_[at_] == '_')
            out += text_[at_++];
        REQUIRE(!out.empty());
        return out;
    }
    std::map<std::string, std::string> list() {
        std::map<std::string, std::string> out;
        expect("[");
        while (peek() != ']') {
            const std::string name = id();
            expect("=");
            out[name] = id();
            if (peek() == ',') expect(",");
        }
        expect("]");
        return out;
    }
    const std::string& text_;
    size_t at_ = 0;
};

}  // namespace

TEST_CASE("nodes, edges, leaves and constants of a tape") {
    Tape tape;
    const Var w = tape.watch(randn(Key{1, 1}, {4, 3}));
    tape.watch(Tensor::zeros({7}));  // nobody reads it
    const Var x(randn(Key{1, 2}, {2, 4}));
    const Var y = softmax(matmul(x, w), 1);
    const Var loss = sum(y * y);
    const std::string text = to_dot(tape);
    const Graph g = Reader(text).graph();
    std::map<std::string, std::string> by_label;
    for (const auto& [id, label] : g.labels) by_label[label.substr(0, label.find("\\n"))] = id;
    CHECK(g.labels.size() == 6);  // matmul, softmax, mul, sum, one leaf, one constant
    CHECK(g.labels.at(by_label.at("matmul")) == "matmul\\nf32(2,3)\\nsaves 32 bytes");  // x
    CHECK(g.labels.at(by_label.at("softmax")) == "softmax\\nf32(2,3)\\nsaves 24 bytes");
    CHECK(g.labels.at(by_label.at("leaf 0")) == "leaf 0\\nf32(4,3)");
    CHECK(g.edges.size() == 6);
    const auto edges = [&](const char* from, const char* to) {
        return std::ranges::count(g.edges, std::pair(by_label.at(from), by_label.at(to)));
    };
    CHECK(edges("leaf 0", "matmul") == 1);
    CHECK(edges("constant", "matmul") == 1);
    CHECK(edges("matmul", "softmax") == 1);
    CHECK(edges("softmax", "mul") == 2);
    CHECK(edges("mul", "sum") == 1);

    tape.gradient(loss, {w});
    CHECK(to_dot(tape).find("saved values dropped") != std::string::npos);
    CHECK(Reader(to_dot(Tape())).graph().labels.empty());
}

TEST_CASE("what backward keeps, by operation") {
    Tape tape;
    const Var x = tape.watch(Tensor::ones({100}));
    const Var loss = sum(exp(exp(x)) + sin(x));
    std::map<std::string, SavedMemory> rows;
    size_t total = 0;
    const std::vector<SavedMemory> saved = tape.saved_by_operation();
    for (const SavedMemory& row : saved) {
        rows[row.operation] = row;
        total += row.bytes;
    }
    CHECK(saved.front().operation == "exp");
    CHECK(rows.at("exp").nodes == 2);
    CHECK(rows.at("exp").values == 2);
    CHECK(rows.at("exp").bytes == 800);
    CHECK(rows.at("sin").bytes == 400);
    CHECK(rows.at("add").bytes == 0);
    CHECK(total == tape.saved_bytes());
    tape.gradient(loss, {x});
    for (const SavedMemory& row : tape.saved_by_operation()) CHECK(row.bytes == 0);
}

TEST_CASE("Graphviz reads it") {
    if (std::system("dot -V > /dev/null 2>&1") != 0) {
        std::cout << "[skipped] no Graphviz here\n";
        return;
    }
    Tape tape;
    const Var x = tape.watch(Tensor::ones({3}));
    tape.gradient(sum(map([](auto v) { return v * v; }, x) * exp(x)), {x}, create_graph);
    FILE* dot = popen("dot -Tsvg > /dev/null", "w");
    REQUIRE(dot);
    std::fputs(to_dot(tape).c_str(), dot);
    CHECK(pclose(dot) == 0);
}
