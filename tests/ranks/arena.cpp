#include "ranks/arena.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace hcclrun::testing {
namespace {

// Bytes between what a layout uses and the arena's ends.
constexpr uint64_t kMargin = 64;

bool Reduces(Op op) {
  return op == Op::kAllReduce || op == Op::kReduceScatter || op == Op::kReduce;
}

// HCCLRUN_STRICT: the input of these in windows is what hardware leaves of it.
bool ConsumesInput(const Call& call, Path memory) {
  const char* strict = std::getenv("HCCLRUN_STRICT");
  return strict && strict[0] == '1' && call.op != Op::kReduce && Reduces(call.op) &&
         ExpectedPath(call, memory) == HCCLRUN_PATH_WINDOW;
}
constexpr uint8_t kConsumed[4] = {0x0b, 0xc1, 0xff, 0xff};

uint64_t Largest(const Call& call, bool in) {
  uint64_t largest = 0;
  for (uint32_t r = 0; r < call.ranks; ++r) {
    const ExtentBytes e =
        Extents(call.op, call.count, ElementSize(call.type), call.ranks, r, call.root);
    largest = std::max(largest, in ? e.in_bytes : e.out_bytes);
  }
  return largest;
}

}  // namespace

Arena::Arena(Session& session, Path memory, uint64_t bytes, uint64_t seed)
    : session_(session), memory_(memory), bytes_(bytes) {
  if (memory == Path::kWindow) {
    window_ = std::make_unique<WindowMemory>(session, bytes);
    base_ = window_->data();
  } else {
    plain_ = std::make_unique<DeviceMemory>(bytes);
    base_ = plain_->data();
  }
  for (uint32_t r = 0; r < session.size(); ++r)
    model_.push_back(MakeValues(DataType::kUint64, seed, r, bytes / 8));
  UploadValues(base_, model_[session.rank()]);
}

void Arena::Put(DataType type, uint64_t seed, uint64_t count, const Offsets& at,
                aclrtStream stream) {
  const uint64_t bytes = count * ElementSize(type);
  if (bytes == 0) return;
  for (uint32_t r = 0; r < session_.size(); ++r)
    FillValues(type, seed, r, 0, count, &model_[r].at(at[r]));
  const uint8_t* mine = &model_[session_.rank()][at[session_.rank()]];
  staged_.emplace_back(mine, mine + bytes);
  REQUIRE_OK(aclrtMemcpyAsync(At(at[session_.rank()]), bytes, staged_.back().data(), bytes,
                              ACL_MEMCPY_HOST_TO_DEVICE, stream));
}

void Arena::Run(const Call& call, const Offsets& in, const Offsets& out, HcclComm comm,
                aclrtStream stream) {
  const uint32_t me = session_.rank();
  history_.push_back(Describe(call) + ", in at " + std::to_string(in[me]) + ", out at " +
                     std::to_string(out[me]));
  const HcclResult result = Enqueue(call, At(in[me]), At(out[me]), comm, stream);
  EXPECT_EQ(result, HCCL_SUCCESS) << Describe(call) << "\n" << TakeMessages();
  if (call.count == 0) return;
  Apply(call, in, out);
  for (uint32_t r = 0; ConsumesInput(call, memory_) && r < call.ranks; ++r) {
    const ExtentBytes e =
        Extents(call.op, call.count, ElementSize(call.type), call.ranks, r, call.root);
    for (uint64_t i = in[r]; i < in[r] + e.in_bytes; ++i) {
      if (i < out[r] || i >= out[r] + e.out_bytes) model_[r][i] = kConsumed[i % 4];
    }
  }
  if (call.op != Op::kReduce) return;
  const uint64_t bytes = call.count * ElementSize(call.type);
  for (uint32_t r = 0; r < session_.size(); ++r) {
    if (r != call.root)
      std::fill_n(model_[r].begin() + static_cast<ptrdiff_t>(out[r]), bytes, uint8_t{0x5a});
  }
  if (me != call.root) REQUIRE_OK(aclrtMemsetAsync(At(out[me]), bytes, 0x5a, bytes, stream));
}

