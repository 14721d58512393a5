// Borders, repetition, parts and places.
#include <algorithm>
#include <array>

#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;

// out[i] = x[source(i)], or `value` where source gives an index of another rank.
Naive picked(const Naive& x, const Shape& shape, const std::function<Shape(const Shape&)>& source,
             double value = 0) {
    Naive y = oracle::make(shape);
    each(shape, [&](const Shape& i, size_t p) {
        const Shape from = source(i);
        y.at[p] = from.rank() == x.shape.rank() ? x.at[oracle::place(x.shape, from)] : value;
    });
    return y;
}

void borders(std::vector<Case>& list, const Input& in) {
    using List = std::vector<int64_t>;
    const int64_t m = in.shape[0], n = in.shape[1];
    const auto from = [](int64_t i, int64_t size, PadMode mode) {
        if (mode == PadMode::edge) return std::clamp<int64_t>(i, 0, size - 1);
        if (mode == PadMode::circular) return (i + 4 * size) % size;
        return i < 0 ? -i : i >= size ? 2 * size - 2 - i : i;
    };
    for (PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::circular}) {
        const std::string tag = "pad " + std::string(choice_names<PadMode>[size_t(mode)]);
        list.push_back({describe(tag, {in}),
                        {in},
                        [=](Vars x) {
                            return pad(x[0], List{1, 2}, List{2, 1}, mode, 7);
                        },
                        [=](Naives x) {
                            return picked(
                                x[0], {m + 3, n + 3},
                                [&](const Shape& i) {
                                    const int64_t r = i[0] - 1, c = i[1] - 2;
                                    if (mode == PadMode::constant &&
                                        (r < 0 || r >= m || c < 0 || c >= n))
                                        return Shape{};
                                    if (mode == PadMode::constant) return Shape{r, c};
                                    return Shape{from(r, m, mode), from(c, n, mode)};
                                },
                                7);
                        }});
    }
    for (int64_t shift : {0, 1, -2, 9})
        for (int axis : {0, 1})
            list.push_back(
                {describe("roll " + std::to_string(shift) + " axis " + std::to_string(axis), {in}),
                 {in},
                 [=](Vars x) { return roll(x[0], shift, axis); },
                 [=](Naives x) {
                     return picked(x[0], {m, n}, [&](const Shape& i) {
                         Shape j = i;
                         const int64_t size = axis ? n : m;
                         j[axis] = ((i[axis] - shift) % size + size) % size;
                         return j;
                     });
                 }});
    list.push_back({describe("tile", {in}),
                    {in},
                    [](Vars x) {
                        return tile(x[0], List{2, 3});
                    },
                    [=](Naives x) {
                        return picked(x[0], {2 * m, 3 * n}, [&](const Shape& i) {
                            return Shape{i[0] % m, i[1] % n};
                        });
                    }});
    list.push_back({describe("tile none", {in}),
                    {in},
                    [](Vars x) {
                        return tile(x[0], List{1, 0});
                    },
                    [=](Naives) {
                        return oracle::make({m, 0});
                    }});
    for (int axis : {0, 1}) {
        list.push_back({describe("repeat axis " + std::to_string(axis), {in}),
                        {in},
                        [=](Vars x) { return repeat(x[0], 3, axis); },
                        [=](Naives x) {
                            return picked(x[0], axis ? Shape{m, 3 * n} : Shape{3 * m, n},
                                          [&](const Shape& i) {
                                              Shape j = i;
                                              j[axis] /= 3;
                                              return j;
                                          });
                        }});
        list.push_back({describe("flip axis " + std::to_string(axis), {in}),
                        {in},
                        [=](Vars x) { return flip(x[0], axis) * 1.0; },
                        [=](Naives x) {
                            return picked(x[0], {m, n}, [&](const Shape& i) {
                                Shape j = i;
                                j[axis] = (axis ? n : m) - 1 - i[axis];
                                return j;
                            });
                        }});
        list.push_back({describe("split axis " + std::to_string(axis), {in}),
                        {in},
                        [=](Vars x) {
                            const auto parts = split(x[0], List{1, (axis ? n : m) - 1}, axis);
                            return concat({parts[1], parts[0]}, axis);
                        },
                        [=](Naives x) {
                            return picked(x[0], {m, n}, [&](const Shape& i) {
                                Shape j = i;
                                j[axis] = (i[axis] + 1) % (axis ? n : m);
                                return j;
                            });
                        }});
        list.push_back({describe("unsqueeze axis " + std::to_string(axis), {in}),
                        {in},
                        [=](Vars x) { return unsqueeze(x[0], axis) * 1.0; },
                        [=](Naives x) {
                            return Naive{axis ? Shape{m, 1, n} : Shape{1, m, n}, x[0].at};
                        }});
        list.push_back({describe("squeeze axis " + std::to_string(axis), {in}),
                        {in},
                        [=](Vars x) { return squeeze(unsqueeze(x[0], axis), axis) * 1.0; },
                        [=](Naives x) { return x[0]; }});
        const Tensor index = Tensor::from(std::vector<int64_t>{1, 0, 1, 2}, {4});
        constexpr auto picks = std::to_array<int64_t>({1, 0, 1, 2});
        list.push_back({describe("index_select axis " + std::to_string(axis), {in}),
                        {in},
                        [=](Vars x) { return index_select(x[0], index, axis); },
                        [=](Naives x) {
                            return picked(x[0], axis ? Shape{m, 4} : Shape{4, n},
                                          [&](const Shape& i) {
                                              Shape j = i;
                                              j[axis] = picks[size_t(i[axis])];
                                              return j;
                                          });
                        }});
        Input source = in;
        source.shape[axis] = 4;
        const Tensor places = reshape(index, axis ? Shape{1, 4} : Shape{4, 1});
        list.push_back({describe("scatter axis " + std::to_string(axis), {in, source}),
                        {in, source},
                        [=](Vars x) { return scatter(x[0], places, x[1], axis); },
                        [=](Naives x) {
                            Naive y = x[0];
                            each(x[1].shape, [&](const Shape& i, size_t p) {
                                Shape j = i;
                                j[axis] = picks[size_t(i[axis])];
                                y.at[oracle::place(y.shape, j)] = x[1].at[p];
                            });
                            return y;
                        }});
    }
    list.push_back({describe("masked_fill", {in}),
                    {in},
                    [=](Vars x) {
                        const Tensor mask = equal(Tensor::arange(n), Tensor::scalar(1.0));
                        return masked_fill(x[0], mask, -3);
                    },
                    [=](Naives x) {
                        Naive y = x[0];
                        each(y.shape, [&](const Shape& i, size_t p) {
                            if (i[1] == 1) y.at[p] = -3;
                        });
                        return y;
                    }});
    Case hot{
        describe("one_hot", {in}),
        {in},
        [=](Vars x) { return Var(one_hot(Tensor::arange(m, DType::i64), m + 1, x[0].dtype())); },
        [=](Naives) {
            Naive y = oracle::make({m, m + 1});
            for (int64_t i = 0; i < m; ++i) y.at[size_t(i * (m + 1) + i)] = 1;
            return y;
        }};
    hot.differentiable = false;
    list.push_back(std::move(hot));
}

