// SQLite with errors as diagnostics: what a connection, a statement and a transaction need, no more.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace lift::tune {

class Connection {
 public:
  // `path` and `flags` as SQLite takes them; `shown` is what diagnostics call it.
  Connection(const std::string& path, std::string shown, int patienceMs,
             int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void run(const char* sql) const;  // statements without parameters and results
  std::int64_t integer(const char* sql) const;
  bool changed() const { return sqlite3_changes(handle_) > 0; }  // by the last statement
  [[noreturn]] void fail(int code) const;

  sqlite3* handle() const { return handle_; }
  const std::string& shown() const { return shown_; }

 private:
  sqlite3* handle_ = nullptr;
  std::string shown_;
};

class Statement {
 public:
  Statement(const Connection& connection, const std::string& sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Parameters and columns are taken in order.
  Statement& bind(const std::string& text);
  Statement& bind(std::int64_t value);
  Statement& bind(double value);  // NaN becomes NULL
  bool next();                    // false at the end
  std::string text();
  std::int64_t integer();
  double real();  // NULL becomes NaN

 private:
  const Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
  int parameter_ = 0;
  int column_ = 0;
};

// Rolled back unless committed. Takes the write lock at once, so that it cannot fail half way for want of it.
class Transaction {
 public:
  explicit Transaction(const Connection& connection) : connection_(connection) { connection.run("BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (!committed_) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  void commit() {
    connection_.run("COMMIT");
    committed_ = true;
  }

 private:
  const Connection& connection_;
  bool committed_ = false;
};

}  // namespace lift::tune
