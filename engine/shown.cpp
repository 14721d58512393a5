#include "engine/shown.h"

#include <charconv>

namespace mercer {
namespace {

template <class T>
std::string shortest(T x) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

}  // namespace

std::string shown(double x) { return shortest(x); }
std::string shown(float x) { return shortest(x); }

}  // namespace mercer
