#include "check/memory_sentences.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/strict_mode.h"
#include "device/memory_detail.h"
#include "device/memory_map.h"

namespace hcclrun {
namespace {

using K = FaultKind;
using Place = MemoryDetail::Place;

std::string Address(uint64_t a) { return absl::StrFormat("%#x", a); }

constexpr char kAllocate[] = "allocate it with aclrtMalloc or map it with aclrtMapMem";

std::string NotDevice(const Fault& f, const MemoryDetail& d) {
  const std::string what = absl::StrCat(f.text, " (", Address(f.n[0]), ") ");
  const uint64_t at = f.n[0] - reinterpret_cast<uintptr_t>(d.memory.base);
  switch (d.place) {
    case Place::kInside:
      if (d.memory.kind == MemoryKind::kAllocation) {
        return absl::StrCat(what, "lies at offset ", at, " of ", NameOf(d.memory),
                            "; pass the address that aclrtMalloc returned");
      }
      return absl::StrCat(what, "is not memory of aclrtMalloc, but in ", NameOf(d.memory),
                          "; use the call that belongs to that");
    case Place::kGone:
      return absl::StrCat(what, "is not device memory any more: it lies at offset ", at, " of ",
                          NameOf(d.memory), ", which ", d.ended_by,
                          " has given back; use it only before that, and give it back once");
    case Place::kReserved:
      return absl::StrCat(what, "is not device memory: it lies in the reservation of ",
                          d.memory.size, " bytes at ",
                          Address(reinterpret_cast<uintptr_t>(d.memory.base)),
                          ", where nothing is mapped; map memory there with aclrtMapMem");
    case Place::kDevice:
      return absl::StrCat(what,
                          "is not device memory: it lies in the address space of a device, where "
                          "nothing is allocated; ",
                          kAllocate);
    case Place::kPinnedHost:
      return absl::StrCat(what, "is not device memory: it is host memory, at offset ", at, " of ",
                          NameOf(d.memory),
                          "; copy the data with aclrtMemcpy to memory of aclrtMalloc");
    case Place::kRegisteredHost:
      return absl::StrCat(what,
                          "is not device memory: it is host memory that aclrtHostRegister has "
                          "registered; copy the data with aclrtMemcpy to memory of aclrtMalloc");
    case Place::kStack:
      return absl::StrCat(
          what,
          "is not device memory: it lies on this thread's stack; copy the data with "
          "aclrtMemcpy to memory of aclrtMalloc");
    case Place::kUnknown:
      return absl::StrCat(what, "is not device memory; ", kAllocate);
  }
  return what;
}

std::string Overlap(const Fault& f) {
  const auto& n = f.n;
  const uint64_t begin = std::max(n[0], n[2]), end = std::min(n[0] + n[1], n[2] + n[3]);
  const MemoryInfo memory = FindMemory(reinterpret_cast<void*>(n[0]));
  return absl::StrCat(
      "the input (", Address(n[0]), ", ", n[1], " bytes) and the output (", Address(n[2]), ", ",
      n[3], " bytes)", memory.kind == MemoryKind::kNone ? "" : absl::StrCat(" in ", NameOf(memory)),
      " overlap",
      begin < end ? absl::StrCat(" in ", end - begin, " bytes at ", Address(begin)) : "",
      " without being the same or, where one is larger, its block of this rank; hardware accepts "
      "that, with an undefined result. Use separate buffers, or exactly in place",
      StrictMode() ? "" : " (--strict refuses this)");
}

}  // namespace

std::string MemorySentence(const Fault& f) {
  const MemoryDetail* d = dynamic_cast<const MemoryDetail*>(f.detail.get());
  switch (f.kind) {
    case K::kNotDeviceMemory:
      return NotDevice(f, d ? *d : MemoryDetail());
    case K::kOutsideAllocation: {
      const uint64_t end = f.n[0] + f.n[1], allowed = f.n[2] + f.n[3];
      return absl::StrCat(
          f.text, " (", Address(f.n[0]), ", ", f.n[1], " bytes) reaches beyond its allocation",
          f.n[1] <= UINT64_MAX - f.n[0] ? absl::StrCat(" by ", end - allowed, " bytes") : "",
          ", which is ", f.n[3], " bytes at ", Address(f.n[2]),
          d && d->memory.made_by ? absl::StrCat(": ", NameOf(d->memory)) : "",
          "; check count, type and the number of ranks, or allocate more");
    }
    case K::kBuffersOverlap:
      return Overlap(f);
    case K::kNotMapped:
      return absl::StrCat("nothing is mapped at ", Address(f.n[0]), " any more: it lies in ",
                          NameOf(d->memory), ", which ", d->ended_by,
                          " has given back; give memory back once");
    case K::kFreedInUse:
      return absl::StrCat("the task used ", f.text,
                          " while it was queued; synchronise the stream before giving memory back");
    default:
      return "";
  }
}

}  // namespace hcclrun
