// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/charts.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/templates/sandbox.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

namespace zoo::templates {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t k_threads = 2;
constexpr std::size_t k_most_waiting = 64;
constexpr std::size_t k_most_waiting_of_one = 8; ///< account
constexpr std::size_t k_most_inline = 512u << 10, k_most_chart = 10u << 20;
constexpr std::size_t k_beside = 1'024; ///< of what was rendered: the rest that is kept with it
constexpr std::size_t k_block = 4'096;
constexpr std::chrono::seconds k_fetch{20};
/// How long what was rendered, or why it was not, is believed.
constexpr std::chrono::minutes k_kept{60};
constexpr std::chrono::seconds k_failed{5};
/// The same of what nobody has asked for since: who waits for it asks ever more rarely.
constexpr std::chrono::seconds k_untold{60};

/// A directory of mode 0700 that goes with this.
class Temporary {
public:
  static Result<Temporary> make(const fs::path& in) {
    auto name = (in / "run.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      return fail(Code::io, "{}: {}", in.string(), std::strerror(errno));
    return Temporary(fs::path(name));
  }
  Temporary(Temporary&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Temporary& operator=(Temporary&&) = delete;
  ~Temporary() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

private:
  explicit Temporary(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

Result<void> write_private(const fs::path& path, std::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return fail(Code::io, "{}: {}", path.string(), std::strerror(errno));
  bool good = true;
  while (!bytes.empty() && good) {
    const auto count = ::write(fd, bytes.data(), bytes.size());
    good = count > 0 || errno == EINTR;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  close(fd);
  if (!good) return fail(Code::io, "{}: {}", path.string(), std::strerror(errno));
  return {};
}

/// Which Secrets a chart is fetched by. Whoever names none of them gets none of what was fetched
/// by them.
json secrets_of(const Chart& chart) {
  json out = json::array();
  for (const auto* key : {&chart.username, &chart.password})
    out.push_back(json::array({key->name_space, key->name, key->key}));
  return out;
}

std::string key_of(const ChartWish& wish) {
  const auto& chart = wish.chart;
  json all = {chart.release, chart.name,        chart.version, chart.repository,
              chart.oci,     chart.inline_data, wish.values,   wish.name_space};
  for (const auto& each : chart.set)
    all.push_back({each.name, each.value, each.is_text});
  all.push_back(secrets_of(chart));
  const auto text = kube::text_of(all);
  return crypto::hex_encode(crypto::view(crypto::sha256(text)));
}

/// Where a chart of a repository is kept.
std::string file_of(const Chart& chart) {
  const auto text = kube::text_of(
      json::array({chart.name, chart.version, chart.repository, chart.oci, secrets_of(chart)}));
  return crypto::hex_encode(crypto::view(crypto::sha256(text))) + ".tgz";
}

std::vector<std::string> environment_at(const fs::path& home, const fs::path& authorities) {
  std::vector<std::string> out;
  for (const auto* name :
       {"HOME", "TMPDIR", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_PLUGINS"})
    out.push_back(fmt::format("{}={}", name, home.string()));
  out.emplace_back("GOMEMLIMIT=512MiB"); // before the limit of the sandbox ends it
  out.emplace_back("GOMAXPROCS=2");
  if (!authorities.empty()) out.push_back("SSL_CERT_FILE=" + authorities.string());
  return out;
}

/// Text that helm takes for one value of --set: commas, braces and the like stand for themselves.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (std::string_view("\\,{}[]").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

} // namespace

std::size_t tag_of(const std::string& oci) {
  const auto host = oci.find("://"), slash = oci.rfind('/');
  if (host == std::string::npos || slash < host + 3) return std::string::npos;
  return oci.find(':', slash);
}

bool is_listed(const Chart& chart, const std::vector<std::string>& repositories) {
  const auto address =
      chart.oci.empty() ? chart.repository : chart.oci.substr(0, tag_of(chart.oci));
  if (!address.starts_with("https://") && !address.starts_with("oci://")) return false;
  return std::any_of(repositories.begin(), repositories.end(), [&](const std::string& begin) {
    if (!address.starts_with(begin) || begin.empty()) return false;
    return address.size() == begin.size() || begin.back() == '/' || address[begin.size()] == '/';
  });
}

std::string why_no_room(const std::vector<std::string>& waiting, const std::string& whose) {
  const auto own = static_cast<std::size_t>(std::count(waiting.begin(), waiting.end(), whose));
  if (own >= k_most_waiting_of_one)
    return fmt::format("{} charts of {} wait to be rendered", own, whose);
  if (waiting.size() < k_most_waiting) return {};
  return fmt::format("{} charts wait to be rendered", waiting.size());
}

void drop_packed(const fs::path& directory, std::size_t more, std::size_t most) {
  const auto whole = [](std::size_t bytes) { return (bytes + k_block - 1) / k_block * k_block; };
  std::map<std::pair<fs::file_time_type, fs::path>, std::size_t> by_age;
  std::size_t bytes = whole(more);
  std::error_code error;
  for (fs::directory_iterator each(directory, error), end; !error && each != end;
       each.increment(error)) {
    if (each->path().extension() != ".tgz") continue;
    std::error_code gone;
    const auto written = each->last_write_time(gone);
    const auto size = gone ? 0 : each->file_size(gone);
    if (gone) continue;
    by_age.emplace(std::pair(written, each->path()), whole(size));
    bytes += whole(size);
  }
  for (auto oldest = by_age.begin(); bytes > most && oldest != by_age.end(); ++oldest) {
    fs::remove(oldest->first.second, error);
    bytes -= oldest->second;
  }
}

Charts::Charts(ChartSettings settings) : settings_(std::move(settings)) {
  std::error_code ignored;
  fs::create_directories(settings_.directory, ignored);
  chmod(settings_.directory.c_str(), 0700);
  // What a zood that was killed has left.
  for (const auto& entry : fs::directory_iterator(settings_.directory, ignored))
    if (entry.path().filename().string().starts_with("run.")) fs::remove_all(entry.path(), ignored);
  for (std::size_t number = 1; number <= k_threads; ++number) {
    threads_.emplace_back([this, number](const std::stop_token& stop) {
      pthread_setname_np(pthread_self(), fmt::format("helm-{}", number).c_str());
      run(stop);
    });
  }
}

Charts::~Charts() {
  for (auto& thread : threads_)
    thread.request_stop();
}

std::string Charts::trouble(const ChartSettings& settings) {
  if (access(settings.program.c_str(), X_OK) != 0)
    return fmt::format("no helm at {}: packaging/build-helm builds one (key templates.helm)",
                       settings.program.string());
  if (landlock_version() < 1) return "the kernel has no Landlock: no chart is rendered without";
  return {};
}

Result<void> Charts::admit(const Chart& chart) const {
  if (!chart.inline_data.empty()) {
    if (chart.inline_data.size() > k_most_inline / 3 * 4 + 4)
      return fail(Code::invalid, "chart.inline is longer than {} KiB", k_most_inline >> 10);
    return {};
  }
  if (is_listed(chart, settings_.repositories)) return {};
  return fail(Code::invalid,
              "{} is none of the repositories of templates.repositories in zood.yaml",
              chart.oci.empty() ? chart.repository : chart.oci);
}

Result<Charts::Credentials> Charts::credentials_of(upstream::ControlApi& api,
                                                   const Chart& chart) const {
  Credentials out;
  for (const auto& [from, to] :
       {std::pair{&chart.username, &out.username}, std::pair{&chart.password, &out.password}}) {
    if (from->empty()) continue;
    const auto secret =
        api.get(kube::path({"api", "v1", "namespaces", from->name_space, "secrets", from->name}));
    if (!secret && secret.error().code() == Code::not_found)
      return fail(Code::invalid, "Secret {}/{} of the repository's credentials is not there",
                  from->name_space, from->name);
    if (!secret) return fail(secret.error());
    const auto data = secret->value("data", json::object());
    const auto found = data.find(from->key);
    if (found == data.end() || !found->is_string())
      return fail(Code::invalid, "Secret {}/{} has no key {}", from->name_space, from->name,
                  from->key);
    ZOO_TRY(*to, crypto::base64_decode(found->get<std::string>()));
  }
  return out;
}

Result<std::string> Charts::render(upstream::ControlApi& api, const ChartWish& wish,
                                   std::chrono::milliseconds wait) {
  if (const auto why = trouble(settings_); !why.empty()) return fail(Code::invalid, "{}", why);
  ZOO_TRY_VOID(admit(wish.chart));
  const auto key = key_of(wish);
  JobPtr job;
  {
    const std::lock_guard lock(mutex_);
    drop_old();
    if (const auto known = jobs_.find(key); known != jobs_.end()) job = known->second;
  }
  if (!job) {
    job = std::make_shared<Job>();
    job->wish = wish;
    ZOO_TRY(job->credentials, credentials_of(api, wish.chart));
    const std::lock_guard lock(mutex_);
    const auto [place, fresh] = jobs_.emplace(key, job);
    if (fresh) {
      std::vector<std::string> waiting;
      for (const auto& each : waiting_)
        waiting.push_back(each->wish.whose);
      if (const auto why = why_no_room(waiting, wish.whose); !why.empty()) {
        jobs_.erase(place);
        return fail(Code::timeout, "{}", why);
      }
    }
    if (fresh) waiting_.push_back(job);
    job = place->second;
    changed_.notify_all();
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [&] { return job->done; });
  if (job->done) {
    job->told = true;
    return job->result;
  }
  const auto& chart = wish.chart;
  return fail(Code::timeout, "chart {} is being {}rendered",
              !chart.name.empty()  ? chart.name
              : !chart.oci.empty() ? chart.oci
                                   : chart.release,
              chart.inline_data.empty() ? "fetched and " : "");
}

std::size_t Charts::Job::bytes() const {
  return (result ? result->size() : result.error().message().size()) + k_beside;
}

void Charts::drop_old() {
  const auto now = Clock::now();
  std::size_t bytes = 0;
  for (auto each = jobs_.begin(); each != jobs_.end();) {
    const auto& job = *each->second;
    const auto age = now - job.ended;
    const auto believed = job.result ? std::chrono::seconds(k_kept)
                          : job.told ? k_failed
                                     : k_untold;
    const bool old = job.done && age > believed;
    if (!old && job.done) bytes += job.bytes();
    each = old ? jobs_.erase(each) : std::next(each);
  }
  while (bytes > settings_.kept) {
    auto oldest = jobs_.end();
    for (auto each = jobs_.begin(); each != jobs_.end(); ++each)
      if (each->second->done &&
          (oldest == jobs_.end() || each->second->ended < oldest->second->ended))
        oldest = each;
    if (oldest == jobs_.end()) return;
    bytes -= oldest->second->bytes();
    jobs_.erase(oldest);
  }
}

Charts::JobPtr Charts::next() {
  for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
    if (running_.contains((*each)->wish.whose)) continue;
    auto job = *each;
    waiting_.erase(each);
    running_.insert(job->wish.whose);
    return job;
  }
  return nullptr;
}

void Charts::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    auto job = next();
    if (!job) {
      changed_.wait(lock, stop, [this] {
        return std::any_of(waiting_.begin(), waiting_.end(), [this](const JobPtr& each) {
          return !running_.contains(each->wish.whose);
        });
      });
      continue;
    }
    lock.unlock();
    auto result = work(*job);
    if (!result && result.error().code() != Code::invalid)
      log::warning("templates", "helm: {}", result.error().text());
    lock.lock();
    job->result = std::move(result);
    job->done = true;
    job->ended = Clock::now();
    job->credentials = {};
    job->wish.chart = {}; // up to 700 KB of it; the digest is what it is known by
    job->wish.values.clear();
    running_.erase(running_.find(job->wish.whose));
    drop_old();
    changed_.notify_all();
  }
}

Result<std::string> Charts::work(const Job& job) const {
  ZOO_TRY(const auto temporary, Temporary::make(settings_.directory));
  const auto& at = temporary.path();
  ZOO_TRY(const auto chart, chart_of(job, at));
  SandboxWish wish;
  wish.program = settings_.program;
  wish.directory = at;
  wish.readable = {chart};
  wish.environment = environment_at(at, {});
  wish.arguments = {"template", "--namespace", job.wish.name_space, "--include-crds", "--no-hooks"};
  if (!job.wish.values.empty()) {
    ZOO_TRY_VOID(write_private(at / "values.yaml", job.wish.values));
    wish.arguments.insert(wish.arguments.end(), {"--values", (at / "values.yaml").string()});
  }
  for (const auto& each : job.wish.chart.set) {
    wish.arguments.emplace_back(each.is_text ? "--set-string" : "--set");
    wish.arguments.push_back(fmt::format("{}={}", each.name, escaped(each.value)));
  }
  // Behind "--" nothing that a template says is an option of helm's.
  wish.arguments.insert(wish.arguments.end(), {"--", job.wish.chart.release, chart.string()});
  return run_in_sandbox(wish);
}

Result<fs::path> Charts::chart_of(const Job& job, const fs::path& at) const {
  const auto& chart = job.wish.chart;
  if (!chart.inline_data.empty()) {
    auto bytes = crypto::base64_decode(chart.inline_data);
    if (!bytes) return fail(Code::invalid, "chart.inline is no base64");
    ZOO_TRY_VOID(write_private(at / "chart.tgz", *bytes));
    return at / "chart.tgz";
  }
  // A version that is named is the same chart for ever; the newest is asked for each time.
  const bool fixed = !chart.version.empty() || tag_of(chart.oci) != std::string::npos;
  const auto kept = settings_.directory / file_of(chart);
  // A copy of its own: what is kept may be removed while helm reads it, and is nothing that a helm
  // could write to.
  const auto own = at / "chart.tgz";
  std::error_code error;
  if (fixed && fs::copy_file(kept, own, error)) return own;
  ZOO_TRY(const auto fetched, fetch(job, at));
  if (!fixed) return fetched;
  keep_packed(fetched, at, kept);
  return fetched;
}

/// What cannot be kept is fetched again.
void Charts::keep_packed(const fs::path& fetched, const fs::path& at, const fs::path& kept) const {
  std::error_code error;
  const auto bytes = fs::file_size(fetched, error);
  if (error) return;
  const auto whole = at / "kept.tgz";
  const std::lock_guard lock(packed_mutex_);
  drop_packed(settings_.directory, bytes, settings_.packed);
  if (fs::copy_file(fetched, whole, error)) fs::rename(whole, kept, error);
  if (error) fs::remove(whole, error);
}

Result<fs::path> Charts::fetch(const Job& job, const fs::path& at) const {
  const auto& chart = job.wish.chart;
  SandboxWish wish;
  wish.program = settings_.program;
  wish.directory = at;
  wish.network = true;
  wish.limits.wall = k_fetch;
  wish.limits.file = k_most_chart;
  // helm keeps credentials in its home: what renders the chart in `at` must not find them.
  const auto home = at / "home";
  std::error_code error;
  if (!fs::create_directory(home, error))
    return fail(Code::io, "{}: {}", home.string(), error.message());
  wish.environment = environment_at(home, settings_.authorities);
  // Names of hosts, and authorities.
  for (const auto* path :
       {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl/certs"}) {
    std::error_code missing;
    const auto real = fs::canonical(path, missing);
    if (!missing) wish.readable.push_back(real);
  }
  if (!settings_.authorities.empty()) wish.readable.push_back(settings_.authorities);
  std::string what = chart.oci.empty() ? "chart/" + chart.name : chart.oci;
  if (chart.oci.empty()) {
    auto add = wish;
    add.arguments = {"repo", "add"};
    if (!job.credentials.username.empty()) {
      add.arguments.insert(add.arguments.end(),
                           {"--username", job.credentials.username, "--password-stdin"});
      add.input = job.credentials.password + "\n";
    }
    add.arguments.insert(add.arguments.end(), {"--", "chart", chart.repository});
    auto added = run_in_sandbox(add);
    if (!added) return fail(std::move(added).error());
  } else if (!job.credentials.username.empty()) {
    auto login = wish;
    const auto host = chart.oci.substr(6, chart.oci.find('/', 6) - 6);
    login.arguments = {"registry",         "login", "--username", job.credentials.username,
                       "--password-stdin", "--",    host};
    login.input = job.credentials.password + "\n";
    auto done = run_in_sandbox(login);
    if (!done) return fail(std::move(done).error());
  }
  fs::create_directory(at / "fetched", error);
  wish.arguments = {"pull", "--destination", (at / "fetched").string()};
  if (!chart.version.empty())
    wish.arguments.insert(wish.arguments.end(), {"--version", chart.version});
  wish.arguments.insert(wish.arguments.end(), {"--", what});
  auto pulled = run_in_sandbox(wish);
  if (!pulled) return fail(std::move(pulled).error());
  fs::remove_all(home, error);
  if (fs::exists(home, error)) return fail(Code::io, "{} cannot be removed", home.string());
  for (fs::directory_iterator each(at / "fetched", error), end; !error && each != end;
       each.increment(error)) {
    if (each->path().extension() != ".tgz") continue;
    // Behind here it is a file that was there before helm ran again.
    if (!fs::is_regular_file(fs::symlink_status(each->path(), error))) break;
    return each->path();
  }
  return fail(Code::invalid, "{} has no packed chart", what);
}

} // namespace zoo::templates
