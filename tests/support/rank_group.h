#pragma once
// The ranks of a test and a line between them that owes nothing to the library under test: ranks
// are either the processes of hcclrun or threads of this process. Tests use it to pass expectations
// around and to meet at points that no collective marks. Every rank makes the same calls in the
// same order.

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hccl/hccl_types.h"

namespace hcclrun::testing {

class RankGroup {
 public:
  virtual ~RankGroup() = default;
  uint32_t rank() const { return rank_; }
  uint32_t size() const { return size_; }
  bool threads() const { return threads_; }  // ranks share this process

  // Everybody's bytes, by rank. Returns when all ranks have called.
  virtual std::vector<std::string> Exchange(const std::string& mine) = 0;
  void Meet() { Exchange(""); }

  template <class T>
  std::vector<T> ExchangeValues(const T& mine) {
    std::vector<T> values;
    for (const std::string& bytes :
         Exchange(std::string(reinterpret_cast<const char*>(&mine), sizeof mine))) {
      T value;
      std::memcpy(&value, bytes.data(), sizeof value);
      values.push_back(value);
    }
    return values;
  }

  // *info of rank 0 on every rank: by hcclrunShareRootInfo between processes.
  virtual void ShareRootInfo(HcclRootInfo* info) = 0;

 protected:
  RankGroup(uint32_t rank, uint32_t size, bool threads)
      : rank_(rank), size_(size), threads_(threads) {}

 private:
  uint32_t rank_, size_;
  bool threads_;
};

// The group of this process under hcclrun (of one rank without it). Once per process; a rank that
// loses another one says so and exits.
std::unique_ptr<RankGroup> JoinProcessRanks();

// Runs `body` in `size` threads, each with its group; returns when all have returned.
void RunThreadRanks(uint32_t size, const std::function<void(RankGroup&)>& body);

}  // namespace hcclrun::testing
