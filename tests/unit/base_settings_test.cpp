// hcclrun's own variables: a value that is not understood is told and not taken for another one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/settings.h"
#include "base/thread_value.h"

namespace hcclrun {
namespace {

using ::testing::HasSubstr;

TEST(Settings, IllegalValuesAreToldAndIgnored) {
  setenv("HCCLRUN_CHECK", "Error", 1);
  setenv("HCCLRUN_DIRECT", "yes", 1);
  setenv("HCCLRUN_EXPLAIN", "on", 1);
  setenv("HCCLRUN_STRICT", "true", 1);
  setenv("HCCLRUN_ENGINE", "cooperative", 1);
  setenv("HCCLRUN_SOC", "Ascend", 1);
  setenv("HCCLRUN_PROCESSORS", "0", 1);
  setenv("HCCLRUN_ACCUMULATE", "FP32", 1);
  ::testing::internal::CaptureStderr();
  const Settings& settings = Settings::Get();
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(settings.check_is_error);
  EXPECT_FALSE(settings.direct);
  EXPECT_FALSE(settings.explain);
  EXPECT_FALSE(settings.strict);
  EXPECT_EQ(settings.engine, Engine::kCooperative);
  EXPECT_EQ(settings.soc, "Ascend910_9391");
  EXPECT_TRUE(settings.atlas_a3);
  EXPECT_FALSE(settings.accumulate_fp32);
  EXPECT_EQ(settings.processors, 0u);
  EXPECT_THAT(told, HasSubstr("HCCLRUN_CHECK=Error is ignored: it must be warn or error"));
  EXPECT_THAT(told, HasSubstr("HCCLRUN_DIRECT=yes is ignored: it must be 0 or 1"));
  EXPECT_THAT(told, HasSubstr("HCCLRUN_EXPLAIN=on is ignored: it must be 0 or 1"));
  EXPECT_THAT(told, HasSubstr("HCCLRUN_STRICT=true is ignored: it must be 0 or 1"));
  EXPECT_THAT(told, HasSubstr("HCCLRUN_SOC=Ascend is ignored: it must be the name of a chip"));
  EXPECT_THAT(told,
              HasSubstr("HCCLRUN_PROCESSORS=0 is ignored: it must be a number from 1 to 1024"));
}

struct Noted {
  std::string text;
};

// On the main thread, thread_local objects are gone by then.
struct AsksAtTheEnd {
  ~AsksAtTheEnd() {
    if (ThreadValue<Noted>::Get().text != "a text too long for a small string to hold in itself")
      std::_Exit(3);
  }
};

TEST(ThreadValue, IsThereInDestructorsOfStaticObjects) {
  EXPECT_EXIT(
      {
        static AsksAtTheEnd asks;
        ThreadValue<Noted>::Get().text = "a text too long for a small string to hold in itself";
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hcclrun
