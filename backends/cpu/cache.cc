#include "backends/cpu/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

namespace headrace::cpu {
namespace {

std::string Hex(const unsigned char* bytes, size_t n) {
  static const char kDigits[] = "0123456789abcdef";
  std::string s;
  for (size_t i = 0; i < n; ++i) s += kDigits[bytes[i] >> 4], s += kDigits[bytes[i] & 15];
  return s;
}

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> out;
  if (DIR* d = opendir(folder.c_str())) {
    while (const dirent* e = readdir(d))
      if (std::string(e->d_name) != "." && std::string(e->d_name) != "..") out.push_back(e->d_name);
    closedir(d);
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool OursAlone(const std::string& path, mode_t type) {
  struct stat st;
  return lstat(path.c_str(), &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
         (st.st_mode & 022) == 0;
}

std::string Scratch(const std::string& folder) {
  std::string name = folder + "/tmp.XXXXXX";
  return mkdtemp(name.data()) ? name : "";
}

std::string TemporaryFolder() {
  const char* tmp = std::getenv("TMPDIR");
  const std::string given = tmp && tmp[0] == '/' ? Scratch(tmp) : "";
  return given.empty() ? Scratch("/tmp") : given;
}

bool WriteFile(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return static_cast<bool>(out);
}

void Sync(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

class FileLock {
 public:
  ~FileLock() {
    if (fd_ >= 0) close(fd_);
  }
  // Waits for the lock, looking at `cancelled` all the while.
  bool Take(const std::string& path, const std::function<bool()>& cancelled) {
    fd_ = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd_ < 0) return false;
    while (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return false;
      if (cancelled && cancelled()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

 private:
  int fd_ = -1;
};

// A value that is no number, as 2GB, would empty the cache if it were read as far as it goes.
int64_t MostBytes() {
  const char* text = std::getenv("HEADRACE_CACHE_MAX_BYTES");
  char* end = nullptr;
  const int64_t bytes = text ? std::strtoll(text, &end, 10) : 0;
  return text && *text && *end == 0 && bytes >= 0 ? bytes : int64_t{2} << 30;
}

}  // namespace

std::string Hash(const std::vector<std::string>& parts) {
  if (sodium_init() < 0) CheckFailed(__FILE__, __LINE__, "sodium_init", "");
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, 32);
  for (const std::string& p : parts) {
    const uint64_t size = p.size();
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&size), sizeof size);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(p.data()), p.size());
  }
  unsigned char out[32];
  crypto_generichash_final(&state, out, sizeof out);
  return Hex(out, sizeof out);
}

Result<std::string> HashFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return InvalidError("E0384", "cannot read " + path);
  return Hash({text.str()});
}

namespace {
// An entry's program belongs to its key: a good one moved to another's place is no good there.
std::string Stamp(const std::string& key, const std::string& hash) { return Hash({key, hash}); }
}  // namespace

void RemoveTree(const std::string& path) {
  struct stat st;
  if (path.empty() || lstat(path.c_str(), &st) != 0) return;
  if (S_ISDIR(st.st_mode)) {
    for (const std::string& n : Names(path)) RemoveTree(path + "/" + n);
    rmdir(path.c_str());
  } else {
    unlink(path.c_str());
  }
}

std::string Cache::DefaultDirectory() {
  if (const char* d = std::getenv("HEADRACE_CACHE_DIR"); d && *d) return d;
  if (const char* d = std::getenv("XDG_CACHE_HOME"); d && d[0] == '/') return std::string(d) + "/headrace";
  if (const char* d = std::getenv("HOME"); d && d[0] == '/') return std::string(d) + "/.cache/headrace";
  return "";
}

Cache::Cache(std::string directory) : directory_(std::move(directory)) {
  if (directory_.empty()) directory_ = DefaultDirectory();
}

Status Cache::Prepare() {
  if (directory_.empty()) return InvalidError("E0380", "there is no folder for the cache", "set HEADRACE_CACHE_DIR");
  for (size_t at = 1; at != std::string::npos;) {
    at = directory_.find('/', at + 1);
    mkdir(directory_.substr(0, at).c_str(), 0700);
  }
  if (!OursAlone(directory_, S_IFDIR))
    return InvalidError("E0381", "the cache folder " + directory_ + " is not a folder that only this user can write",
                        "code from it would run as you: chmod 700 it or set HEADRACE_CACHE_DIR");
  if (access(directory_.c_str(), W_OK | X_OK) != 0)
    return InvalidError("E0382", "the cache folder " + directory_ + " is read-only");
  return {};
}

bool Cache::Valid(const std::string& folder) const {
  if (!OursAlone(folder, S_IFDIR)) return false;
  const std::string so = folder + "/program.so", manifest = folder + "/manifest";
  if (!OursAlone(so, S_IFREG) || !OursAlone(manifest, S_IFREG)) return false;
  std::ifstream in(manifest);
  std::string word, hash;
  if (!(in >> word >> hash) || word != "blake2b") return false;
  const auto actual = HashFile(so);
  return actual.ok() && Stamp(folder.substr(folder.rfind('/') + 1), *actual) == hash;
}

Result<Cache::Entry> Cache::Get(const std::string& key, const std::string& description,
                                const std::function<Status(const std::string&)>& compile,
                                const std::function<bool()>& cancelled) {
  Entry e;
  auto without_cache = [&]() -> Result<Entry> {
    e.scratch = TemporaryFolder();
    if (e.scratch.empty())
      return InvalidError("E0383", "no folder can be written to compile in", "set TMPDIR or HEADRACE_CACHE_DIR");
    const Status s = compile(e.scratch);
    if (!s.ok()) {
      RemoveTree(e.scratch);
      return s;
    }
    e.path = e.scratch + "/program.so";
    return e;
  };
  const std::string folder = directory_ + "/" + key;
  const auto hit = [&] {
    if (!Valid(folder)) return false;
    e.path = folder + "/program.so";
    e.hit = true;
    utimensat(AT_FDCWD, folder.c_str(), nullptr, 0);  // used now
    return true;
  };
  if (!directory_.empty() && OursAlone(directory_, S_IFDIR) && hit()) return e;  // also from a read-only cache
  if (!Prepare().ok()) return without_cache();
  FileLock lock;
  if (!lock.Take(directory_ + "/lock." + key.substr(0, 2), cancelled)) {
    if (cancelled && cancelled()) return InterruptedError();
    return without_cache();
  }
  if (hit()) return e;  // someone else made it meanwhile
  RemoveTree(folder);
  const std::string scratch = Scratch(directory_);
  if (scratch.empty()) return without_cache();
  const Status compiled = compile(scratch);
  if (!compiled.ok()) {
    const bool removed = compiled.kind() != ErrorKind::kInterrupted && access(scratch.c_str(), F_OK) != 0;
    RemoveTree(scratch);
    return removed ? without_cache() : compiled;  // somebody removed the cache meanwhile
  }
  for (const std::string& n : Names(scratch))  // only the result is kept
    if (n != "program.so") RemoveTree(scratch + "/" + n);
  const auto hash = HashFile(scratch + "/program.so");
  const bool written = hash.ok() && chmod((scratch + "/program.so").c_str(), 0600) == 0 &&
                       WriteFile(scratch + "/manifest", "blake2b " + Stamp(key, *hash) + "\n" + description + "\n") &&
                       chmod((scratch + "/manifest").c_str(), 0600) == 0;
  if (written) Sync(scratch + "/program.so");
  if (!written || rename(scratch.c_str(), folder.c_str()) != 0) {
    RemoveTree(scratch);
    return without_cache();
  }
  e.path = folder + "/program.so";
  Trim(MostBytes());
  return e;
}

std::vector<Cache::Info> Cache::List() const {
  std::vector<Info> out;
  for (const std::string& n : Names(directory_)) {
    const std::string folder = directory_ + "/" + n;
    struct stat st;
    if (n.size() != 64 || lstat(folder.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) continue;
    Info i;
    i.key = n;
    i.used = st.st_mtime;
    for (const std::string& f : Names(folder))
      if (lstat((folder + "/" + f).c_str(), &st) == 0) i.bytes += st.st_size;
    std::ifstream in(folder + "/manifest");
    std::getline(in, i.description);
    std::getline(in, i.description);
    out.push_back(i);
  }
  std::stable_sort(out.begin(), out.end(), [](const Info& a, const Info& b) { return a.used > b.used; });
  return out;
}

int Cache::Clear() {
  int removed = 0;
  for (const Info& i : List()) {
    RemoveTree(directory_ + "/" + i.key);
    ++removed;
  }
  for (const std::string& n : Names(directory_))  // left by processes that were killed
    if (n.rfind("tmp.", 0) == 0) RemoveTree(directory_ + "/" + n);
  return removed;
}

void Cache::Trim(int64_t max_bytes) {
  int64_t total = 0;
  bool first = true;
  for (const Info& i : List()) {
    total += i.bytes;
    if (total > max_bytes && !first) RemoveTree(directory_ + "/" + i.key);
    first = false;
  }
  // Folders of processes that were killed while compiling.
  for (const std::string& n : Names(directory_)) {
    struct stat st;
    if (n.rfind("tmp.", 0) == 0 && lstat((directory_ + "/" + n).c_str(), &st) == 0 &&
        st.st_mtime + 3600 < time(nullptr))
      RemoveTree(directory_ + "/" + n);
  }
}

}  // namespace headrace::cpu
