// Where the strategy takes windows of images, channels innermost in memory or rows: channels_schedule.h, winograd.h, byte_windows.h, windows.h, window_weights.h, frames.h.
#include "transforms/schedule/byte_windows.h"
#include "transforms/schedule/channels_schedule.h"
#include "transforms/schedule/frames.h"
#include "transforms/schedule/scheduler.h"
#include "transforms/schedule/window_weights.h"
#include "transforms/schedule/windows.h"
#include "transforms/schedule/winograd_gradient.h"

namespace headrace::schedule {

std::optional<Scheduler::Statements> Scheduler::Windowed(const Nest& n) {
  const Sdfg before = *s_;  // what was changed on the way to finding that it is none
  const auto run = [&]() -> std::optional<Statements> {
    const auto sum = OneSumOf(n);
    if (!sum) return std::nullopt;
    const DType type = SumTypeOf(*s_, sum->completion);
    if (auto channels = ChannelsOf(*s_, sum->nest, sum->sum, sum->apart, type)) {
      WinogradScheduler winograd(s_, d_, *channels, sum->completion);
      if (winograd.Applies()) {
        auto out = winograd.Run();
        tiles_ = {winograd.packing(), winograd.packed()};
        return out;
      }
      WinogradGradientScheduler gradient(s_, d_, *channels, sum->completion);
      if (gradient.Applies()) return tiles_ = Tiles(), gradient.Run();
      ChannelsScheduler scheduler(s_, d_, std::move(*channels), sum->completion);
      auto out = scheduler.Run();
      tiles_ = {scheduler.packing(), scheduler.packed()};
      return out;
    }
    tiles_ = Tiles();
    if (auto windows = WindowsOf(*s_, sum->nest, sum->sum, sum->apart, type)) {
      const Sdfg as_it_was = *s_;
      ByteWindowsScheduler bytes(s_, d_, *windows, sum->completion);
      if (auto out = bytes.Run()) {
        tiles_ = {bytes.packing(), bytes.packed()};
        return out;
      }
      *s_ = as_it_was;
      return WindowsScheduler(s_, d_, std::move(*windows), sum->completion).Run();
    }
    if (auto weights = WindowWeightsOf(*s_, sum->nest, sum->sum, sum->apart, type, d_))
      return WindowWeightsScheduler(s_, d_, std::move(*weights), sum->completion).Run();
    if (const auto frames = FramesOf(*s_, sum->nest, sum->sum, sum->apart, type, d_))
      return ScheduleFrames(s_, d_, *frames, sum->completion);
    return std::nullopt;
  };
  auto windowed = run();
  if (!windowed) *s_ = before, tiles_.reset();
  return windowed;
}

}  // namespace headrace::schedule
