// Bandwidth of the copy and reduce kernels on one thread. Rates count every byte read and every
// byte written.
//
// Arguments: sources, destinations, KiB per range, streaming. Ranges begin on pages, as ranks'
// buffers usually do.

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "collective/kernels.h"

namespace hcclrun {
namespace {

class Ranges {
 public:
  Ranges(int n, uint64_t bytes) : bytes_(n * bytes) {
    void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(p);
    for (int i = 0; i < n; ++i) at_.push_back(base_ + i * bytes);
  }
  ~Ranges() { munmap(base_, bytes_); }
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;

  char* operator[](int i) const { return at_[i]; }
  char* const* data() const { return at_.data(); }

 private:
  uint64_t bytes_;
  char* base_;
  std::vector<char*> at_;
};

void BM_Reduce(benchmark::State& state, DataType type, ReduceOp op) {
  const int nsrc = static_cast<int>(state.range(0)), ndst = static_cast<int>(state.range(1));
  const uint64_t bytes = static_cast<uint64_t>(state.range(2)) << 10;
  const Ranges in(nsrc, bytes), out(ndst, bytes);
  // Small positive numbers in every type: no overflow, no subnormals.
  for (int s = 0; s < nsrc; ++s) std::memset(in[s], 0x2c, bytes);
  std::vector<const void*> src;
  std::vector<void*> dst;
  for (int s = 0; s < nsrc; ++s) src.push_back(in[s]);
  for (int d = 0; d < ndst; ++d) dst.push_back(out[d]);
  for (auto _ : state) {
    Reduce(type, op, dst.data(), ndst, src.data(), nsrc, bytes / ElementSize(type),
           state.range(3) != 0);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * (nsrc + ndst) * bytes));
}

void BM_Copy(benchmark::State& state) {
  const int ndst = static_cast<int>(state.range(0));
  const uint64_t bytes = static_cast<uint64_t>(state.range(1)) << 10;
  const Ranges in(1, bytes), out(ndst, bytes);
  std::memset(in[0], 1, bytes);
  for (auto _ : state) {
    CopyBytes(out.data(), ndst, in[0], bytes, state.range(2) != 0);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * (1 + ndst) * bytes));
}

bool RegisterAll() {
  const auto reduce = [](DataType type, ReduceOp op) {
    const std::string name = std::string("Reduce/") + Name(type) + "/" + Name(op);
    return benchmark::RegisterBenchmark(name.c_str(), BM_Reduce, type, op)
        ->ArgNames({"src", "dst", "KiB", "nt"});
  };
  for (DataType type : {DataType::kFp32, DataType::kFp16, DataType::kBf16}) {
    auto* sum = reduce(type, ReduceOp::kSum);
    for (int kib : {64, 4 << 10, 64 << 10}) {
      for (int streaming : {0, 1}) sum->Args({8, 8, kib, streaming})->Args({8, 1, kib, streaming});
    }
    sum->Args({2, 2, 64, 0})->Args({2, 2, 4 << 10, 1})->Args({64, 1, 1 << 10, 0});
    reduce(type, ReduceOp::kMax)->Args({8, 8, 64, 0})->Args({8, 8, 4 << 10, 1});
  }
  for (DataType type : {DataType::kInt8, DataType::kInt32, DataType::kInt64}) {
    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax}) {
      reduce(type, op)->Args({8, 8, 64, 0})->Args({8, 8, 4 << 10, 1});
    }
  }
  auto* copy = benchmark::RegisterBenchmark("Copy", BM_Copy)->ArgNames({"dst", "KiB", "nt"});
  for (int ndst : {1, 2, 8}) {
    for (int kib : {64, 4 << 10, 64 << 10}) {
      for (int streaming : {0, 1}) copy->Args({ndst, kib, streaming});
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace hcclrun
