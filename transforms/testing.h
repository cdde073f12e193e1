// Pass tests on IR text: what goes in, the pipeline, what comes out.
#pragma once
#include <string>
#include <string_view>

#include "ir/registry/registry.h"

namespace headrace::transforms {

// A registry with this room's passes.
const Registry& TestRegistry();

// Runs `pipeline` on `before`, verifying before and after every pass and round-tripping the text (print → parse → print).
// The result must be `after`, up to layout and origins. Failures show both texts.
void ExpectPass(std::string_view before, const std::string& pipeline, std::string_view after,
                const Registry& r = TestRegistry());
// The pipeline leaves the program as it is.
void ExpectUnchanged(std::string_view before, const std::string& pipeline, const Registry& r = TestRegistry());
// The pipeline fails; the rendered error contains `text`.
void ExpectPassError(std::string_view before, const std::string& pipeline, std::string_view text,
                     const Registry& r = TestRegistry());
// What a pipeline makes of a program, as text without origins; "" after a reported failure.
std::string Transformed(std::string_view before, const std::string& pipeline, const Registry& r = TestRegistry());

}  // namespace headrace::transforms
