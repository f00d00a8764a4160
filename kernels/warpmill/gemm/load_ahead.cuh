// Loading ahead of the products, for kernels without a load warpgroup: whoever multiplies brings a later stage now and
// then, and goes on with the next tile's while this one is being finished.
#pragma once

#include "warpmill/gemm/block.cuh"

namespace wm {

template <GemmPlan plan>
class LoadAhead {
 public:
  WM_DEVICE LoadAhead(const ArgumentsOf<plan>& args, GemmShared<plan>& shared, const GemmPlace<plan>& place)
      : args_(args),
        shared_(shared),
        place_(place),
        ring_(ring_of<plan>(shared, place)),
        walk_(place.walk(args.work)) {}

  // The next stage of this block's pieces, once everybody has let go of what lies in it; nothing after the last.
  WM_DEVICE void next() {
    if (step_ == end_) {
      Piece piece;
      if (!walk_.next(piece)) return;
      step_ = piece.first_step;
      end_ = piece.first_step + piece.steps;
      corner_ = place_.corner(args_.work.tile(piece.tile));
    }
    const Stage stage = ring_.acquire();
    load_stage<plan>(stage, args_, shared_, corner_, step_++, place_);
    ring_.commit(stage);
  }

 private:
  const ArgumentsOf<plan>& args_;
  GemmShared<plan>& shared_;
  const GemmPlace<plan>& place_;
  GemmRing<plan> ring_;
  PieceWalk walk_;
  Corner corner_{};
  u32 step_ = 0, end_ = 0;  // of the current piece
};

}  // namespace wm
