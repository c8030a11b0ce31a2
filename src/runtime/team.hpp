// Threads of our own that compute together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lift::runtime {

// While it lives, threads are created with large stacks where the C library lets one ask for that. PoCL keeps the
// variables of all work-items of a group on the stack of the thread that computes it, more than the usual 8 MiB where
// large groups have many. Of a stack, only what is used takes memory.
class LargeStacks {
 public:
  LargeStacks();
  ~LargeStacks();
  LargeStacks(const LargeStacks&) = delete;
  LargeStacks& operator=(const LargeStacks&) = delete;

 private:
  std::size_t before_ = 0;  // bytes; 0: nothing was changed
};

// Threads with large stacks that run one function together. Between two functions they sleep; within one, members wait
// for each other busily for some tens of microseconds, as long as waking a thread takes, before they sleep.
class Team {
 public:
  // pinned: each thread on a core of its own, of those that the process may use.
  explicit Team(int size, bool pinned = false);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }

  // Calls work(member) on every thread, members counting from 0, and returns when all have returned. Throws what one of
  // them threw. Of callers on several threads, one is served after the other.
  void run(const std::function<void(int)>& work);

  // Within work: 0, 1, … each given to one member, again from 0 on after each meeting.
  std::size_t next() { return next_.fetch_add(1, std::memory_order_relaxed); }
  // Within work: returns when all members are here, and what they have written is seen by all. Does not return, but
  // ends the member's work, where another one has thrown.
  void meet();

 private:
  struct Left {};
  void live(int member);
  void leave();

  std::mutex one_;  // held by the caller who is served
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* work_ = nullptr;
  unsigned calls_ = 0;
  int working_ = 0;
  bool ended_ = false;
  std::exception_ptr error_;

  alignas(64) std::atomic<std::size_t> next_ = 0;
  alignas(64) std::atomic<int> here_ = 0;
  alignas(64) std::atomic<unsigned> meetings_ = 0;
  std::atomic<bool> failed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lift::runtime
