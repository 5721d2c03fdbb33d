#pragma once
// The connection of a rank to its launcher. The launcher listens on an abstract SOCK_SEQPACKET
// socket whose random name is in the environment; a rank proves the job's secret and gets the job
// page. The connection stays open for the life of the process: its end tells the launcher that the
// process ended, and tells the process that the launcher died, upon which the process ends too.

#include <cstdint>

#include "shm/job_page.h"

namespace hcclrun {

inline constexpr uint32_t kLifelineVersion = 2;

// Rank -> launcher, one packet.
struct LifelineHello {
  uint64_t magic;  // kJobPageMagic
  uint32_t version;
  int32_t rank;
  int32_t pid;
  char secret[64];  // hex, padded with NUL
};
// Launcher -> rank, one packet, with the job page's descriptor attached when status is 0.
struct LifelineWelcome {
  uint64_t magic;
  uint32_t version;
  uint32_t status;  // 0 = welcome, 1 = wrong secret, 2 = rank out of range
  uint32_t records;  // 1 = the rank's flight recorder is this process's
};
// Rank -> launcher, one packet, at any time: a report is wanted, now.
struct LifelineAsk {
  uint64_t magic;  // kJobPageMagic
  uint32_t cause;  // ReportCause
  uint32_t number;  // JobPage::reports_asked
};

// Why a rank asks for a report.
enum class ReportCause : uint32_t {
  kExecTimeout,
  kConnectTimeout,
  kStall,  // it waits, and goes on waiting; `number` is 0
};

class Lifeline {
 public:
  // Connects on first use. nullptr without a launcher, or when the launcher refused (a sentence is
  // on stderr then).
  static JobPage* Page();
  static int Rank();  // valid when Page() is not nullptr
  // The rank's note in the job page, or nullptr.
  static RankActivity* Activity();
  // Notes whom the rank sleeps for: `missing` ranks, one of them `first` of the job (-1: not
  // known); 0 and -1 for nobody.
  static void NoteWaiting(uint32_t missing, int32_t first);
  // Lets the launcher report what every rank is doing, and waits until it has looked, a short while
  // at most. For a rank that is about to give up, before others can know of it.
  static void AskForReport(ReportCause cause);
  // Lets the launcher say, once for the job, who holds up whom. Does not wait for that.
  static void TellStall();
};

}  // namespace hcclrun
