#include "options.h"

#include <getopt.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace hcclrun::bench {
namespace {

constexpr char kHelp[] =
    R"(hcclrun -n RANKS hccl_bench OP [options]

OP is allgather, reducescatter, allreduce, alltoall or all.
  -b, --minbytes BYTES      smallest size (64M); K, M and G are powers of 1024
  -e, --maxbytes BYTES      largest size (64M, or the smallest)
  -i, --stepbytes BYTES     distance of sizes (a tenth of the span)
  -f, --stepfactor N        ratio of sizes, instead of -i
  -d, --datatype TYPE       int8 int16 int32 int64 uint8 uint16 uint32 uint64
                            fp16 fp32 fp64 bfp16 (fp32)
  -o, --op OP               sum prod max min (sum)
  -r, --root RANK           taken for compatibility; none of these has a root
  -n, --iters N             timed runs of each size (20)
  -w, --warmup_iters N      runs before them (10)
  -c, --check 0|1           verify every element of one more run (1)
  -p, --npus N              devices to use: rank r gets device r modulo N
      --path window|buffered
                            symmetric windows, or through HCCL buffers (window)
      --sync                synchronise the stream after each run; otherwise runs
                            are enqueued and synchronised at the end
      --csv, --json         instead of the table
  -h, --help

The size is that of the larger of a rank's two buffers, rounded up to equal
blocks. time is one run by stream events, on the slowest rank. algbw is size/time
in 10^9 bytes per second; busbw is algbw times (n-1)/n, twice that for allreduce.
Exit code 1: a check or a call failed.
)";

enum LongOnly { kPath = 256, kSync, kCsv, kJson };

bool ParseNumber(const char* text, uint64_t limit, uint64_t* value) {
  if (text[0] < '0' || text[0] > '9') return false;
  char* end = nullptr;
  errno = 0;
  *value = std::strtoull(text, &end, 10);
  return errno == 0 && *end == '\0' && *value <= limit;
}

bool ParseSize(const std::string& text, uint64_t* bytes) {
  const size_t digits = text.find_first_not_of("0123456789");
  const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  int shift = 0;
  if (unit == "K" || unit == "k")
    shift = 10;
  else if (unit == "M" || unit == "m")
    shift = 20;
  else if (unit == "G" || unit == "g")
    shift = 30;
  else if (!unit.empty())
    return false;
  if (!ParseNumber(text.substr(0, digits).c_str(), uint64_t{1} << (50 - shift), bytes))
    return false;
  *bytes <<= shift;
  return true;
}

bool ParseOperations(const std::string& name, std::vector<Operation>* operations) {
  for (const Operation operation : kOperations) {
    if (name == Name(operation) || name == "all") operations->push_back(operation);
  }
  return !operations->empty();
}

// What is wrong with an option's value, or null.
const char* Apply(int option, const char* value, Options* options, bool* max_given) {
  uint64_t number = 0;
  switch (option) {
    case 'b':
      return ParseSize(value, &options->min_bytes) ? nullptr
                                                   : "-b takes a size such as 8, 64K or 16M";
    case 'e':
      *max_given = true;
      return ParseSize(value, &options->max_bytes) ? nullptr
                                                   : "-e takes a size such as 8, 64K or 16M";
    case 'i':
      return ParseSize(value, &options->step_bytes) ? nullptr
                                                    : "-i takes a size such as 8, 64K or 16M";
    case 'f':
      return ParseNumber(value, 1 << 20, &options->step_factor) && options->step_factor > 1
                 ? nullptr
                 : "-f takes an integer above 1";
    case 'd':
      return ParseDataType(value, &options->type) ? nullptr
                                                  : "-d takes one of the data types that -h lists";
    case 'o':
      return ParseReduceOp(value, &options->op) ? nullptr : "-o takes sum, prod, max or min";
    case 'r':
      return ParseNumber(value, UINT32_MAX, &number) ? nullptr : "-r takes a rank";
    case 'n':
      if (!ParseNumber(value, 1 << 30, &number) || number == 0) return "-n takes a number above 0";
      options->iterations = static_cast<int>(number);
      return nullptr;
    case 'w':
      if (!ParseNumber(value, 1 << 30, &number)) return "-w takes a number";
      options->warmups = static_cast<int>(number);
      return nullptr;
    case 'c':
      if (!ParseNumber(value, 1, &number)) return "-c takes 0 or 1";
      options->check = number == 1;
      return nullptr;
    case 'p':
      if (!ParseNumber(value, 1 << 16, &number) || number == 0) return "-p takes a number above 0";
      options->npus = static_cast<uint32_t>(number);
      return nullptr;
    case kPath:
      options->path = std::strcmp(value, "window") == 0 ? Path::kWindow : Path::kBuffered;
      return options->path == Path::kWindow || std::strcmp(value, "buffered") == 0
                 ? nullptr
                 : "--path takes window or buffered";
    case kSync:
      options->sync = true;
      return nullptr;
    case kCsv:
      options->format = Options::Format::kCsv;
      return nullptr;
    case kJson:
      options->format = Options::Format::kJson;
      return nullptr;
    default:
      return "unknown option, or one without its value";
  }
}

}  // namespace

