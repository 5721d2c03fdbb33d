// The engine's own costs on one thread, without any data: posting and leaving an operation,
// claiming a piece, telling sleepers that are not there.

#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <vector>

#include "collective/claims.h"
#include "comm/execution_choice.h"
#include "comm/matching.h"

namespace hcclrun {
namespace {

// A communicator's shared memory, here private.
class Block {
 public:
  explicit Block(uint32_t ranks) : memory_(ControlView::BytesFor(ranks) / 64 + 1) {
    view_ = ControlView::At(memory_.data(), ranks);
    view_.header->ranks = ranks;
    view_.header->processors = 2;
    view_.header->oversubscribed = ranks > 2;
    for (uint32_t s = 0; s < kRingSlots; s++) view_.slots[s].epoch.store(s);
  }
  const ControlView& view() const { return view_; }

 private:
  struct alignas(64) Line {
    char bytes[64] = {};
  };
  std::vector<Line> memory_;
  ControlView view_;
};

// One operation of all ranks: post, decide, leave; per rank.
void BM_PostAndLeave(benchmark::State& state) {
  const auto ranks = static_cast<uint32_t>(state.range(0));
  const Block block(ranks);
  Descriptor descriptor;
  std::memset(&descriptor, 0, sizeof descriptor);
  descriptor.op = static_cast<uint8_t>(Op::kAllReduce);
  descriptor.flags = kFlagWindow;
  descriptor.count = 8;
  for (auto _ : state) {
    for (uint32_t r = 0; r < ranks; r++) TryPost(block.view(), r, descriptor);
    benchmark::DoNotOptimize(ChooseExecution(block.view(), descriptor));
    for (uint32_t r = 0; r < ranks; r++) Leave(block.view(), descriptor.sequence);
    descriptor.sequence++;
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * ranks));
}
BENCHMARK(BM_PostAndLeave)->Arg(2)->Arg(8)->Arg(64);

// Opening a phase of 32 pieces and claiming them; per piece.
void BM_Claim(benchmark::State& state) {
  constexpr uint64_t kPieces = 32;
  const auto homes = static_cast<uint32_t>(state.range(0));
  const auto claims = std::make_unique<Claims>();
  for (auto _ : state) {
    claims->Open(0, homes, kPieces);
    const uint64_t opened = claims->open.load();
    uint64_t taken = 0, piece = 0;
    for (uint32_t h = 0; h < homes; h++) {
      while (claims->Take(opened, h, homes, kPieces, &piece)) taken++;
    }
    claims->done.fetch_add(taken);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kPieces));
}
BENCHMARK(BM_Claim)->Arg(1)->Arg(2)->Arg(16);

void BM_NotifyNobody(benchmark::State& state) {
  EventCount event = {};
  for (auto _ : state) event.Notify();
}
BENCHMARK(BM_NotifyNobody);

}  // namespace
}  // namespace hcclrun
