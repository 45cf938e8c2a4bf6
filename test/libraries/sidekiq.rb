# Drives Sidekiq, as Debian's package has it; its workers are processes that run Sidekiq's command line. Times are seconds from now.
# The commands, of which open answers 1, for it has one server at a time:
#
#   open     {url}
#   enqueue  {queue, n, job}          → [job id]; job is more of the job's hash, such as {"retry": 3}
#   schedule {queue, n, after}        → [job id]; a negative after makes them due and not promoted
#   start    {queue, n, also, silent} has a process of n threads claim n jobs that wait, and hold them; it serves the queues of
#                                     also, too. It answers when Sidekiq shows the jobs, or, when silent is true, before
#   quiet    {queue}                  has their processes take no more jobs
#   finish   {queue}                  lets the held jobs complete, and ends their processes
#   fail     {queue, after}           lets them fail, to be tried again after a time, or moves them to the dead ones when that
#                                     is absent
#   abandon  {queue}                  kills their processes: the jobs are lost, but Sidekiq shows them for a minute
#   cancel   {queue, jobs}            removes jobs by their ids
#   promote  {}                       puts what is due into its queues, as processes do each few seconds
#   report   {queue}                  → {counts: {enqueued, scheduled, retry, dead, busy, due, later, threads}, paused, workers,
#                                     latency}: due and later are of scheduled and retry; threads those of the processes that
#                                     serve the queue; workers the processes, of whatever queue; latency is in seconds
#   close    {}                       ends what is left, as abandon does
require "sidekiq/api"
require "sidekiq/launcher"
require "tmpdir"

require_relative "commands"

Redis.silence_deprecations = true # of calls in this release of Sidekiq

# A process of Sidekiq that holds jobs.
class Crew
  PATIENCE = 60 # seconds

  def initialize(url, queues, size, silent)
    @dir = Dir.mktmpdir("leadsman-sidekiq-")
    held, @leash = IO.pipe
    @pid = fork { run(held, url, queues, size) } # to save the time that Ruby takes to begin
    held.close
    wait("#{size} jobs of #{queues.first} to begin") { Dir.glob(File.join(@dir, "begun *")).size == size }
    tell("beat") unless silent
  rescue StandardError
    stop(:KILL)
    raise
  end

  # quiet ends the fetching of jobs, which it tells of at once.
  def quiet
    Process.kill(:TSTP, @pid)
    wait("Sidekiq to fetch no more") { File.exist?(File.join(@dir, "quiet")) }
    tell("beat")
  end

  # finish lets the jobs end, when no more are fetched, and the process then.
  def finish(again = nil)
    quiet
    File.write(File.join(@dir, "draft"), again.to_s)
    File.rename(File.join(@dir, "draft"), File.join(@dir, "verdict"))
    tell("ending")
    stop(:TERM)
  end

  def stop(signal)
    unless dead?
      Process.kill(signal, @pid)
      Process.wait(@pid)
    end
    @leash.close
    FileUtils.rm_rf(@dir)
  end

  private

  # run is what Sidekiq's program does.
  def run(held, url, queues, size)
    @leash.close
    $stdin.reopen(held)
    $stdout.reopen(File.join(@dir, "log"), "a")
    $stderr.reopen($stdout)
    ENV["HELD"] = @dir
    Sidekiq.redis = { url: url, size: size + 5 }
    require "sidekiq/cli"
    cli = Sidekiq::CLI.instance
    cli.parse(["--require", File.join(__dir__, "sidekiq_held.rb"), "--concurrency", size.to_s, "--timeout", "1",
               *queues.flat_map { |queue| ["--queue", queue] }])
    cli.run
  rescue StandardError, ScriptError => e
    warn(e.full_message)
  ensure
    exit!
  end

  def dead?
    @dead ||= Process.wait(@pid, Process::WNOHANG)
  end

  # tell makes a file and waits until the process has done what it stands for.
  def tell(name)
    file = File.join(@dir, name)
    FileUtils.touch(file)
    wait(name) { !File.exist?(file) }
  end

  def wait(what)
    deadline = Time.now + PATIENCE
    until yield
      raise "waited in vain for #{what}:\n#{File.read(File.join(@dir, 'log'))}" if Time.now > deadline || dead?

      sleep 0.02
    end
  end
end

# The commands.
class Commands
  def initialize
    @crews = Hash.new { |crews, queue| crews[queue] = [] }
  end

  def open(url:)
    @url = url
    Sidekiq.redis = { url: url }
    1
  end

  def enqueue(queue:, n:, job: {}, **)
    Sidekiq::Client.push_bulk("class" => "Held", "queue" => queue, "args" => [[]] * n, **job.transform_keys(&:to_s))
  end

  def schedule(after:, **rest)
    enqueue(**rest, job: { at: Time.now.to_f + after })
  end

  def start(queue:, n:, also: [], silent: false, **)
    @crews[queue] << Crew.new(@url, [queue, *also], n, silent)
    nil
  end

  def quiet(queue:, **)
    @crews[queue].each(&:quiet)
    nil
  end

  def finish(queue:, **)
    @crews.delete(queue).each(&:finish)
    nil
  end

  # fail says when the jobs are due itself, because Sidekiq adds up to 10 seconds.
  def fail(queue:, after: nil, **)
    before = Sidekiq::RetrySet.new.map(&:jid)
    @crews.delete(queue).each { |crew| crew.finish(3600) }
    failed = Sidekiq::RetrySet.new.reject { |job| before.include?(job.jid) }
    failed.each { |job| after ? job.reschedule(Time.now.to_f + after) : job.kill }
    nil
  end

  def abandon(queue:, **)
    @crews.delete(queue).each { |crew| crew.stop(:KILL) }
    nil
  end

  def cancel(queue:, jobs:, **)
    jobs.each { |jid| Sidekiq::Queue.new(queue).find_job(jid).delete }
    nil
  end

  def promote(**)
    Sidekiq::Scheduled::Enq.new.enqueue_jobs
    nil
  end

  def report(queue:, **)
    waiting = Sidekiq::Queue.new(queue)
    scheduled, retried, dead = [Sidekiq::ScheduledSet, Sidekiq::RetrySet, Sidekiq::DeadSet].map do |set|
      set.new.select { |job| job.queue == queue }
    end
    due, later = (scheduled + retried).partition { |job| job.at <= Time.now }
    serving = Sidekiq::ProcessSet.new.select { |process| process["queues"].include?(queue) }
    {
      counts: {
        enqueued: waiting.size, scheduled: scheduled.size, retry: retried.size, dead: dead.size,
        busy: Sidekiq::Workers.new.count { |_, _, work| work["queue"] == queue },
        due: due.size, later: later.size, threads: serving.sum { |process| process["concurrency"] }
      },
      paused: waiting.paused?, workers: Sidekiq::ProcessSet.new.size, latency: waiting.latency
    }
  end

  def close(**)
    @crews.keys.each { |queue| abandon(queue: queue) }
    nil
  end
end

commands = Commands.new
serve(commands)
commands.close
