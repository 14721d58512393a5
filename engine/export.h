// Symbol visibility: everything is hidden except what carries MERCER_API.
#pragma once

#if defined(__GNUC__)
#define MERCER_API __attribute__((visibility("default")))
#else
#define MERCER_API
#endif
