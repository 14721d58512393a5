// Typed exceptions. Every message is "[operation] what is wrong: the shapes; the fix".
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/export.h"

namespace mercer {

/// Base of all errors thrown by the library.
class MERCER_API Error : public std::runtime_error {
public:
    Error(std::string_view operation, const std::string& what);
};

#define MERCER_ERROR(Name)                 \
    class MERCER_API Name : public Error { \
    public:                                \
        using Error::Error;                \
    }

MERCER_ERROR(ShapeError);      // shapes or axes do not fit
MERCER_ERROR(DTypeError);      // element types do not fit; names `cast` where it helps
MERCER_ERROR(DeviceError);     // wrong or absent device or instruction set
MERCER_ERROR(ValueError);      // an argument's value is out of its domain
MERCER_ERROR(MemoryError);     // the limit is reached, or the system has no more
MERCER_ERROR(InPlaceError);    // an in-place write that would break a view or a saved value
MERCER_ERROR(TapeError);       // foreign, dead or already consumed tape; not differentiable
MERCER_ERROR(NumericalError);  // not positive definite, not finite
MERCER_ERROR(IoError);         // files: the system refused
MERCER_ERROR(Cancelled);       // a stop was requested (engine/cancel.h)
#undef MERCER_ERROR

/// What a file holds is not what was expected: the message says where, what was found and what was
/// expected.
class MERCER_API FormatError : public IoError {
public:
    using IoError::IoError;
};

}  // namespace mercer
