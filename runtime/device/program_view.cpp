#include "device/program_view.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "base/strict_mode.h"
#include "device/memory_map_state.h"

namespace hcclrun {
namespace {

void ProtectAllLocked(const MemoryMaps& maps, bool open) {
  for (const auto& [base, space] : maps.spaces) {
    if (space.kind == SpaceKind::kWhole && space.view != reinterpret_cast<char*>(base))
      ProtectProgramView(reinterpret_cast<void*>(base), space.size, open);
  }
  for (const auto& [base, info] : maps.memory) {
    if (info.kind == MemoryKind::kMapping) ProtectProgramView(info.base, info.size, open);
  }
}

}  // namespace

OpenProgramView::OpenProgramView() {
  if (!StrictMode()) return;
  MemoryMaps& maps = MemoryMaps::Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  if (maps.opened++ > 0) return;
  ProtectAllLocked(maps, true);
  maps.open.store(true, std::memory_order_relaxed);
}

OpenProgramView::~OpenProgramView() {
  if (!StrictMode()) return;
  MemoryMaps& maps = MemoryMaps::Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  if (--maps.opened > 0) return;
  maps.open.store(false, std::memory_order_relaxed);
  ProtectAllLocked(maps, false);
}

bool OpenProgramView::IsOpen() { return MemoryMaps::Get().open.load(std::memory_order_relaxed); }

void* NextProgramAddress(uint64_t size) {
#ifdef __SANITIZE_THREAD__
  return nullptr;  // its shadow lies there
#endif
  static std::atomic<uint64_t> next{kProgramViewBegin};
  constexpr uint64_t kAlignment = uint64_t{1} << 30;
  size = (size + kAlignment - 1) & ~(kAlignment - 1);
  const uint64_t at = next.fetch_add(size, std::memory_order_relaxed);
  return at + size <= kProgramViewEnd ? reinterpret_cast<void*>(at) : nullptr;
}

}  // namespace hcclrun
