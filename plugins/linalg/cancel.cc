#include "plugins/linalg/cancel.h"

namespace linalg_ops {

thread_local hr_call* call_of_this_thread = nullptr;

}  // namespace linalg_ops
