#include "launcher/elf_needs.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "launcher/fd.h"

namespace hcclrun {
namespace {

constexpr unsigned char kOwnClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char kOwnData =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
constexpr uint64_t kMaxTable = 16 << 20;  // larger dynamic or string tables are taken for damage

class Reader {
 public:
  explicit Reader(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat st;
    if (fd_.valid() && fstat(fd_.get(), &st) == 0 && S_ISREG(st.st_mode))
      size_ = static_cast<uint64_t>(st.st_size);
  }
  bool At(uint64_t offset, void* data, uint64_t bytes) const {
    if (offset > size_ || bytes > size_ - offset) return false;
    return pread(fd_.get(), data, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }
  uint64_t size() const { return size_; }

 private:
  Fd fd_;
  uint64_t size_ = 0;
};

// File offset of a virtual address.
bool FileOffset(const std::vector<ElfW(Phdr)>& headers, uint64_t address, uint64_t* offset) {
  for (const ElfW(Phdr) & h : headers) {
    if (h.p_type == PT_LOAD && address >= h.p_vaddr && address - h.p_vaddr < h.p_filesz) {
      *offset = h.p_offset + (address - h.p_vaddr);
      return true;
    }
  }
  return false;
}

std::string DirectoryOf(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

void AddSearch(const std::string& list, const std::string& origin,
               std::vector<std::string>* search) {
  for (absl::string_view item : absl::StrSplit(list, ':', absl::SkipEmpty())) {
    search->push_back(absl::StrReplaceAll(item, {{"${ORIGIN}", origin}, {"$ORIGIN", origin}}));
  }
}

const std::vector<std::string>& UsualDirectories() {
  static const std::vector<std::string> kDirectories = {
#if defined(__x86_64__)
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
#endif
    "/lib64",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/lib",
    "/usr/lib",
  };
  return kDirectories;
}

std::string FindLibrary(const std::string& name, const std::vector<std::string>& search) {
  if (name.find('/') != std::string::npos) return name;
  std::vector<std::string> directories = search;
  const char* variable = getenv("LD_LIBRARY_PATH");
  for (absl::string_view d : absl::StrSplit(variable ? variable : "", ':', absl::SkipEmpty())) {
    directories.emplace_back(d);
  }
  directories.insert(directories.end(), UsualDirectories().begin(), UsualDirectories().end());
  for (const std::string& d : directories) {
    std::string path = d + "/" + name;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

void Collect(const std::string& path, int depth, std::vector<std::string>* names) {
  ElfNeeds needs = ReadElfNeeds(path);
  std::vector<std::string> more;  // all of a level before any of the next: a name is followed once
  for (const std::string& name : needs.needed) {
    if (std::find(names->begin(), names->end(), name) != names->end()) continue;
    names->push_back(name);
    more.push_back(name);
  }
  if (depth <= 1) return;
  for (const std::string& name : more) {
    std::string library = FindLibrary(name, needs.search);
    if (!library.empty()) Collect(library, depth - 1, names);
  }
}

}  // namespace

ElfNeeds ReadElfNeeds(const std::string& path) {
  ElfNeeds result;
  Reader file(path);
  ElfW(Ehdr) header;
  if (!file.At(0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != kOwnClass || header.e_ident[EI_DATA] != kOwnData ||
      header.e_phentsize != sizeof(ElfW(Phdr))) {
    return result;
  }
  std::vector<ElfW(Phdr)> headers(header.e_phnum);
  if (!file.At(header.e_phoff, headers.data(), headers.size() * sizeof(ElfW(Phdr)))) return result;
  result.is_elf = true;
  auto dynamic = std::find_if(headers.begin(), headers.end(),
                              [](const ElfW(Phdr) & h) { return h.p_type == PT_DYNAMIC; });
  if (dynamic == headers.end() || dynamic->p_filesz > kMaxTable) return result;
  std::vector<ElfW(Dyn)> entries(dynamic->p_filesz / sizeof(ElfW(Dyn)));
  if (!file.At(dynamic->p_offset, entries.data(), entries.size() * sizeof(ElfW(Dyn))))
    return result;

  uint64_t strings_address = 0, strings_size = 0, strings_offset = 0;
  for (const ElfW(Dyn) & e : entries) {
    if (e.d_tag == DT_NULL) break;
    if (e.d_tag == DT_STRTAB) strings_address = e.d_un.d_ptr;
    if (e.d_tag == DT_STRSZ) strings_size = e.d_un.d_val;
  }
  if (strings_size == 0 || strings_size > kMaxTable ||
      !FileOffset(headers, strings_address, &strings_offset))
    return result;
  std::string strings(strings_size, '\0');
  if (!file.At(strings_offset, strings.data(), strings_size)) return result;
  auto text = [&](uint64_t at) {
    return at < strings_size ? std::string(strings.c_str() + at) : std::string();
  };
  for (const ElfW(Dyn) & e : entries) {
    if (e.d_tag == DT_NULL) break;
    if (e.d_tag == DT_NEEDED) result.needed.push_back(text(e.d_un.d_val));
    if (e.d_tag == DT_RPATH || e.d_tag == DT_RUNPATH)
      AddSearch(text(e.d_un.d_val), DirectoryOf(path), &result.search);
  }
  return result;
}

std::vector<std::string> LibrariesNeeded(const std::string& path, int depth) {
  std::vector<std::string> names;
  Collect(path, depth, &names);
  return names;
}

}  // namespace hcclrun
