// Segments and sparse products on a graph of 65536 nodes and a million edges, its degrees and neighbours at random.
#include "bench/ops/ops.h"
#include "engine/ops/segment.h"

namespace mercer::bench {
namespace {

constexpr int64_t nodes = 1 << 16, edges = 1 << 20;

struct Graph {
    Tensor rows, offsets, columns;
    std::array<Tensor, 3> transpose;

    Graph() {
        const auto random = [](uint64_t stream) {
            return cast(uniform(Key{1, stream}, {edges}, DType::f64, 0, double(nodes)), DType::i64);
        };
        rows = random(1);
        const auto csr = coo_to_csr(rows, random(2), nodes);
        offsets = csr[0], columns = csr[1];
        transpose = csr_transpose(offsets, columns, nodes);
    }
};
const Graph& graph() {
    static const Graph g;
    return g;
}

/// f(x) of `shape`: `moved` elements, `index` numbers.
void add(const std::string& name, const Shape& shape, double moved, double index,
         Tensor (*f)(const Tensor&), const char* bound = "", double flops = 0) {
    add_op(name, {.flops = flops, .bytes = elements(moved), .bound = bound, .fixed = 8 * index},
           [=](DType dtype) {
               graph();
               return [f, x = uniform(Key{1, 3}, shape, dtype, -1, 1)] {
                   benchmark::DoNotOptimize(f(x));
               };
           });
}

}  // namespace

void add_ops_graphs() {
    constexpr const char *exponential = "the exponential", *sorting = "sorting the ids",
                         *random = "random access";
    const double e = edges, n = nodes;
    for (int64_t d : {1, 8, 64}) {
        const Shape x = d == 1 ? Shape{edges} : Shape{edges, d};
        const std::string size = d == 1 ? "/1M edges" : "/1M edges x " + std::to_string(d);
        const double read = (e + n) * double(d);
        add("segment_sum" + size, x, read, n,
            [](const Tensor& v) { return segment_sum(v, graph().offsets); });
        add("segment_mean" + size, x, read, n,
            [](const Tensor& v) { return segment_mean(v, graph().offsets); });
        add("segment_max" + size, x, read, n,
            [](const Tensor& v) { return segment_max(v, graph().offsets); });
        add("segment_min" + size, x, read, n,
            [](const Tensor& v) { return segment_min(v, graph().offsets); });
        add(
            "segment_softmax" + size, x, 2 * e * double(d), n,
            [](const Tensor& v) { return segment_softmax(v, graph().offsets); }, exponential);
        add("segment_softmax" + size + " bwd", x, 3 * e * double(d), n,
            [](const Tensor& v) { return SegmentSoftmax::backward(v, v, graph().offsets); });
        add(
            "unsorted_segment_sum" + size, x, read, e,
            [](const Tensor& v) { return unsorted_segment_sum(v, graph().rows, nodes); }, random);
        add(
            "unsorted_segment_mean" + size, x, read, e,
            [](const Tensor& v) { return unsorted_segment_mean(v, graph().rows, nodes); }, random);
        add(
            "unsorted_segment_max" + size, x, read, e,
            [](const Tensor& v) { return unsorted_segment_max(v, graph().rows, nodes); }, random);
        add(
            "unsorted_segment_min" + size, x, read, e,
            [](const Tensor& v) { return unsorted_segment_min(v, graph().rows, nodes); }, random);
        add(
            "unsorted_segment_softmax" + size, x, 2 * e * double(d), e,
            [](const Tensor& v) { return unsorted_segment_softmax(v, graph().rows, nodes); },
            exponential);
    }
    for (int64_t d : {1, 16, 64, 256}) {
        const std::string size = "/64K nodes 1M edges x " + std::to_string(d);
        const double rows = e * double(d);
        add_op("spmm" + size,
               {.flops = 2 * rows,
                .bytes = elements(rows + e + n * double(d)),
                .bound = random,
                .fixed = 8 * (e + n)},
               [=](DType dtype) {
                   const Tensor dense = uniform(Key{1, 3}, {nodes, d}, dtype, -1, 1);
                   return
                       [dense, &g = graph(), values = uniform(Key{1, 4}, {edges}, dtype, -1, 1)] {
                           benchmark::DoNotOptimize(spmm(g.offsets, g.columns, values, dense));
                       };
               });
        add(
            "sddmm" + size, {nodes, d}, rows + e + n * double(d), e + n,
            [](const Tensor& x) { return sddmm(graph().offsets, graph().columns, x, x); }, random,
            2 * rows);
    }
    const auto index = [](const char* name, std::array<Tensor, 3> (*f)(const Graph&)) {
        add_op(name, {.bound = sorting, .fixed = 8 * (4.0 * edges + nodes)},
               [=](DType) { return [f, &g = graph()] { benchmark::DoNotOptimize(f(g)); }; });
    };
    index("coo_to_csr/1M edges",
          [](const Graph& g) { return coo_to_csr(g.rows, g.columns, nodes); });
    index("csr_transpose/1M edges",
          [](const Graph& g) { return csr_transpose(g.offsets, g.columns, nodes); });
}

}  // namespace mercer::bench