// By definition: every assignment of the letters.
Naive naive_einsum(const std::vector<std::string>& inputs, const std::string& out, Naives x) {
    std::string letters;
    Shape sizes;
    for (size_t k = 0; k < inputs.size(); ++k)
        for (size_t i = 0; i < inputs[k].size(); ++i) {
            const size_t at = letters.find(inputs[k][i]);
            if (at == letters.npos) {
                letters += inputs[k][i];
                sizes.push_back(x[k].shape[int(i)]);
            } else {
                sizes[int(at)] = std::max(sizes[int(at)], x[k].shape[int(i)]);
            }
        }
    const auto index = [&](const Shape& all, const std::string& own, const Shape& shape) {
        Shape i;
        for (size_t k = 0; k < own.size(); ++k)
            i.push_back(shape[int(k)] == 1 ? 0 : all[int(letters.find(own[k]))]);
        return i;
    };
    Shape shape;
    for (char c : out) shape.push_back(sizes[int(letters.find(c))]);
    Naive y = oracle::make(shape);
    each(sizes, [&](const Shape& all, size_t) {
        oracle::Real term = 1;
        for (size_t k = 0; k < inputs.size(); ++k)
            term *= x[k].at[oracle::place(x[k].shape, index(all, inputs[k], x[k].shape))];
        y.at[oracle::place(shape, index(all, out, shape))] += term;
    });
    return y;
}

