// The loop of src/kernel in C++, on one bucket shared by all threads: the cost of such a limiter without
// a JavaScript engine. It does exactly the work of the kernel: it reads the clock on each call, converts
// it to ticks, reads the configuration through the word's index, and reads the word again before a
// refusal.
//
//     loop THREADS RATE BURST INITIAL WARM_UP_MS MEASURE_MS
//
// Prints { "calls", "admitted", "failedExchanges", "elapsedNs" } as JSON, each summed over the threads.

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int kIndexBits = 3;
constexpr int64_t kIndexMask = (1 << kIndexBits) - 1;
constexpr double kTicksPerMicro = 4096;
constexpr int kCallsPerLook = 512;

struct alignas(64) Record {
  int64_t ticksPerToken;
  double ticksPerMicro;
  int64_t capTicks;
  double originUs;
};

struct Cell {
  alignas(64) std::atomic<int64_t> word;
  Record records[1 << kIndexBits];
};

Cell cell;

double nowUs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

int64_t ticksAt(const Record &record, double us) {
  // Rounds to the nearest tick; the clock is never before the origin.
  return static_cast<int64_t>((us - record.originUs) * record.ticksPerMicro + 0.5);
}

void makeBucket(double rate, double burst, double initial) {
  Record &record = cell.records[0];
  record.ticksPerToken = std::llround(kTicksPerMicro * 1e6 / rate);
  record.ticksPerMicro = static_cast<double>(record.ticksPerToken) * rate / 1e6;
  record.capTicks = static_cast<int64_t>(burst * static_cast<double>(record.ticksPerToken));
  record.originUs = nowUs();
  const auto held = static_cast<int64_t>(initial * static_cast<double>(record.ticksPerToken));
  cell.word.store(-held * (1 << kIndexBits));
}

bool tryConsume(int64_t tokens, uint64_t &failedExchanges) {
  const double us = nowUs();
  int64_t word = cell.word.load();
  for (;;) {
    const int64_t index = word & kIndexMask;
    const Record &record = cell.records[index];
    const int64_t now = ticksAt(record, us);
    const int64_t floor = now - record.capTicks;
    const int64_t next = std::max(word >> kIndexBits, floor) + tokens * record.ticksPerToken;
    if (next - now > 0) {
      const int64_t again = cell.word.load();
      if (again == word) return false;
      word = again;
      continue;
    }
    if (cell.word.compare_exchange_weak(word, next << kIndexBits | index)) return true;
    ++failedExchanges;
  }
}

struct alignas(64) Counts {
  uint64_t calls = 0;
  uint64_t admitted = 0;
  uint64_t failedExchanges = 0;
  double elapsedNs = 0;
};

Counts consumeFor(double ms) {
  Counts counts;
  const double startUs = nowUs();
  const double endUs = startUs + ms * 1e3;
  double us;
  do {
    for (int i = 0; i < kCallsPerLook; i++) counts.admitted += tryConsume(1, counts.failedExchanges);
    counts.calls += kCallsPerLook;
    us = nowUs();
  } while (us < endUs);
  counts.elapsedNs = (us - startUs) * 1e3;
  return counts;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: loop THREADS RATE BURST INITIAL WARM_UP_MS MEASURE_MS\n");
    return 2;
  }
  const int threadCount = std::atoi(argv[1]);
  makeBucket(std::atof(argv[2]), std::atof(argv[3]), std::atof(argv[4]));
  const double warmUpMs = std::atof(argv[5]);
  const double measureMs = std::atof(argv[6]);

  std::atomic<int> ready{0};
  std::atomic<bool> open{false};
  std::vector<Counts> counts(threadCount);
  std::vector<std::thread> threads;
  for (int i = 0; i < threadCount; i++) {
    threads.emplace_back([&, i] {
      consumeFor(warmUpMs);
      ready++;
      ready.notify_one();
      open.wait(false);
      counts[i] = consumeFor(measureMs);
    });
  }
  for (int seen = 0; seen < threadCount; seen = ready.load()) ready.wait(seen);
  open = true;
  open.notify_all();
  for (auto &thread : threads) thread.join();

  Counts sum;
  for (const Counts &each : counts) {
    sum.calls += each.calls;
    sum.admitted += each.admitted;
    sum.failedExchanges += each.failedExchanges;
    sum.elapsedNs += each.elapsedNs;
  }
  std::printf("{\"calls\":%llu,\"admitted\":%llu,\"failedExchanges\":%llu,\"elapsedNs\":%.0f}\n",
              static_cast<unsigned long long>(sum.calls),
              static_cast<unsigned long long>(sum.admitted),
              static_cast<unsigned long long>(sum.failedExchanges), sum.elapsedNs);
}
