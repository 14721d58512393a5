// What the gallery shows: one small input and, group by group, what is done to it, as specifications
// that `mercer eval` takes too.
#pragma once

#include "cli/fields.h"
#include "engine/io/safetensors.h"

namespace mercer::cli {

inline constexpr int64_t gallery_tokens = 48, gallery_width = 16, gallery_heads = 4;

/// Groups of items (cli/report/gallery.json), at least one for every kernel, filter, position scheme and
/// normaliser that attention/description lists. A group: "attribute" of attend, "title", "text",
/// "items". An item: "attrs", "title"?, "formula"?, "heads"? (how many differ), "note"?
Json gallery_groups();

/// q, k [1, 4, 48, 16] and v [1, 4, 48, 1], f64, alike in all heads, and what items name beside them;
/// the same always.
io::TensorMap gallery_inputs();

}  // namespace mercer::cli
