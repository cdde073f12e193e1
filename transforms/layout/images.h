// Sums over images: which statements they are, and what in them is an image, what a weight.
#pragma once
#include "transforms/layout/leaves.h"

namespace headrace::layout {

// Containers [batch, channels, space…] that a sum reads or writes.
struct ImageSum {
  enum Kind {
    kChannels,  // channels are its terms: a convolution, its gradients
    kWindow,    // each channel for itself: depthwise convolution, pooling
    kWeights,   // places are its terms: a gradient of weights
  } kind = kWindow;
  size_t channel = 1;           // the dimension of images that is best innermost: 2 or more where terms are the last one already
  std::vector<Access> images;
  std::vector<Access> weights;  // read: one for all of the batch
  Name lane;                    // the index of the channels that lie side by side in what is written; "" = none, or groups of them
  int64_t group = 0;            // channels that are summed or written together, where sums are those of groups; 0 = all
};
// Nothing where the leaf is no such sum.
std::optional<ImageSum> ImageSumOf(const Sdfg& s, const Leaf& l);

// [d0, d2, …, d1]: the channels of one place side by side.
MemoryOrder ChannelsInnermost(size_t rank);

}  // namespace headrace::layout
