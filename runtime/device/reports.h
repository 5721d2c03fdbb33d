#pragma once
// Host functions that run in a thread of the program. A thread is subscribed to a stream by its
// number (pthread_self()), and processes what arrives for it by calling Process() again and again.
// There are two independent sets of subscriptions: reports (aclrtSubscribeReport) and host
// functions (aclrtSubscribeHostFunc).
//
// When the stream comes to a callback, the task puts an item into the queue of the subscribed
// thread; a blocking task then waits until the function returned. An item whose stream or
// subscription goes away before a thread took it is never run. One lock for everything; functions
// run without it. Any thread.

#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

class Stream;

enum class ReportSet { kReports, kHostFunctions };

// kBusy when another thread is subscribed to the stream; subscribing the same one again is fine.
Fault Subscribe(ReportSet set, uint64_t thread, Stream& stream);
// kNotSubscribed unless this thread is subscribed to this stream. Its pending items fail.
Fault Unsubscribe(ReportSet set, uint64_t thread, Stream& stream);
bool IsSubscribed(ReportSet set, Stream& stream);
// Of a stream that closes.
void ForgetSubscriptions(Stream& stream);

// Queues a call of function(argument) by the subscribed thread. kNotSubscribed when there is none,
// now or (as the task's fault) when the stream comes to it.
Fault ReportInStream(ReportSet set, Stream& stream, void (*function)(void*), void* argument,
                     bool blocks);

// Runs what is or arrives in the calling thread's queue within timeout_ms (< 0: no limit), and
// returns after as many functions as were there together, fewer when their subscriptions end
// meanwhile. kNotSubscribed when the time passed and the thread is subscribed to nothing, else
// kReportTimeout.
Fault ProcessReports(ReportSet set, int64_t timeout_ms);

}  // namespace hcclrun
