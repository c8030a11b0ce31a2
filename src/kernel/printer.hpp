// Statements of the kernel AST in a dialect of C; a target adds whole kernels and what runs in parallel.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "lift/kernel.hpp"
#include "writer.hpp"

namespace lift::kernel {

class Printer {
 public:
  // The dialect must live as long, but is not used before the first call.
  Printer(const Kernel& kernel, Dialect& dialect);
  virtual ~Printer() = default;

 protected:
  // `last`: nothing follows in the enclosing block, so that declarations need no braces of their own.
  virtual void parallel(const For& f, bool last) = 0;
  virtual void barrier(const Barrier& b) = 0;
  virtual void combine(const Combine& c) = 0;
  virtual void unrolling(const For& f) = 0;  // what is to be said in front of a sequential loop

  void line(const std::string& text);
  void block(const Block& b);
  void enter(std::size_t indent) { indent_ = indent; }
  const std::string& text() const { return out_; }
  // Opens a C scope; its names are free again afterwards.
  void scope(const std::function<void()>& body);

  // "HEAD(parameters)": buffers as `declared` says, then sizes. Takes their names.
  std::string parameters(const std::string& head, const std::function<std::string(BufferId)>& declared);
  std::string pointerTo(BufferId b) const;           // the type: "__global const float*"
  std::string tables(const std::string& qualifier);  // constant arrays; takes their names
  // The declaration of a local or private one, perhaps with attributes.
  std::string array(BufferId b, std::string_view attributes = {}) const;

  bool isUsed(BufferId b) const { return used_.contains(b); }
  bool isRead(NatVar index) const { return indices_.contains(index); }
  static bool countsFar(Nat count);

  const Kernel& kernel_;
  Writer write_;

 private:
  void survey();
  void statement(const Stmt& s, bool last);
  void declare(const Declare& d);
  void declareIndex(const DeclareIndex& d);
  void assignLane(const AssignLane& a);
  void branch(const If& i);
  void sequential(const For& f);

  Dialect& dialect_;
  std::string out_;
  std::size_t indent_ = 0;
  std::vector<bool> assigned_;
  std::set<BufferId> used_;
  std::set<NatVar> indices_;  // that something mentions
};

}  // namespace lift::kernel
