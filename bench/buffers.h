#pragma once
// Device memory to run collectives on: in a symmetric window, or plain memory that goes through the
// HCCL buffers.

#include <cstddef>

#include "session.h"

namespace hcclrun::bench {

enum class Path { kWindow, kBuffered };

class Buffer {
 public:
  // Collective for windows: all ranks create their buffers in the same order with the same size.
  Buffer(const Session& session, size_t bytes, Path path);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return base_; }
  size_t bytes() const { return bytes_; }

  void Upload(const void* host, size_t bytes);
  void Download(void* host, size_t bytes) const;
  void Poison(size_t bytes);  // so that what an operation does not write cannot pass for a result

 private:
  void* base_ = nullptr;
  size_t bytes_;
  aclrtDrvMemHandle memory_ = nullptr;  // null for plain memory
  HcclCommSymWindow window_ = nullptr;
};

}  // namespace hcclrun::bench
