#include "launcher/trace_file.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collective/types.h"
#include "launcher/call_text.h"
#include "launcher/job_report.h"

namespace hcclrun {
namespace {

// Lanes of streams come behind those of threads, whose numbers are the system's. A stream has
// several when it executes several transfers of a batch at once: slices of one lane must not
// overlap.
constexpr uint64_t kStreamLane = uint64_t{1} << 32;
constexpr uint64_t kLanesOfStream = uint64_t{1} << 10;
constexpr int64_t kMarkNs = 1'000;  // the width of a call on its thread's lane, where there is room

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    // Names of communicators are the program's and may be anything.
    quoted +=
        static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? '?' : c;
  }
  return quoted + '"';
}

// What one rank's call meets with: the operation of all ranks, or the transfer of two.
using OperationKey = std::tuple<uint64_t, bool, uint32_t, uint32_t, uint64_t>;

class Writer {
 public:
  explicit Writer(const JobHistory& history) : history_(history) {}

  std::string Write() {
    FindLast();
    const int ranks = static_cast<int>(history_.ranks.size());
    for (int r = 0; r < ranks; r++) Rank(r);
    for (int r = 0; r < ranks; r++) Streams(r);  // arrows begin at marks of other ranks
    return absl::StrCat("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out_, "\n]}\n");
  }

 private:
  struct Last {
    int64_t posted_ns = 0;
    int rank = -1;
    const RecordedCall* call = nullptr;
  };

  std::string Us(int64_t ns) const {
    char text[40];
    const int64_t since = std::max<int64_t>(ns - history_.start_ns, 0);
    snprintf(text, sizeof text, "%" PRId64 ".%03" PRId64, since / 1000, since % 1000);
    return text;
  }

  void Event(const std::string& fields) {
    absl::StrAppend(&out_, out_.empty() ? "" : ",\n", "{", fields, "}");
  }

  void Name(const char* what, int rank, uint64_t lane, const std::string& name) {
    Event(absl::StrCat("\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", rank, ",\"tid\":", lane,
                       ",\"args\":{\"name\":", Quoted(name), "}"));
  }

  void Slice(int rank, uint64_t lane, int64_t begin_ns, int64_t end_ns, const std::string& name,
             const char* category, const std::string& args) {
    Event(absl::StrCat("\"ph\":\"X\",\"name\":", Quoted(name), ",\"cat\":\"", category,
                       "\",\"pid\":", rank, ",\"tid\":", lane, ",\"ts\":", Us(begin_ns),
                       ",\"dur\":", UsOf(std::max<int64_t>(end_ns - begin_ns, 1)), ",\"args\":{",
                       args, "}"));
  }

  static std::string UsOf(int64_t ns) {
    char text[40];
    snprintf(text, sizeof text, "%" PRId64 ".%03" PRId64, ns / 1000, ns % 1000);
    return text;
  }

  // One end of an arrow; it belongs to the slice of the lane that is there at this time.
  void Arrow(bool begins, const char* name, uint64_t flow, int rank, uint64_t lane, int64_t at_ns) {
    Event(absl::StrCat("\"ph\":\"", begins ? "s" : "f", begins ? "" : "\",\"bp\":\"e",
                       "\",\"name\":\"", name, "\",\"cat\":\"", name, "\",\"id\":", flow,
                       ",\"pid\":", rank, ",\"tid\":", lane, ",\"ts\":", Us(at_ns)));
  }

  bool KeyOf(const RankHistory& rank, const RecordedCall& call, OperationKey* key) const {
    const RecordedCommunicator* c = rank.communicator(call.comm);
    if (!c || call.kind == OperationRecord::kLocal) return false;
    const uint32_t sender = call.kind == OperationRecord::kSend ? c->rank : call.peer;
    const uint32_t receiver = call.kind == OperationRecord::kSend ? call.peer : c->rank;
    *key = call.transfer() ? OperationKey(c->key, true, sender, receiver, call.sequence)
                           : OperationKey(c->key, false, 0, 0, call.sequence);
    return true;
  }

  // Who came last to each operation.
  void FindLast() {
    for (size_t r = 0; r < history_.ranks.size(); r++) {
      for (const RecordedCall& call : history_.ranks[r].calls) {
        OperationKey key;
        if (call.posted_ns == 0 || !KeyOf(history_.ranks[r], call, &key)) continue;
        Last& last = last_[key];
        if (call.posted_ns <= last.posted_ns) continue;
        last.posted_ns = call.posted_ns;
        last.rank = static_cast<int>(r);
        last.call = &call;
      }
    }
  }

  void Rank(int rank) {
    const RankHistory& me = history_.rank(rank);
    Name("process_name", rank, 0, absl::StrCat("rank ", rank));
    Event(absl::StrCat("\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":", rank,
                       ",\"args\":{\"sort_index\":", rank, "}"));
    Threads(rank);
    if (me.calls_recorded > me.calls.size() && !me.calls.empty()) {
      const RecordedCall& first = me.calls.front();
      Event(absl::StrCat("\"ph\":\"i\",\"s\":\"p\",\"name\":\"",
                         me.calls_recorded - me.calls.size(),
                         " earlier calls are not kept\",\"pid\":", rank,
                         ",\"tid\":0,\"ts\":", Us(first.called_ns)));
    }
  }

  // A mark for each call, on the lane of its thread, before that of the next one begins.
  void Threads(int rank) {
    std::vector<const RecordedCall*> calls = CallsOf(rank);
    std::stable_sort(calls.begin(), calls.end(), [](const RecordedCall* a, const RecordedCall* b) {
      return std::pair(a->thread, a->called_ns) < std::pair(b->thread, b->called_ns);
    });
    int64_t end_ns = 0;  // of the mark before
    for (size_t i = 0; i < calls.size(); i++) {
      const RecordedCall& call = *calls[i];
      const uint64_t lane = LaneOf(call);
      const bool first = i == 0 || calls[i - 1]->thread != call.thread;
      const bool last = i + 1 == calls.size() || calls[i + 1]->thread != call.thread;
      if (first) Name("thread_name", rank, lane, absl::StrCat("thread ", lane));
      const int64_t begin_ns = first ? call.called_ns : std::max(call.called_ns, end_ns);
      end_ns = begin_ns + kMarkNs;
      if (!last) end_ns = std::min(end_ns, std::max(calls[i + 1]->called_ns, begin_ns + 1));
      marks_[&call] = begin_ns;
      Slice(rank, lane, begin_ns, end_ns, Text(history_, rank, call), "call", "");
    }
  }

  // The operations as they waited and ran.
  void Streams(int rank) {
    std::vector<const RecordedCall*> calls = CallsOf(rank);
    std::erase_if(calls, [](const RecordedCall* call) {
      return call->kind == OperationRecord::kLocal || call->posted_ns == 0;
    });
    std::stable_sort(calls.begin(), calls.end(), [](const RecordedCall* a, const RecordedCall* b) {
      const int64_t a_ns = a->started_ns, b_ns = b->started_ns;
      return (a_ns ? a_ns : INT64_MAX) < (b_ns ? b_ns : INT64_MAX);
    });
    std::map<uint32_t, std::vector<int64_t>> busy_until;  // of each stream's lanes
    for (const RecordedCall* call : calls) {
      // Collectives of a stream run one after the other, transfers of a batch side by side.
      std::vector<int64_t>& lanes = busy_until[call->stream];
      size_t lane = 0;
      while (call->transfer() && lane < lanes.size() && lane + 1 < kLanesOfStream &&
             lanes[lane] > call->posted_ns)
        lane++;
      const uint64_t number = kStreamLane + call->stream * kLanesOfStream + lane;
      if (lane == lanes.size()) {
        lanes.push_back(0);
        Name("thread_name", rank, number,
             lane == 0 ? absl::StrCat("stream ", call->stream)
                       : absl::StrCat("stream ", call->stream, ", side by side ", lane + 1));
      }
      Operation(rank, *call, number, &lanes[lane]);
    }
  }

  void Operation(int rank, const RecordedCall& call, uint64_t lane, int64_t* busy_until) {
    const int64_t end = call.finished_ns ? call.finished_ns : history_.now_ns;
    const int64_t begin = std::max(call.started_ns ? call.started_ns : end, *busy_until);
    const int64_t waited_from = std::max(call.posted_ns, *busy_until);
    const std::string name = Text(history_, rank, call);
    if (waited_from < begin) {
      Slice(rank, lane, waited_from, begin,
            absl::StrCat(name, call.started_ns ? " waits" : " waits for ever"), "wait", "");
    }
    *busy_until = begin;
    if (call.started_ns == 0) return;
    *busy_until = std::max(end, begin + 1);
    Slice(rank, lane, begin, *busy_until, name, "operation",
          Facts(history_.rank(rank), call, end - call.started_ns));
    Arrow(true, "post", ++flows_, rank, LaneOf(call), marks_[&call]);
    Arrow(false, "post", flows_, rank, lane, *busy_until - 1);
    OperationKey key;
    if (!KeyOf(history_.rank(rank), call, &key)) return;
    const Last& last = last_[key];
    if (last.rank < 0 || last.rank == rank) return;
    Arrow(true, "last to come", ++flows_, last.rank, LaneOf(*last.call), marks_[last.call]);
    Arrow(false, "last to come", flows_, rank, lane, begin);
  }

  std::vector<const RecordedCall*> CallsOf(int rank) const {
    std::vector<const RecordedCall*> calls;
    for (const RecordedCall& call : history_.rank(rank).calls) calls.push_back(&call);
    return calls;
  }

  static uint64_t LaneOf(const RecordedCall& call) { return static_cast<uint32_t>(call.thread); }

  std::string Facts(const RankHistory& me, const RecordedCall& call, int64_t ns) const {
    std::string args = absl::StrCat(
        "\"count\":", call.count, ",\"type\":\"", hcclrun::Name(static_cast<DataType>(call.dtype)),
        "\",\"bytes\":", call.bytes, ",\"path\":\"", PathName(call.path), "\"");
    if (call.kind == OperationRecord::kCollective && !me.reason(call).empty())
      absl::StrAppend(&args, ",\"why not the window\":", Quoted(me.reason(call)));
    if (call.fault) absl::StrAppend(&args, ",\"fault\":", Quoted(FaultName(call.fault)));
    if (call.finished_ns && ns > 0 && call.bytes > 0) {
      const double gb = static_cast<double>(call.bytes) / static_cast<double>(ns);
      const RecordedCommunicator* c = me.communicator(call.comm);
      char text[80];
      snprintf(text, sizeof text, ",\"algbw GB/s\":%.3f,\"busbw GB/s\":%.3f", gb,
               gb * BusFactor(static_cast<Op>(call.op), c ? c->size : 1));
      args += text;
    }
    return args;
  }

  const JobHistory& history_;
  std::map<OperationKey, Last> last_;
  std::unordered_map<const RecordedCall*, int64_t> marks_;  // where they begin
  uint64_t flows_ = 0;
  std::string out_;
};

}  // namespace

double BusFactor(Op op, uint32_t ranks) {
  if (ranks < 2) return 1;
  const double share = static_cast<double>(ranks - 1) / ranks;
  switch (op) {
    case Op::kAllReduce:
      return 2 * share;
    case Op::kAllGather:
    case Op::kAllGatherV:
    case Op::kReduceScatter:
    case Op::kReduceScatterV:
    case Op::kAllToAll:
    case Op::kAllToAllV:
    case Op::kAllToAllVC:
      return share;
    default:
      return 1;
  }
}

std::string TraceJson(const JobHistory& history) { return Writer(history).Write(); }

}  // namespace hcclrun
