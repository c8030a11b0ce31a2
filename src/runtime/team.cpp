#include "team.hpp"

#include <pthread.h>

namespace lift::runtime {

#ifdef __GLIBC__

namespace {

// The system moves threads that share a core apart only after a while, in which they wait for each other.
void pin(std::vector<std::thread>& threads) {
  cpu_set_t allowed;
  if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0) return;
  int core = -1;
  for (std::thread& t : threads) {
    do core++;
    while (core < CPU_SETSIZE && !CPU_ISSET(core, &allowed));
    if (core == CPU_SETSIZE) return;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    pthread_setaffinity_np(t.native_handle(), sizeof own, &own);
  }
}

bool setStackSize(pthread_attr_t& attributes, std::size_t size) {
  return pthread_attr_setstacksize(&attributes, size) == 0 && pthread_setattr_default_np(&attributes) == 0;
}

}  // namespace

LargeStacks::LargeStacks() {
  constexpr std::size_t large = 128U << 20U;
  std::size_t usual = 0;
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  if (pthread_attr_getstacksize(&attributes, &usual) == 0 && usual < large && setStackSize(attributes, large))
    before_ = usual;
  pthread_attr_destroy(&attributes);
}

LargeStacks::~LargeStacks() {
  pthread_attr_t attributes;
  if (before_ == 0 || pthread_getattr_default_np(&attributes) != 0) return;
  setStackSize(attributes, before_);
  pthread_attr_destroy(&attributes);
}

#else

namespace {

void pin(const std::vector<std::thread>&) {}

}  // namespace

LargeStacks::LargeStacks() = default;
LargeStacks::~LargeStacks() = default;

#endif

// ------------------------------------------------------------------------------------------------------------ the team

Team::Team(int size, bool pinned) {
  const LargeStacks stacks;
  threads_.reserve(static_cast<std::size_t>(size));
  for (int member = 0; member < size; member++) threads_.emplace_back([this, member] { live(member); });
  if (pinned) pin(threads_);
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Team::run(const std::function<void(int)>& work) {
  const std::lock_guard served(one_);
  std::unique_lock lock(mutex_);
  work_ = &work;
  error_ = nullptr;
  failed_ = false;
  next_ = 0;
  here_ = 0;
  working_ = size();
  calls_++;
  changed_.notify_all();
  changed_.wait(lock, [&] { return working_ == 0; });
  if (error_) std::rethrow_exception(error_);
}

void Team::live(int member) {
  std::unique_lock lock(mutex_);
  for (unsigned seen = 0;;) {
    changed_.wait(lock, [&] { return ended_ || calls_ != seen; });
    if (ended_) return;
    seen = calls_;
    lock.unlock();
    std::exception_ptr error;
    try {
      (*work_)(member);
    } catch (const Left&) {
    } catch (...) {
      error = std::current_exception();
      leave();
    }
    lock.lock();
    if (error && !error_) error_ = error;
    if (--working_ == 0) changed_.notify_all();
  }
}

void Team::leave() {
  failed_ = true;
  meetings_.fetch_add(1);
  meetings_.notify_all();
}

void Team::meet() {
  constexpr int spins = 4000;  // of some 10 ns each
  const unsigned meeting = meetings_.load();
  if (failed_) throw Left();
  if (here_.fetch_add(1) + 1 == size()) {
    here_ = 0;
    next_ = 0;
    meetings_.fetch_add(1);
    meetings_.notify_all();
  } else {
    for (int i = 0; i < spins && meetings_.load(std::memory_order_acquire) == meeting; i++) {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("isb");
#endif
    }
    meetings_.wait(meeting);
  }
  if (failed_) throw Left();
}

}  // namespace lift::runtime
