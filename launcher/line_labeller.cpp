#include "launcher/line_labeller.h"

#include "absl/strings/str_cat.h"

namespace hcclrun {

void LineLabeller::Start(std::string* text) {
  if (!inside_line_) absl::StrAppend(text, label_);
  absl::StrAppend(text, partial_);
  partial_.clear();
}

std::string LineLabeller::Feed(absl::string_view bytes) {
  std::string text;
  for (size_t end; (end = bytes.find('\n')) != absl::string_view::npos;
       bytes.remove_prefix(end + 1)) {
    Start(&text);
    absl::StrAppend(&text, bytes.substr(0, end + 1));
    inside_line_ = false;
  }
  absl::StrAppend(&partial_, bytes);
  if (!partial_.empty() && (inside_line_ || partial_.size() >= kLongLine)) {
    Start(&text);
    inside_line_ = true;
  }
  return text;
}

std::string LineLabeller::Break() {
  bool broken = inside_line_;
  inside_line_ = false;
  return broken ? "\n" : "";
}

std::string LineLabeller::Finish() {
  std::string text;
  if (partial_.empty()) return Break();
  Start(&text);
  inside_line_ = false;
  return text + "\n";
}

}  // namespace hcclrun
