// Elements become unsigned integers of the same order, which a radix sort takes digit by digit from the last: linear time, stable.
#include "plugins/onnx/external/order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace onnx_ops::external {
namespace {

constexpr int64_t kPart = 1 << 20;   // elements between two questions whether the run is cancelled
constexpr int64_t kShort = 1 << 10;  // so few are sorted by comparisons
constexpr int kDigit = 11;           // bits
constexpr size_t kDigits = size_t{1} << kDigit;

// A key and the place that it comes from. Keys of 32 bits share a word with their places.
struct Wide {
  uint64_t key;
  uint64_t at;
  static Wide Of(uint64_t key, int64_t at) { return {key, static_cast<uint64_t>(at)}; }
  static constexpr int kBits = 64;
  size_t digit(int shift) const { return (key >> shift) & (kDigits - 1); }
  int64_t place() const { return static_cast<int64_t>(at); }
  bool operator<(const Wide& b) const { return key != b.key ? key < b.key : at < b.at; }
};
struct Narrow {
  uint64_t both;
  static Narrow Of(uint64_t key, int64_t at) { return {key << 32 | static_cast<uint64_t>(at)}; }
  static constexpr int kBits = 32;
  size_t digit(int shift) const { return (both >> (32 + shift)) & (kDigits - 1); }
  int64_t place() const { return static_cast<int64_t>(both & 0xffffffffu); }
  bool operator<(const Narrow& b) const { return both < b.both; }
};

// The unsigned integer whose order is that of x.
template <typename Bits, typename Float>
Bits KeyOfFloat(Float x) {
  if (x != x) return std::numeric_limits<Bits>::max();
  x += 0;  // -0 becomes 0
  Bits bits;
  std::memcpy(&bits, &x, sizeof bits);
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  return bits & sign ? ~bits : bits | sign;
}

template <typename Record, typename Key>
void Select(const Call& call, int64_t n, int64_t most, Key key, std::vector<Record>* records) {
  const int64_t part = std::max(kPart, 4 * most);
  for (int64_t done = 0; done < n; done += part) {
    call.LeaveIfCancelled();
    for (int64_t i = done; i < std::min(n, done + part); ++i) records->push_back(Record::Of(key(i), i));
    if (static_cast<int64_t>(records->size()) <= most) continue;
    std::nth_element(records->begin(), records->begin() + most, records->end());
    records->resize(static_cast<size_t>(most));
  }
}

template <typename Record>
void SortByDigits(const Call& call, std::vector<Record>* records) {
  constexpr int passes = (Record::kBits + kDigit - 1) / kDigit;
  std::array<std::vector<int64_t>, passes> count;
  for (auto& c : count) c.resize(kDigits);
  const int64_t n = static_cast<int64_t>(records->size());
  const auto parts = [&](auto&& f) {
    for (int64_t first = 0; first < n; first += kPart) {
      call.LeaveIfCancelled();
      for (int64_t i = first; i < std::min(n, first + kPart); ++i) f((*records)[static_cast<size_t>(i)]);
    }
  };
  parts([&](const Record& r) {
    for (int p = 0; p < passes; ++p) ++count[p][r.digit(p * kDigit)];
  });
  std::vector<Record> sorted(records->size());
  for (int p = 0; p < passes; ++p) {
    if (count[p][records->front().digit(p * kDigit)] == n) continue;  // a digit that all have
    int64_t before = 0;
    for (int64_t& c : count[p]) before += std::exchange(c, before);
    parts([&, next = count[p].data()](const Record& r) { sorted[static_cast<size_t>(next[r.digit(p * kDigit)]++)] = r; });
    records->swap(sorted);
  }
}

// Keys of 64 bits by their upper half, which moves half the bytes; then each run of keys that share it.
template <typename Key>
std::vector<int64_t> SortByHalves(const Call& call, int64_t n, Key key) {
  std::vector<Narrow> records;
  records.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) records.push_back(Narrow::Of(key(i) >> 32, i));
  SortByDigits(call, &records);
  std::vector<int64_t> order(records.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = records[i].place();
  std::vector<Wide> run;
  for (size_t first = 0, last = 0, ask = 0; first < order.size(); first = last) {
    if (first >= ask) call.LeaveIfCancelled(), ask = first + static_cast<size_t>(kPart);
    while (last < order.size() && records[last].both >> 32 == records[first].both >> 32) ++last;
    if (last - first == 1) continue;
    run.clear();
    for (size_t i = first; i < last; ++i) run.push_back(Wide::Of(key(order[i]), order[i]));
    if (run.size() <= static_cast<size_t>(kShort)) std::sort(run.begin(), run.end());
    else SortByDigits(call, &run);
    for (size_t i = first; i < last; ++i) order[i] = run[i - first].place();
  }
  return order;
}

template <typename Record, typename Key>
std::vector<int64_t> Sorted(const Call& call, int64_t n, int64_t most, bool in_order, Key key) {
  std::vector<Record> records;
  if (most < (in_order ? n / 16 : n)) {
    Select(call, n, most, key, &records);
    if (in_order) std::sort(records.begin(), records.end());
  } else if (Record::kBits == 64 && n > kShort && n >> 32 == 0) {
    return SortByHalves(call, n, key);
  } else {
    records.reserve(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) records.push_back(Record::Of(key(i), i));
    if (n <= kShort) std::sort(records.begin(), records.end());
    else SortByDigits(call, &records);
  }
  std::vector<int64_t> order(records.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = records[i].place();
  return order;
}

// key gives `bits` bits.
template <int bits, typename Key>
std::vector<int64_t> SortedBy(const Call& call, int64_t n, int64_t most, bool descending, bool in_order, Key key) {
  using Record = std::conditional_t<bits == 32, Narrow, Wide>;
  constexpr uint64_t all = bits == 32 ? 0xffffffffu : ~uint64_t{0};
  const uint64_t turned = descending ? all : 0;
  if (bits == 32 && n >> 32) return Sorted<Wide>(call, n, most, in_order, [=](int64_t i) { return key(i) ^ turned; });
  return Sorted<Record>(call, n, most, in_order, [=](int64_t i) { return key(i) ^ turned; });
}

}  // namespace

std::vector<int64_t> Order(const Call& call, const hr_value& x, int64_t first, int64_t step, int64_t n, int64_t most, bool descending,
                           bool in_order) {
  call.LeaveIfCancelled();
  switch (x.dtype) {
    case HR_F64: {
      const double* at = static_cast<const double*>(x.data) + first;
      return SortedBy<64>(call, n, most, descending, in_order, [=](int64_t i) { return KeyOfFloat<uint64_t>(at[i * step]); });
    }
    case HR_F32: {
      const float* at = static_cast<const float*>(x.data) + first;
      return SortedBy<32>(call, n, most, descending, in_order, [=](int64_t i) -> uint64_t { return KeyOfFloat<uint32_t>(at[i * step]); });
    }
    case HR_I64:
    case HR_U64: {
      const uint64_t sign = x.dtype == HR_I64 ? uint64_t{1} << 63 : 0, *at = static_cast<const uint64_t*>(x.data) + first;
      return SortedBy<64>(call, n, most, descending, in_order, [=](int64_t i) { return at[i * step] ^ sign; });
    }
    default: break;
  }
  const hr_value* v = &x;
  if (IsFloat(x.dtype))  // no narrower type has a value that f32 lacks
    return SortedBy<32>(call, n, most, descending, in_order,
                        [=](int64_t i) -> uint64_t { return KeyOfFloat<uint32_t>(static_cast<float>(ToDouble(*v, first + i * step))); });
  const int64_t lowest = IsUnsigned(x.dtype) ? 0 : -(int64_t{1} << 31);
  return SortedBy<32>(call, n, most, descending, in_order, [=](int64_t i) { return static_cast<uint64_t>(ToInt(*v, first + i * step) - lowest); });
}

}  // namespace onnx_ops::external
