// Layout, choice and indexing.
#include <array>

#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;

Naive moved(const Naive& x, const Shape& shape, const std::function<Shape(const Shape&)>& source) {
    Naive y = oracle::make(shape);
    each(shape,
         [&](const Shape& i, size_t p) { y.at[p] = x.at[oracle::place(x.shape, source(i))]; });
    return y;
}

}  // namespace

void add_layout(std::vector<Case>& list, bool big) {
    if (big) return;
    for (Layout l : {Layout::dense, Layout::transposed, Layout::reversed}) {
        const std::vector<Input> in{{{4, 6}, l}};
        list.push_back({describe("reshape", in), in,
                        [](Vars x) {
                            return reshape(x[0], {2, -1, 3});
                        },
                        [](Naives x) {
                            return Naive{{2, 4, 3}, x[0].at};
                        }});
        list.push_back(
            {describe("permute", in), in,
             [](Vars x) {
                 return permute(x[0], {1, 0}) * 1.0;
             },
             [](Naives x) {
                 return moved(x[0], {6, 4}, [](const Shape& i) { return Shape{i[1], i[0]}; });
             }});
        list.push_back(
            {describe("transpose", in), in, [](Vars x) { return transpose(x[0]); },
             [](Naives x) {
                 return moved(x[0], {6, 4}, [](const Shape& i) { return Shape{i[1], i[0]}; });
             }});
        list.push_back({describe("cast", in), in,
                        [](Vars x) {
                            return cast(x[0], x[0].dtype() == DType::f64 ? DType::f64 : DType::f64);
                        },
                        [](Naives x) { return x[0]; }});
        for (const auto& [begin, end, step] : std::vector<std::array<int64_t, 3>>{
                 {0, 6, 1}, {1, 5, 2}, {-1, -7, -2}, {4, 1, -1}, {2, 2, 1}}) {
            list.push_back(
                {describe("slice " + std::to_string(begin) + ":" + std::to_string(end) + ":" +
                              std::to_string(step),
                          in),
                 in, [=](Vars x) { return slice(x[0], 1, begin, end, step); },
                 [=](Naives x) {
                     std::vector<int64_t> columns;
                     const int64_t b = begin < 0 ? begin + 6 : begin, e = end < 0 ? end + 6 : end;
                     for (int64_t j = b; step > 0 ? j < e : j > e; j += step) columns.push_back(j);
                     return moved(x[0], {4, int64_t(columns.size())}, [&](const Shape& i) {
                         return Shape{i[0], columns[size_t(i[1])]};
                     });
                 }});
        }
        list.push_back({describe("unslice", in), in,
                        [](Vars x) {
                            return unslice(x[0], {4, 14}, 1, 12, -2);
                        },
                        [](Naives x) {
                            Naive y = oracle::make({4, 14});
                            each(x[0].shape, [&](const Shape& i, size_t p) {
                                y.at[oracle::place(y.shape, {i[0], 12 - 2 * i[1]})] = x[0].at[p];
                            });
                            return y;
                        }});
        list.push_back(
            {describe("broadcast_to", in), in,
             [](Vars x) {
                 return broadcast_to(reshape(x[0], {4, 1, 6}), {2, 4, 3, 6}) * 1.0;
             },
             [](Naives x) {
                 return moved(x[0], {2, 4, 3, 6}, [](const Shape& i) { return Shape{i[1], i[3]}; });
             }});
        list.push_back({describe("sum_to", in), in,
                        [](Vars x) {
                            return sum_to(x[0], {1, 6});
                        },
                        [](Naives x) {
                            Naive y = oracle::make({1, 6});
                            each(x[0].shape, [&](const Shape& i, size_t p) {
                                y.at[size_t(i[1])] += x[0].at[p];
                            });
                            return y;
                        }});
        list.push_back({describe("where", in), in,
                        [](Vars x) {
                            Tensor mask = Tensor::full({6}, 0, DType::boolean);
                            mask.mutable_data<bool>()[1] = mask.mutable_data<bool>()[4] = true;
                            return where(mask, x[0], slice(x[0], 0, 0, 1));
                        },
                        [](Naives x) {
                            return moved(x[0], {4, 6}, [](const Shape& i) {
                                return i[1] == 1 || i[1] == 4 ? i : Shape{0, i[1]};
                            });
                        }});
    }
    const std::vector<Input> three{{{2, 3}}, {{2, 0}}, {{2, 4}, Layout::transposed}};
    list.push_back({describe("concat", three), three, [](Vars x) { return concat(x, 1); },
                    [](Naives x) {
                        Naive y = oracle::make({2, 7});
                        each(y.shape, [&](const Shape& i, size_t p) {
                            y.at[p] = i[1] < 3 ? x[0].at[size_t(i[0] * 3 + i[1])]
                                               : x[2].at[size_t(i[0] * 4 + i[1] - 3)];
                        });
                        return y;
                    }});
    const std::vector<Input> beside{{{2, 3}}};
    list.push_back({describe("concat with constants", beside), beside,
                    [](Vars x) {
                        const Var zeros(Tensor::zeros({2, 2}, x[0].dtype()));
                        return concat({zeros, x[0], Var(zeros.value() + 1.0)}, 1);
                    },
                    [](Naives x) {
                        Naive y = oracle::make({2, 7});
                        each(y.shape, [&](const Shape& i, size_t p) {
                            y.at[p] = i[1] < 2   ? 0
                                      : i[1] < 5 ? x[0].at[size_t(i[0] * 3 + i[1] - 2)]
                                                 : 1;
                        });
                        return y;
                    }});
    for (int axis : {0, 1, -1}) {
        const std::vector<Input> two{{{2, 3}}, {{2, 3}, Layout::reversed}};
        list.push_back({describe("stack axis " + std::to_string(axis), two), two,
                        [axis](Vars x) { return stack(x, axis); },
                        [axis](Naives x) {
                            const int at = axis < 0 ? axis + 3 : axis;
                            Naive y = oracle::make(at == 0   ? Shape{2, 2, 3}
                                                   : at == 1 ? Shape{2, 2, 3}
                                                             : Shape{2, 3, 2});
                            each(y.shape, [&](const Shape& i, size_t p) {
                                Shape inner = i;
                                inner.erase(at);
                                y.at[p] = x[size_t(i[at])].at[oracle::place(x[0].shape, inner)];
                            });
                            return y;
                        }});
    }
    const std::vector<Input> rows{{{5, 3}}};
    const Tensor picks = Tensor::from(std::vector<int64_t>{4, 0, 4, 2}, {4, 1});
    list.push_back({describe("gather rows", rows), rows,
                    [picks](Vars x) { return gather(x[0], picks, 0); },
                    [](Naives x) {
                        return moved(x[0], {4, 3}, [](const Shape& i) {
                            constexpr int64_t pick[] = {4, 0, 4, 2};
                            return Shape{pick[i[0]], i[1]};
                        });
                    }});
    const Tensor each_own =
        Tensor::from(std::vector<int64_t>{2, 0, 1, 1, 2, 2, 0, 0, 1, 2}, {5, 2});
    list.push_back({describe("gather along 1", rows), rows,
                    [each_own](Vars x) { return gather(x[0], each_own, 1); },
                    [](Naives x) {
                        return moved(x[0], {5, 2}, [](const Shape& i) {
                            constexpr int64_t pick[] = {2, 0, 1, 1, 2, 2, 0, 0, 1, 2};
                            return Shape{i[0], pick[i[0] * 2 + i[1]]};
                        });
                    }});
    const std::vector<Input> four{{{4, 3}}};
    list.push_back({describe("scatter_add", four), four,
                    [picks](Vars x) { return scatter_add(x[0], picks, 0, 6); },
                    [](Naives x) {
                        Naive y = oracle::make({6, 3});
                        constexpr int64_t pick[] = {4, 0, 4, 2};
                        each(x[0].shape, [&](const Shape& i, size_t p) {
                            y.at[oracle::place(y.shape, {pick[i[0]], i[1]})] += x[0].at[p];
                        });
                        return y;
                    }});
    for (int axis : {0, 2}) {
        const std::vector<Input> in{{{2, 3, 2}}, {{2, 3, 2}, Layout::stepped}};
        list.push_back({describe("concat axis " + std::to_string(axis), in), in,
                        [axis](Vars x) { return concat(x, axis); },
                        [axis](Naives x) {
                            Naive y = oracle::make(axis ? Shape{2, 3, 4} : Shape{4, 3, 2});
                            each(y.shape, [&](const Shape& i, size_t p) {
                                Shape inner = i;
                                inner[axis] %= 2;
                                y.at[p] =
                                    x[size_t(i[axis] / 2)].at[oracle::place(x[0].shape, inner)];
                            });
                            return y;
                        }});
    }
    const Tensor columns = Tensor::from(std::vector<int64_t>{1, 1, 3}, {1, 3});
    constexpr auto column = std::to_array<int64_t>({1, 1, 3});
    for (Layout l : {Layout::dense, Layout::reversed}) {
        const std::vector<Input> in{{{5, 4}, l}}, narrow{{{5, 3}, l}};
        list.push_back({describe("gather columns", in), in,
                        [columns](Vars x) { return gather(x[0], columns, 1); },
                        [column](Naives x) {
                            return moved(x[0], {5, 3}, [&](const Shape& i) {
                                return Shape{i[0], column[size_t(i[1])]};
                            });
                        }});
        list.push_back({describe("scatter_add columns", narrow), narrow,
                        [columns](Vars x) { return scatter_add(x[0], columns, -1, 4); },
                        [column](Naives x) {
                            Naive y = oracle::make({5, 4});
                            each(x[0].shape, [&](const Shape& i, size_t p) {
                                y.at[size_t(i[0] * 4 + column[size_t(i[1])])] += x[0].at[p];
                            });
                            return y;
                        }});
    }
}

}  // namespace cases