void Arena::Apply(const Call& call, const Offsets& in, const Offsets& out) {
  std::vector<Bytes> inputs, outputs;
  for (uint32_t r = 0; r < call.ranks; ++r) {
    const ExtentBytes e =
        Extents(call.op, call.count, ElementSize(call.type), call.ranks, r, call.root);
    const auto slice = [&](uint64_t from, uint64_t bytes) {
      if (from > bytes_ || bytes > bytes_ - from) std::abort();  // a mistake of the test
      return Bytes(model_[r].begin() + static_cast<ptrdiff_t>(from),
                   model_[r].begin() + static_cast<ptrdiff_t>(from + bytes));
    };
    inputs.push_back(slice(in[r], e.in_bytes));
    outputs.push_back(slice(out[r], e.out_bytes));
  }
  Call with_setting = call;
  with_setting.accumulator = AccumulatorSet();
  RunReference(with_setting, inputs, &outputs);
  for (uint32_t r = 0; r < call.ranks; ++r) {
    std::copy(outputs[r].begin(), outputs[r].end(),
              model_[r].begin() + static_cast<ptrdiff_t>(out[r]));
  }
}

::testing::AssertionResult Arena::Check() {
  staged_.clear();
  const Bytes& expected = model_[session_.rank()];
  const Bytes actual = Download(base_, bytes_);
  if (actual == expected) {
    history_.clear();
    return ::testing::AssertionSuccess();
  }
  std::ostringstream text;
  const auto first = std::mismatch(actual.begin(), actual.end(), expected.begin());
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < bytes_; ++i) wrong += actual[i] != expected[i];
  text << wrong << " bytes are wrong on rank " << session_.rank() << ", the first at "
       << first.first - actual.begin() << " (" << int{*first.first} << ", expected "
       << int{*first.second} << ") in " << (memory_ == Path::kWindow ? "a window" : "plain memory")
       << " after";
  for (const std::string& line : history_) text << "\n  " << line;
  return ::testing::AssertionFailure() << text.str();
}

hcclrunPath ExpectedPath(const Call& call, Path memory) {
  const bool four = call.op == Op::kAllGather || call.op == Op::kReduceScatter ||
                    call.op == Op::kAllReduce || call.op == Op::kAllToAll;
  if (memory != Path::kWindow || !four || call.ranks == 1) return HCCLRUN_PATH_BUFFERED;
  if (Reduces(call.op)) {
    if (call.reduce == ReduceOp::kProd) return HCCLRUN_PATH_BUFFERED;
    switch (call.type) {
      case DataType::kInt8:
      case DataType::kInt16:
      case DataType::kInt32:
      case DataType::kFp16:
      case DataType::kFp32:
      case DataType::kBf16:
        break;
      default:
        return HCCLRUN_PATH_BUFFERED;
    }
  }
  return HCCLRUN_PATH_WINDOW;
}

HcclResult Enqueue(const Call& call, void* in, void* out, HcclComm comm, aclrtStream stream) {
  const auto type = static_cast<HcclDataType>(call.type);
  const auto op = static_cast<HcclReduceOp>(call.reduce);
  switch (call.op) {
    case Op::kAllGather:
      return HcclAllGather(in, out, call.count, type, comm, stream);
    case Op::kReduceScatter:
      return HcclReduceScatter(in, out, call.count, type, op, comm, stream);
    case Op::kAllReduce:
      return HcclAllReduce(in, out, call.count, type, op, comm, stream);
    case Op::kAllToAll:
      return HcclAlltoAll(in, call.count, type, out, call.count, type, comm, stream);
    case Op::kBroadcast:
      return HcclBroadcast(out, call.count, type, call.root, comm, stream);
    case Op::kReduce:
      return HcclReduce(in, out, call.count, type, op, call.root, comm, stream);
    case Op::kScatter:
      return HcclScatter(in, out, call.count, type, call.root, comm, stream);
    case Op::kBarrier:
      return HcclBarrier(comm, stream);
    default:
      std::abort();
  }
}

