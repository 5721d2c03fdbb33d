#include "launcher/trace_file.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/call.h"
#include "collective/types.h"
#include "launcher/job_report.h"

namespace hcclrun {
namespace {

// Lanes of streams come behind those of threads, whose numbers are the system's.
constexpr uint64_t kStreamLane = uint64_t{1} << 32;
constexpr int64_t kMarkNs = 1'000;  // the width of a call on its thread's lane

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
    for (size_t r = 0; r < history_.ranks.size(); r++) Rank(static_cast<int>(r));
    return absl::StrCat("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out_, "\n]}\n");
  }

 private:
  struct Last {
    int64_t posted_ns = 0;
    int64_t started_ns = 0;  // of the first rank that began
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
        if (call.started_ns && (!last.started_ns || call.started_ns < last.started_ns))
          last.started_ns = call.started_ns;
        if (call.posted_ns <= last.posted_ns) continue;
        last.posted_ns = call.posted_ns;
        last.rank = static_cast<int>(r);
        last.call = &call;
      }
    }
  }

  // When the operation began to run, also if another rank ran it for this one; 0 = it has not.
  int64_t StartOf(const RankHistory& rank, const RecordedCall& call) const {
    // What came to it after its end has seen others do it.
    if (call.started_ns && (!call.finished_ns || call.started_ns < call.finished_ns))
      return call.started_ns;
    OperationKey key;
    if (!call.finished_ns || !KeyOf(rank, call, &key)) return 0;
    const auto last = last_.find(key);
    return last != last_.end() && last->second.started_ns ? last->second.started_ns
                                                          : call.finished_ns;
  }

  void Rank(int rank) {
    const RankHistory& me = history_.ranks[static_cast<size_t>(rank)];
    Name("process_name", rank, 0, absl::StrCat("rank ", rank));
    Event(absl::StrCat("\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":", rank,
                       ",\"args\":{\"sort_index\":", rank, "}"));
    std::set<uint64_t> lanes;
    std::map<uint32_t, int64_t> busy_until;  // of streams
    std::vector<const RecordedCall*> calls;
    for (const RecordedCall& call : me.calls) calls.push_back(&call);
    // Slices of a stream's lane follow each other as the operations ran.
    std::stable_sort(calls.begin(), calls.end(), [&](const RecordedCall* a, const RecordedCall* b) {
      const int64_t a_ns = StartOf(me, *a), b_ns = StartOf(me, *b);
      return (a_ns ? a_ns : INT64_MAX) < (b_ns ? b_ns : INT64_MAX);
    });
    for (const RecordedCall* call : calls) {
      const auto thread = static_cast<uint64_t>(static_cast<uint32_t>(call->thread));
      if (lanes.insert(thread).second)
        Name("thread_name", rank, thread, absl::StrCat("thread ", thread));
      Slice(rank, thread, call->called_ns, call->called_ns + kMarkNs, Text(me, *call), "call", "");
      if (call->kind == OperationRecord::kLocal || call->posted_ns == 0) continue;
      const uint64_t lane = kStreamLane + call->stream;
      if (lanes.insert(lane).second)
        Name("thread_name", rank, lane, absl::StrCat("stream ", call->stream));
      Operation(rank, me, *call, thread, lane, &busy_until[call->stream]);
    }
    if (me.calls_recorded > me.calls.size() && !me.calls.empty()) {
      const RecordedCall& first = me.calls.front();
      Event(absl::StrCat("\"ph\":\"i\",\"s\":\"p\",\"name\":\"",
                         me.calls_recorded - me.calls.size(),
                         " earlier calls are not kept\",\"pid\":", rank,
                         ",\"tid\":0,\"ts\":", Us(first.called_ns)));
    }
  }

  void Operation(int rank, const RankHistory& me, const RecordedCall& call, uint64_t thread,
                 uint64_t lane, int64_t* busy_until) {
    const int64_t end = call.finished_ns ? call.finished_ns : history_.now_ns;
    const int64_t began = StartOf(me, call), started = began ? std::min(began, end) : end;
    const int64_t begin = std::max(started, *busy_until);
    const int64_t waited_from = std::max(call.posted_ns, *busy_until);
    const std::string name = Text(me, call);
    if (waited_from < begin) {
      Slice(rank, lane, waited_from, begin,
            absl::StrCat(name, began ? " waits" : " waits for ever"), "wait", "");
    }
    *busy_until = std::max(*busy_until, begin);
    if (began == 0) return;
    Slice(rank, lane, begin, std::max(end, begin + 1), name, "operation",
          Facts(me, call, end - started));
    *busy_until = std::max(end, begin + 1);
    Arrow(true, "post", ++flows_, rank, thread, call.called_ns);
    Arrow(false, "post", flows_, rank, lane, std::max(end, begin + 1) - 1);
    OperationKey key;
    if (!KeyOf(me, call, &key)) return;
    const Last& last = last_[key];
    if (last.rank < 0 || last.rank == rank) return;
    Arrow(true, "last to come", ++flows_, last.rank,
          static_cast<uint64_t>(static_cast<uint32_t>(last.call->thread)), last.call->called_ns);
    Arrow(false, "last to come", flows_, rank, lane, begin);
  }

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
               gb * BusFactor(call.call, c ? c->size : 1));
      args += text;
    }
    return args;
  }

  const JobHistory& history_;
  std::map<OperationKey, Last> last_;
  uint64_t flows_ = 0;
  std::string out_;
};

}  // namespace

double BusFactor(uint32_t call, uint32_t ranks) {
  if (ranks < 2) return 1;
  const double share = static_cast<double>(ranks - 1) / ranks;
  switch (static_cast<CallId>(call)) {
    case CallId::HcclAllReduce:
      return 2 * share;
    case CallId::HcclAllGather:
    case CallId::HcclAllGatherV:
    case CallId::HcclReduceScatter:
    case CallId::HcclReduceScatterV:
    case CallId::HcclAlltoAll:
    case CallId::HcclAlltoAllV:
    case CallId::HcclAlltoAllVC:
      return share;
    default:
      return 1;
  }
}

std::string TraceJson(const JobHistory& history) { return Writer(history).Write(); }

}  // namespace hcclrun