void sums(std::vector<Case>& list) {
    struct Row {
        std::string equation;
        std::vector<std::string> inputs;
        std::string out;
        std::vector<Input> x;
    };
    for (const Row& r : std::vector<Row>{
             {"ij,jk->ik", {"ij", "jk"}, "ik", {{{3, 4}}, {{4, 2}}}},
             {"ij,kj->ki", {"ij", "kj"}, "ki", {{{3, 4}, Layout::transposed}, {{2, 4}}}},
             {"ij,jk", {"ij", "jk"}, "ik", {{{3, 4}}, {{4, 2}}}},
             {"bthd,bshd->bhts", {"bthd", "bshd"}, "bhts", {{{2, 3, 2, 4}}, {{2, 2, 2, 4}}}},
             {"bthd,bshd->bhts", {"bthd", "bshd"}, "bhts", {{{2, 3, 3, 2}}, {{2, 2, 3, 2}}}},
             {"bthd,bshd->bhts", {"bthd", "bshd"}, "bhts", {{{1, 3, 3, 2}}, {{2, 2, 3, 2}}}},
             {"bij,bjk->bik", {"bij", "bjk"}, "bik", {{{2, 3, 4}}, {{2, 4, 2}}}},
             {"ijb,jkb->ikb", {"ijb", "jkb"}, "ikb", {{{2, 3, 4}}, {{3, 2, 4}}}},
             // A batch of more axes than have room beside rows and columns:
             {"abcdefgi,abcdefgi->gabcdef",
              {"abcdefgi", "abcdefgi"},
              "gabcdef",
              {{{2, 1, 2, 1, 1, 1, 3, 2}}, {{2, 1, 2, 1, 1, 1, 3, 2}}}},
             {"ii->i", {"ii"}, "i", {{{4, 4}}}},
             {"ii", {"ii"}, "", {{{4, 4}}}},
             {"bii->b", {"bii"}, "b", {{{2, 3, 3}}}},
             {"ij->ji", {"ij"}, "ji", {{{3, 4}}}},
             {"ijk->j", {"ijk"}, "j", {{{2, 3, 4}, Layout::stepped}}},
             {"i,j->ij", {"i", "j"}, "ij", {{{3}}, {{4}}}},
             {"i,i", {"i", "i"}, "", {{{5}}, {{5}}}},
             {"i,i->i", {"i", "i"}, "i", {{{5}}, {{5}}}},
             {"ij,jk,kl->il", {"ij", "jk", "kl"}, "il", {{{2, 3}}, {{3, 4}}, {{4, 2}}}},
             {"ij,ij,jk->k", {"ij", "ij", "jk"}, "k", {{{2, 3}}, {{2, 3}}, {{3, 2}}}},
             // Sums along rows and down columns, of turned and broadcast operands:
             {"ij,ij->i", {"ij", "ij"}, "i", {{{3, 17}}, {{3, 17}}}},
             {"ij,ij->j", {"ij", "ij"}, "j", {{{17, 19}}, {{17, 19}}}},
             {"ij,ij->", {"ij", "ij"}, "", {{{5, 7}}, {{5, 7}}}},
             {"bij,bij->bj", {"bij", "bij"}, "bj", {{{2, 5, 33}}, {{2, 5, 33}}}},
             {"ij,ji->j", {"ij", "ji"}, "j", {{{4, 18}, Layout::transposed}, {{18, 4}}}},
             {"bij,bij->j", {"bij", "bij"}, "j", {{{1, 3, 16}}, {{2, 3, 16}}}},
             {"ij,jk->", {"ij", "jk"}, "", {{{2, 3}}, {{3, 2}}}},
             {"ij,jk->ik", {"ij", "jk"}, "ik", {{{3, 1}}, {{4, 2}}}},
             {"aB,Bc->ca", {"aB", "Bc"}, "ca", {{{2, 3}}, {{3, 2}}}},
             {"ii,ij->j", {"ii", "ij"}, "j", {{{3, 3}}, {{3, 2}}}}})
        list.push_back({describe("einsum " + r.equation, r.x), r.x,
                        [=](Vars x) { return einsum(r.equation, x); },
                        [=](Naives x) { return naive_einsum(r.inputs, r.out, x); }, 40});
}

