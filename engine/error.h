// Typed exceptions. Every message is "[operation] what is wrong: the shapes; the fix".
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/export.h"
#include "engine/shown.h"

namespace mercer {

/// Base of all errors thrown by the library.
class MERCER_API Error : public std::runtime_error {
public:
    Error(std::string_view operation, const std::string& what);
    /// What is wrong in parts, which stand in the message as shown() has them.
    template <class... Parts>
    requires(sizeof...(Parts) > 1) Error(std::string_view operation, const Parts&... what)
        : Error(operation, shown(what...)) {}
};

#define MERCER_ERROR(Name, Base)          \
    class MERCER_API Name : public Base { \
    public:                               \
        using Base::Base;                 \
    }

MERCER_ERROR(ShapeError, Error);      // shapes or axes do not fit
MERCER_ERROR(DTypeError, Error);      // element types do not fit; names `cast` where it helps
MERCER_ERROR(DeviceError, Error);     // wrong or absent device or instruction set
MERCER_ERROR(ValueError, Error);      // an argument's value is out of its domain
MERCER_ERROR(MemoryError, Error);     // the limit is reached, or the system has no more
MERCER_ERROR(InPlaceError, Error);    // an in-place write that would break a view or a saved value
MERCER_ERROR(TapeError, Error);       // foreign, dead or already consumed tape; not differentiable
MERCER_ERROR(NumericalError, Error);  // not positive definite, not finite
MERCER_ERROR(IoError, Error);         // files: the system refused
MERCER_ERROR(Cancelled, Error);       // a stop was requested (engine/cancel.h)
/// What a file holds is not what was expected: the message says where, what was found and what was
/// expected.
MERCER_ERROR(FormatError, IoError);
#undef MERCER_ERROR

}  // namespace mercer
