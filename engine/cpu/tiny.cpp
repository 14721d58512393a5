#include "engine/cpu/tiny.h"

namespace mercer {
MERCER_DISPATCH(cpu::TinyTable, tiny_table)
}
