#pragma once
// Futexes on words in shared memory (never FUTEX_PRIVATE: waiter and waker may
// be different processes).

#include <atomic>
#include <cstdint>

namespace hcclrun {

// Sleeps while *word == expected, at most `timeout_ns`. May return early for no
// reason; callers re-check.
void FutexWait(const std::atomic<uint32_t>* word, uint32_t expected, int64_t timeout_ns);
void FutexWakeAll(const std::atomic<uint32_t>* word);

}  // namespace hcclrun