/// gather, scatter_add and scatter of many numbers along each axis: whole rows (one number for each) and single elements.
void by_number(std::vector<Case>& list, const Input& in, int axis, int64_t n, int64_t size,
               bool rows) {
    Shape shape = in.shape, numbers = rows ? Shape::filled(shape.rank(), 1) : shape;
    shape[axis] = numbers[axis] = n;
    const auto number = [](size_t k, int64_t below) {
        return int64_t(k * k * 31 + k * 17) % below;
    };
    const auto index = [=](int64_t below) {
        std::vector<int64_t> ids;
        for (size_t k = 0; k < size_t(oracle::total(numbers)); ++k) ids.push_back(number(k, below));
        return Tensor::from(ids, numbers);
    };
    const auto at = [=](Shape i, int64_t below) {
        Shape own = i;
        for (int a = 0; a < i.rank(); ++a)
            if (rows && a != axis) own[a] = 0;
        i[axis] = number(oracle::place(numbers, own), below);
        return i;
    };
    const std::string tail = std::string(rows ? " rows" : "") + " axis " + std::to_string(axis);
    const Tensor from = index(in.shape[axis]), into = index(size);
    const Input many{shape, in.layout};
    list.push_back({describe("gather" + tail, {in}),
                    {in},
                    [=](Vars x) { return gather(x[0], from, axis); },
                    [=](Naives x) {
                        return picked(x[0], shape,
                                      [&](const Shape& i) { return at(i, in.shape[axis]); });
                    }});
    list.push_back({describe("scatter_add" + tail, {many}),
                    {many},
                    [=](Vars x) { return scatter_add(x[0], into, axis, size); },
                    [=](Naives x) {
                        Shape to = shape;
                        to[axis] = size;
                        Naive y = oracle::make(to);
                        each(shape, [&](const Shape& i, size_t p) {
                            y.at[oracle::place(to, at(i, size))] += x[0].at[p];
                        });
                        return y;
                    },
                    64});
    list.push_back({describe("scatter" + tail, {in, many}),
                    {in, many},
                    [=](Vars x) { return scatter(x[0], from, x[1], axis); },
                    [=](Naives x) {
                        Naive y = x[0];
                        each(shape, [&](const Shape& i, size_t p) {
                            y.at[oracle::place(y.shape, at(i, in.shape[axis]))] = x[1].at[p];
                        });
                        return y;
                    }});
}

}  // namespace

void add_indexing(std::vector<Case>& list, bool big) {
    if (big) {
        by_number(list, {{3000, 37}}, 0, 5000, 2500, true);
        by_number(list, {{5000}}, 0, 40000, 6000, true);
        by_number(list, {{700, 5}, Layout::transposed}, 0, 9000, 300, true);
        by_number(list, {{130, 150}}, 0, 200, 90, false);
        by_number(list, {{170, 130}}, 1, 200, 90, false);
        by_number(list, {{7, 90, 70}, Layout::stepped}, 1, 80, 60, true);
        return;
    }
    by_number(list, {{2, 3, 4}}, 1, 5, 3, false);
    by_number(list, {{3, 4}, Layout::transposed}, 0, 5, 2, false);
    for (const Input& in : std::vector<Input>{
             {{3, 5}}, {{4, 3}, Layout::transposed}, {{5, 4}, Layout::stepped}, {{3, 33}}})
        borders(list, in);
    sums(list);
}

}  // namespace cases
