#pragma once
// Fields of a JSON document, with the rules that rank tables have for them. The first fault wins
// and is kept; after it every getter answers with a default, so that a parser looks at fault()
// where it loops, not after every field.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/fault.h"

namespace hcclrun {

class JsonFields {
 public:
  using Json = nlohmann::json;
  enum Form { kStrings, kNumbers };  // how numbers are written

  JsonFields(std::string origin, Form form) : origin_(std::move(origin)), form_(form) {}

  // In all of them `where` is the path of `object`, "" at the top: "server_list[0]".
  std::string Text(const Json& object, const std::string& where, const char* name, bool required,
                   size_t longest);
  // A whole number from low to high; `otherwise` when it is absent and not required.
  int64_t Number(const Json& object, const std::string& where, const char* name, bool required,
                 int64_t low, int64_t high, int64_t otherwise = -1);
  // An array of at least one element; nullptr when absent or faulty.
  const Json* List(const Json& object, const std::string& where, const char* name, bool required);
  bool Has(const Json& object, const char* name) const;

  void Missing(const std::string& where, const char* name);
  // "it is ..." and "it must be ..." as one text.
  void Illegal(const std::string& field, const std::string& text, int32_t code = kParameter);
  const Fault& fault() const { return fault_; }

  static std::string Path(const std::string& where, const char* name) {
    return where.empty() ? name : where + "." + name;
  }
  static std::string Path(const std::string& where, const char* name, size_t index) {
    return Path(where, name) + "[" + std::to_string(index) + "]";
  }

  static constexpr int32_t kParameter = 1, kInternal = 4, kNotSupported = 5, kNotFound = 6,
                           kUnavailable = 7;
  static constexpr uint64_t kItemMissing = 1;  // operand of kRankTable, for the EI code

 private:
  const Json* Find(const Json& object, const std::string& where, const char* name, bool required);
  std::string origin_;
  Form form_;
  Fault fault_;
};

}  // namespace hcclrun
