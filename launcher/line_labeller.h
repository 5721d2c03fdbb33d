#pragma once
// Turns the bytes of one stream of one rank into text for a shared terminal: whole lines, each
// behind a label. Pure: bytes in, text out.

#include <string>

#include "absl/strings/string_view.h"

namespace hcclrun {

class LineLabeller {
 public:
  // A line longer than this is passed on in pieces.
  static constexpr size_t kLongLine = 64 << 10;

  explicit LineLabeller(std::string label) : label_(std::move(label)) {}

  // Text that may be written now: all lines that are complete, and the beginning of a line that has
  // grown long.
  std::string Feed(absl::string_view bytes);
  // True while the text given out last ends inside a line: only this stream may continue it.
  bool inside_line() const { return inside_line_; }
  // Ends the line that was given out in part; what follows starts a new labelled line.
  std::string Break();
  // The stream has ended: the last line, with a newline if it had none.
  std::string Finish();

 private:
  void Start(std::string* text);
  std::string label_;
  std::string partial_;  // held back, at most kLongLine and what one Feed brought
  bool inside_line_ = false;
};

}  // namespace hcclrun
