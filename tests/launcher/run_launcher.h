#pragma once
// Runs the real hcclrun binary and watches it from outside.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "launcher/fd.h"

namespace hcclrun::testing {

using Args = std::vector<std::string>;

struct Outcome {
  int code = -1;  // exit code of hcclrun; 128 + signal when it was killed
  std::string out, err;
};

// One run. A run that takes longer than a minute is killed and fails the test.
class LauncherRun {
 public:
  struct Setup {
    std::string input;                               // its standard input; a closed pipe behind it
    std::map<std::string, std::string> environment;  // changes to ours; an empty value removes
    bool close_out = false;                          // nobody reads its stdout
    bool quit_ignored = false;  // SIGQUIT is, as a shell does to a command with & behind it
  };
  explicit LauncherRun(const Args& args) : LauncherRun(args, Setup()) {}
  LauncherRun(const Args& args, const Setup& setup);
  ~LauncherRun();
  pid_t pid() const { return pid_; }
  // Returns once stdout holds `text` at least `times` times.
  bool WaitForOut(const std::string& text, int times = 1);
  // Sends the signal, again and again, until stderr holds `text` at least `times` times.
  bool SignalUntilErr(int number, const std::string& text, int times = 1);
  void Signal(int number);
  const std::string& out() const { return outcome_.out; }  // so far
  const std::string& err() const { return outcome_.err; }
  Outcome Wait();

 private:
  bool Pump(int milliseconds);  // false when both pipes have ended
  pid_t pid_ = -1;
  Fd out_, err_;
  Outcome outcome_;
};

Outcome RunLauncher(const Args& args);
Outcome RunLauncher(const Args& args, const LauncherRun::Setup& setup);

// Waits until the process is gone or a zombie; false after 20 s.
bool WaitUntilGone(pid_t pid);
int CountOf(const std::string& text, const std::string& part);
std::vector<std::string> SortedLines(const std::string& text);
// Numbers that follow `word` in the text: PidsAfter("pid 12\npid 13\n", "pid ") is {12, 13}.
std::vector<pid_t> PidsAfter(const std::string& text, const std::string& word);

}  // namespace hcclrun::testing
