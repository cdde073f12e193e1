// Where the strategy takes channels that lie innermost in memory: channels_schedule.h, windows.h.
#include "transforms/schedule/channels_schedule.h"
#include "transforms/schedule/scheduler.h"
#include "transforms/schedule/windows.h"

namespace headrace::schedule {

std::optional<Scheduler::Statements> Scheduler::Windowed(Nest n, std::vector<bool> apart, const Expr& initial) {
  const Sdfg before = *s_;  // what was changed on the way to finding that it is none
  const auto run = [&]() -> std::optional<Statements> {
    if (!initial) {
      SplitGroups(s_, &n);
      apart = ApartRanges(n);
      CollapseWithin(&n, &apart);
    }
    const auto* sum = n.body.size() == 1 ? std::get_if<Tasklet>(&s_->nodes[n.body[0]].body) : nullptr;
    if (!sum) return std::nullopt;
    const auto finish = [&, t = *sum](const NameMap& at, const Expr& value) {
      Tasklet result = t;
      for (Expr& e : result.index) e = Substitute(e, at);
      return Result(result, value, initial ? Substitute(initial, at) : initial);
    };
    if (auto channels = ChannelsOf(*s_, n, apart)) return ChannelsScheduler(s_, d_, std::move(*channels), bool(initial), finish).Run();
    if (auto windows = WindowsOf(*s_, n, apart)) return WindowsScheduler(s_, d_, std::move(*windows), finish).Run();
    return std::nullopt;
  };
  auto windowed = run();
  if (!windowed) *s_ = before;
  return windowed;
}

}  // namespace headrace::schedule
