#include "comm/json_fields.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace hcclrun {

void JsonFields::Illegal(const std::string& field, const std::string& text, int32_t code) {
  if (!fault_)
    fault_ = Fault(FaultKind::kRankTable, absl::StrCat(origin_, ": ", field, ": ", text))
                 .WithCode(code);
}

void JsonFields::Missing(const std::string& where, const char* name) {
  if (fault_) return;
  fault_ = Fault(FaultKind::kRankTable, {kItemMissing},
                 absl::StrCat(origin_, ": ", Path(where, name), ": it is missing, but required"))
               .WithCode(kNotFound);
}

bool JsonFields::Has(const Json& object, const char* name) const {
  return object.is_object() && object.contains(name);
}

const JsonFields::Json* JsonFields::Find(const Json& object, const std::string& where,
                                         const char* name, bool required) {
  if (fault_) return nullptr;
  if (!object.is_object()) {
    Illegal(where, absl::StrCat("it is ", object.type_name(), "; it must be an object"));
    return nullptr;
  }
  auto it = object.find(name);
  if (it != object.end()) return &*it;
  if (required) Missing(where, name);
  return nullptr;
}

std::string JsonFields::Text(const Json& object, const std::string& where, const char* name,
                             bool required, size_t longest) {
  const Json* value = Find(object, where, name, required);
  if (!value) return "";
  const std::string path = Path(where, name);
  if (!value->is_string()) {
    Illegal(path, absl::StrCat("it is ", value->dump().substr(0, 40), "; it must be a string"));
    return "";
  }
  const std::string& text = value->get_ref<const std::string&>();
  if (text.empty() && required) {
    Illegal(path, "it is empty");
  } else if (text.size() > longest) {
    Illegal(path, absl::StrCat("it has ", text.size(), " characters; at most ", longest,
                               " are allowed"));
  }
  return fault_ ? "" : text;
}

int64_t JsonFields::Number(const Json& object, const std::string& where, const char* name,
                           bool required, int64_t low, int64_t high, int64_t otherwise) {
  const Json* value = Find(object, where, name, required);
  if (!value) return otherwise;
  const std::string path = Path(where, name);
  const std::string given = value->dump().substr(0, 40);
  int64_t number = 0;
  bool good = false;
  if (form_ == kStrings) {
    if (!value->is_string()) {
      Illegal(path, absl::StrCat("it is ", given, "; numbers are written as strings here: \"",
                                 given, "\""));
      return otherwise;
    }
    const std::string& text = value->get_ref<const std::string&>();
    good = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos &&
           absl::SimpleAtoi(text, &number);
  } else if (value->is_number_integer()) {
    // Larger than int64_t counts as out of range.
    good = !value->is_number_unsigned() || value->get<uint64_t>() <= uint64_t(INT64_MAX);
    if (good) number = value->get<int64_t>();
  }
  if (!good || number < low || number > high) {
    Illegal(path, absl::StrCat("it is ", given, "; it must be a whole number from ", low, " to ",
                               high));
    return otherwise;
  }
  return number;
}

const JsonFields::Json* JsonFields::List(const Json& object, const std::string& where,
                                         const char* name, bool required) {
  const Json* value = Find(object, where, name, required);
  if (!value) return nullptr;
  if (!value->is_array() || value->empty()) {
    Illegal(Path(where, name), absl::StrCat("it is ", value->is_array() ? "empty" : value->type_name(),
                                            "; it must be a list of at least one element"));
    return nullptr;
  }
  return value;
}

}  // namespace hcclrun