std::string Describe(const Call& call) {
  std::ostringstream text;
  text << Name(call.op) << " of " << call.count << " " << Name(call.type);
  if (Reduces(call.op)) text << ", " << Name(call.reduce);
  if (call.op == Op::kBroadcast || call.op == Op::kReduce || call.op == Op::kScatter)
    text << ", root " << call.root;
  text << ", " << call.ranks << " ranks";
  return text.str();
}

bool Supported(const Call& call) {
  if (!Reduces(call.op)) return true;
  switch (call.type) {
    case DataType::kInt8:
    case DataType::kInt32:
    case DataType::kFp16:
    case DataType::kFp32:
    case DataType::kInt64:
      return true;
    case DataType::kInt16:
    case DataType::kBf16:
      return call.reduce != ReduceOp::kProd;
    default:
      return false;
  }
}

Call RandomCall(Random& random, uint32_t ranks, uint64_t arena_bytes) {
  Call call;
  call.ranks = ranks;
  do {
    call.op = kOperations[random.Below(std::size(kOperations))];
    call.type = kDataTypes[random.Below(std::size(kDataTypes))];
    call.reduce = kReductions[random.Below(std::size(kReductions))];
  } while (!Supported(call));
  call.root = static_cast<uint32_t>(random.Below(ranks));
  const uint64_t most = arena_bytes / 4 / ranks / ElementSize(call.type);
  switch (random.Below(4)) {
    case 0:
      call.count = random.Below(4);
      break;
    case 1:
      call.count = random.Below(std::min<uint64_t>(most, 100));
      break;
    default:
      call.count = random.Below(most);
      break;
  }
  return call;
}

Job RandomLayout(Random& random, const Call& call, const Arena& arena, bool in_place) {
  Job job{call, {}, {}};
  const uint64_t elem = ElementSize(call.type), block = call.count * elem;
  const uint64_t in = Largest(call, true), out = Largest(call, false);
  // Halves of the arena, so that nothing overlaps; which of them takes the input is random.
  const uint64_t half = arena.bytes() / 2;
  const auto place = [&](uint64_t half_number, uint64_t bytes) {
    uint64_t at = half_number * half + kMargin + random.Below(half - 2 * kMargin - bytes + 1);
    // Element alignment is only a recommendation (semantics C.4).
    return random.OneIn(4) ? at : at / elem * elem;
  };
  const bool one_place = arena.memory() == Path::kWindow;
  for (uint32_t r = 0; r < call.ranks; ++r) {
    if (r > 0 && one_place) {
      job.in.push_back(job.in[0]);
      job.out.push_back(job.out[0]);
      continue;
    }
    const uint64_t first = random.Below(2);
    job.in.push_back(place(first, in));
    job.out.push_back(place(1 - first, out));
  }
  for (uint32_t r = 0; r < call.ranks; ++r) {
    switch (call.op) {
      case Op::kBroadcast:
        job.in[r] = job.out[r];
        break;
      case Op::kAllReduce:
      case Op::kReduce:
        if (in_place) job.out[r] = job.in[r];
        break;
      case Op::kAllGather:
        if (in_place && !one_place) job.in[r] = job.out[r] + r * block;
        break;
      case Op::kReduceScatter:
        if (in_place && !one_place) job.out[r] = job.in[r] + r * block;
        break;
      case Op::kScatter:
        if (in_place && r == call.root) job.out[r] = job.in[r] + r * block;
        break;
      default:
        break;
    }
  }
  return job;
}

}  // namespace hcclrun::testing
