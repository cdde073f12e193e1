// NonMaxSuppression: boxes by falling score, those overlapping a chosen one left out.
#include <algorithm>
#include <cmath>

#include "plugins/onnx/external/call.h"
#include "plugins/onnx/external/expand.h"

namespace onnx_ops::external {
namespace {

struct Box {
  float x0, y0, x1, y1;
};

Box Corners(const float* b, bool center) {
  if (center) return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
  return {std::min(b[1], b[3]), std::min(b[0], b[2]), std::max(b[1], b[3]), std::max(b[0], b[2])};
}

float Area(const Box& b) { return (b.x1 - b.x0) * (b.y1 - b.y0); }

// Of the intersection over the union; 0 when a box or the intersection is empty.
float Overlap(const Box& a, const Box& b) {
  const float w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0), h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(w > 0) || !(h > 0)) return 0;
  const float both = w * h, either = Area(a) + Area(b) - both;
  return Area(a) > 0 && Area(b) > 0 && either > 0 ? both / either : 0;
}

float Threshold(Call& call, const char* port, float otherwise) {
  const hr_value* v = call.Find(port);
  if (!v) return otherwise;
  if (Count(ShapeOf(*v)) != 1) Fail(std::string(port) + " must have one element");
  return static_cast<float>(ToDouble(*v, 0));
}

}  // namespace

HR_ONNX_FUNCTION(onnx_boxes) {
  const hr_value& boxes = call.Tensor("boxes");
  const hr_value& scores = call.Tensor("scores");
  Require(boxes.dtype == HR_F32 && scores.dtype == HR_F32, "boxes and scores must be f32");
  Require(boxes.rank == 3 && boxes.shape[2] == 4, "boxes must have the shape [batches, boxes, 4]");
  Require(scores.rank == 3 && scores.shape[0] == boxes.shape[0] && scores.shape[2] == boxes.shape[1],
          "scores must have the shape [batches, classes, boxes]");
  const int64_t batches = boxes.shape[0], n = boxes.shape[1], classes = scores.shape[1];
  const int64_t most = std::max<int64_t>(call.Scalar("max_output_boxes_per_class", 0), 0);
  const float iou = Threshold(call, "iou_threshold", 0), least = Threshold(call, "score_threshold", -INFINITY);
  const bool bounded = call.Find("score_threshold") != nullptr, center = call.Int("center_point_box", 0) != 0;
  std::vector<int64_t> out;
  for (int64_t b = 0; b < batches; ++b) {
    std::vector<Box> corners;
    for (int64_t i = 0; i < n; ++i)
      corners.push_back(Corners(static_cast<const float*>(boxes.data) + (b * n + i) * 4, center));
    for (int64_t c = 0; c < classes; ++c) {
      const float* score = static_cast<const float*>(scores.data) + (b * classes + c) * n;
      std::vector<int64_t> order, chosen;
      for (int64_t i = 0; i < n; ++i)
        if (score[i] == score[i] && (!bounded || score[i] > least)) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return score[i] > score[j]; });
      for (int64_t i : order) {
        if (static_cast<int64_t>(chosen.size()) >= most) break;
        const bool free = std::none_of(chosen.begin(), chosen.end(), [&](int64_t j) {
          return Overlap(corners[static_cast<size_t>(i)], corners[static_cast<size_t>(j)]) > iou;
        });
        if (!free) continue;
        chosen.push_back(i);
        out.insert(out.end(), {b, c, i});
      }
    }
  }
  int64_t* y = call.Make<int64_t>("selected_indices", HR_I64, {static_cast<int64_t>(out.size() / 3), 3});
  std::copy(out.begin(), out.end(), y);
}

void RegisterBoxes(Registrar& r) {
  AddFunction(r, "boxes");
  Add(r, "NonMaxSuppression", "boxes");
}

}  // namespace onnx_ops::external
