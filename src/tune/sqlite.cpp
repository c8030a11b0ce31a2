#include "sqlite.hpp"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <string_view>

#include "lift/diagnostic.hpp"

namespace lift::tune {
namespace {

bool wasDatabase(const std::string& path) {
  constexpr std::string_view magic = "SQLite format 3";
  std::string begin(magic.size(), ' ');
  std::ifstream(path, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == magic;
}

}  // namespace

Connection::Connection(const std::string& path, std::string shown, int patienceMs, int flags)
    : shown_(std::move(shown)) {
  const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr);
  ensure(handle_ != nullptr, "SQLite has no memory");
  try {
    if (code != SQLITE_OK) fail(code);
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_timeout(handle_, patienceMs);
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Connection::~Connection() { sqlite3_close(handle_); }

void Connection::fail(int code) const {
  const auto error = [&](const std::string& message, const std::string& hint) {
    return UserError(ExitStatus::program, fmt::format("the tuning database '{}' {}", shown_, message), hint);
  };
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw error("is locked by another program", "wait for it to end, or name another file with --db");
    case SQLITE_NOTADB:
      if (!wasDatabase(shown_)) throw error("is no database", "name another file with --db");
      [[fallthrough]];
    case SQLITE_ERROR:       // our statements are well-formed: a table or a column is not there
    case SQLITE_CONSTRAINT:  // or is another than ours
    case SQLITE_CORRUPT: throw error("is damaged", "move it away; `sqlite3 FILE .recover` saves what can be read");
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      throw error(fmt::format("cannot be opened: {}", sqlite3_errmsg(handle_)), "name another file with --db");
    case SQLITE_READONLY: throw error("may not be written", "name another file with --db");
    case SQLITE_FULL:
    case SQLITE_IOERR: throw error(fmt::format("cannot be written: {}", sqlite3_errmsg(handle_)), "is the disk full?");
    default: throw InternalError(fmt::format("SQLite: {}", sqlite3_errmsg(handle_)));
  }
}

void Connection::run(const char* sql) const {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Connection::integer(const char* sql) const {
  Statement s(*this, sql);
  return s.next() ? s.integer() : 0;
}

Statement::Statement(const Connection& connection, const std::string& sql) : connection_(connection) {
  const int code = sqlite3_prepare_v2(connection.handle(), sql.c_str(), -1, &statement_, nullptr);
  if (code != SQLITE_OK) connection.fail(code);
}

Statement& Statement::bind(const std::string& text) {
  ensure(sqlite3_bind_text(statement_, ++parameter_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT) ==
             SQLITE_OK,
         "a parameter too many");
  return *this;
}

Statement& Statement::bind(std::int64_t value) {
  ensure(sqlite3_bind_int64(statement_, ++parameter_, value) == SQLITE_OK, "a parameter too many");
  return *this;
}

Statement& Statement::bind(double value) {
  ensure(sqlite3_bind_double(statement_, ++parameter_, value) == SQLITE_OK, "a parameter too many");
  return *this;
}

bool Statement::next() {
  const int code = sqlite3_step(statement_);
  column_ = 0;
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) connection_.fail(code);
  return false;
}

std::string Statement::text() {
  const auto* bytes = sqlite3_column_text(statement_, column_);
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column_++));
  return bytes == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(bytes), length);
}

std::int64_t Statement::integer() { return sqlite3_column_int64(statement_, column_++); }

double Statement::real() {
  const bool null = sqlite3_column_type(statement_, column_) == SQLITE_NULL;
  const double value = sqlite3_column_double(statement_, column_++);
  return null ? std::numeric_limits<double>::quiet_NaN() : value;
}

}  // namespace lift::tune