std::vector<uint64_t> Options::Sizes() const {
  std::vector<uint64_t> sizes;
  const uint64_t span = max_bytes - min_bytes;
  const uint64_t step = step_bytes != 0 ? step_bytes : span >= 10 ? span / 10 : 1;
  for (uint64_t bytes = min_bytes; bytes <= max_bytes;) {
    sizes.push_back(bytes);
    uint64_t next;
    const bool wraps =
        step_factor != 0 ? __builtin_mul_overflow(std::max<uint64_t>(bytes, 1), step_factor, &next)
                         : __builtin_add_overflow(bytes, step, &next);
    if (bytes == 0 && step_factor != 0) next = 1;
    if (wraps || next <= bytes) break;
    bytes = next;
  }
  return sizes;
}

bool ParseOptions(int argc, char** argv, bool talk, Options* options, int* exit_code) {
  static const option kLong[] = {{"minbytes", required_argument, nullptr, 'b'},
                                 {"maxbytes", required_argument, nullptr, 'e'},
                                 {"stepbytes", required_argument, nullptr, 'i'},
                                 {"stepfactor", required_argument, nullptr, 'f'},
                                 {"datatype", required_argument, nullptr, 'd'},
                                 {"op", required_argument, nullptr, 'o'},
                                 {"root", required_argument, nullptr, 'r'},
                                 {"iters", required_argument, nullptr, 'n'},
                                 {"warmup_iters", required_argument, nullptr, 'w'},
                                 {"check", required_argument, nullptr, 'c'},
                                 {"npus", required_argument, nullptr, 'p'},
                                 {"path", required_argument, nullptr, kPath},
                                 {"sync", no_argument, nullptr, kSync},
                                 {"csv", no_argument, nullptr, kCsv},
                                 {"json", no_argument, nullptr, kJson},
                                 {"help", no_argument, nullptr, 'h'},
                                 {nullptr, 0, nullptr, 0}};
  const char* mistake = nullptr;
  std::string about;
  bool max_given = false;
  opterr = 0;
  int given = 0;
  while (mistake == nullptr &&
         (given = getopt_long(argc, argv, "b:e:i:f:d:o:r:n:w:c:p:h", kLong, nullptr)) != -1) {
    if (given == 'h') {
      if (talk) std::fputs(kHelp, stdout);
      *exit_code = 0;
      return false;
    }
    about = argv[optind - 1];
    mistake = Apply(given, optarg, options, &max_given);
  }
  if (!max_given && options->min_bytes > options->max_bytes)
    options->max_bytes = options->min_bytes;
  if (mistake == nullptr) {
    about = optind < argc ? argv[optind] : "";
    if (optind + 1 != argc || !ParseOperations(about, &options->operations)) {
      mistake = "OP is needed once: allgather, reducescatter, allreduce, alltoall or all";
      if (optind + 1 < argc) about = argv[optind + 1];
    } else if (options->min_bytes > options->max_bytes) {
      about = "-b, -e";
      mistake = "the smallest size is larger than the largest";
    }
  }
  if (mistake == nullptr) return true;
  if (talk) std::fprintf(stderr, "hccl_bench: %s: %s (hccl_bench -h)\n", about.c_str(), mistake);
  *exit_code = 2;
  return false;
}

}  // namespace hcclrun::bench
