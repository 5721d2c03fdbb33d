#pragma once
// Tests whose body every rank runs in lockstep:
//
//   RANK_TEST(AllReduce, AddsUp) {          // `ranks` is the RankGroup
//     Session session(ranks);
//     ...
//   }
//
// `hcclrun -n N program` runs it as N processes; HCCLRUN_TEST_THREADS=N in the environment as N
// threads of one process. Rank 0 reports as GoogleTest does, the other ranks print failures alone.
// The first test that fails on a rank ends that rank, and with it the job: the others would wait
// for it.
//
// The program's main() is in rank_test_main.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rank_group.h"

namespace hcclrun::testing {

void RunAsRanks(void (*body)(RankGroup&));

// Number of random trials: `usual` times HCCLRUN_TEST_TRIALS, the factor of a soak run (default 1).
int Trials(int usual);
// Seed of random trials: HCCLRUN_TEST_SEED, or a constant.
uint64_t Seed();

}  // namespace hcclrun::testing

#define RANK_TEST(suite, name)                                                              \
  static void suite##_##name##_Body([[maybe_unused]] ::hcclrun::testing::RankGroup& ranks); \
  TEST(suite, name) { ::hcclrun::testing::RunAsRanks(suite##_##name##_Body); }              \
  static void suite##_##name##_Body([[maybe_unused]] ::hcclrun::testing::RankGroup& ranks)
