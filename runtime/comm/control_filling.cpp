#include "comm/control_filling.h"

#include <sys/types.h>

#include <cstring>
#include <new>
#include <vector>

#include "base/settings.h"
#include "comm/control_block.h"
#include "shm/processors.h"

namespace hcclrun {
namespace {

// The lowest rank in the SuperPoD of rank r, which names it. HCCL_LOGIC_SUPERPOD_ID splits a
// SuperPoD (semantics E), it does not join two.
uint32_t FirstInPodOf(uint32_t r, absl::Span<const Hello> hellos) {
  const Hello& h = hellos[r];
  for (uint32_t first = 0; first < r; first++) {
    const Hello& other = hellos[first];
    if (other.superpod == h.superpod && strcmp(other.logic_superpod, h.logic_superpod) == 0)
      return first;
  }
  return r;
}

}  // namespace

void FillControl(void* base, uint64_t bytes, absl::Span<const Hello> hellos) {
  const uint32_t ranks = static_cast<uint32_t>(hellos.size());
  ControlView view = ControlView::At(base, ranks);
  ControlHeader* header = new (view.header) ControlHeader();
  header->magic = kControlMagic;
  header->layout = kLayoutVersion;
  header->ranks = ranks;
  header->bytes = bytes;
  std::vector<pid_t> processes;
  for (const Hello& h : hellos) processes.push_back(h.pid);
  const uint32_t told = Settings::Get().processors;
  header->processors = told ? told : ProcessorCount(processes);
  header->oversubscribed = ranks > header->processors;
  header->engine = static_cast<uint32_t>(Settings::Get().engine);
  header->accumulate_fp32 = Settings::Get().accumulate_fp32;
  for (uint32_t r = 0; r < ranks; r++) {
    const Hello& h = hellos[r];
    RankRecord* record = new (&view.ranks[r]) RankRecord();
    record->pid = h.pid;
    record->device = h.device;
    record->heap_uid = h.heap_uid;
    record->heap_bytes = h.heap_bytes;
    record->stage_a = h.stage_a;
    record->stage_b = h.stage_b;
    record->stage_bytes = h.stage_bytes;
    record->server = h.server;
    record->pod = FirstInPodOf(r, hellos);
  }
  for (uint32_t s = 0; s < kRingSlots; s++) {
    Slot* slot = new (&view.slots[s]) Slot();
    // Published by the packet that carries the descriptor.
    slot->epoch.store(s, std::memory_order_relaxed);
  }
}

}  // namespace hcclrun
