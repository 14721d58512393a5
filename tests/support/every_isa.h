// A test body on each instruction set of this machine.
#pragma once

#include <doctest/doctest.h>

#include "tests/support/restore.h"

template <class Body>
void on_every_isa(Body body) {
    const Restore restore;
    for (const mercer::Isa each : mercer::available_isas()) {
        mercer::set_isa(each);
        CAPTURE(mercer::name_of(each));
        body();
    }
}
