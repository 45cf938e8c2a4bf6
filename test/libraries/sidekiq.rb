# Drives Sidekiq, as Debian's package has it; its workers are processes of Sidekiq's own program. Times are seconds from now.
# The commands, of which open answers 1, for it has one server at a time:
#
#   open     {url}
#   enqueue  {queue, n, job}          → [job id]; job is more of the job's hash, such as {"retry": 3}
#   schedule {queue, n, after}        → [job id]; a negative after makes them due and not promoted
#   start    {queue, n}               has a process of n threads claim n jobs that wait, and hold them; it answers when
#                                     Sidekiq shows them, which takes up to five seconds
#   finish   {queue}                  lets the held jobs complete, and ends their processes
#   fail     {queue, after}           lets them fail, to be tried again after a time (Sidekiq adds up to 10 seconds), or moves
#                                     them to the dead ones when that is absent
#   abandon  {queue}                  kills their processes: the jobs are lost, but Sidekiq shows them for a minute
#   report   {queue}                  → {counts: {enqueued, scheduled, retry, dead, busy}, paused, workers}: the workers are the
#                                     processes, of whatever queue
#   close    {}                       ends what is left, as abandon does
require "sidekiq/api"
require "tmpdir"

require_relative "commands"

Redis.silence_deprecations = true # of calls in this release of Sidekiq

# A process of Sidekiq that holds jobs.
class Crew
  PATIENCE = 60 # seconds

  def initialize(url, queue, size)
    @dir = Dir.mktmpdir("leadsman-sidekiq-")
    held, @leash = IO.pipe
    @pid = Process.spawn(
      { "REDIS_URL" => url, "HELD" => @dir },
      "sidekiq", "--require", File.join(__dir__, "sidekiq_held.rb"), "--queue", queue, "--concurrency", size.to_s,
      in: held, out: File.join(@dir, "log"), err: %i[child out]
    )
    held.close
    await(queue, size)
  rescue StandardError
    stop(:KILL)
    raise
  end

  # finish lets the jobs end, when no more are fetched, and the process then.
  def finish(again = nil)
    Process.kill(:TSTP, @pid)
    wait("Sidekiq to fetch no more") { File.exist?(File.join(@dir, "quiet")) }
    File.write(File.join(@dir, "draft"), again.to_s)
    File.rename(File.join(@dir, "draft"), File.join(@dir, "verdict"))
    stop(:TERM)
  end

  def stop(signal)
    Process.kill(signal, @pid)
    Process.wait(@pid)
    @leash.close
    FileUtils.rm_rf(@dir)
  end

  private

  # await waits until Sidekiq shows the jobs.
  def await(queue, size)
    wait("#{size} jobs of #{queue} to begin") { Dir.glob(File.join(@dir, "begun *")).size == size }
    wait("Sidekiq to show them") { Sidekiq::Workers.new.count { |process, _, _| process.split(":")[1] == @pid.to_s } == size }
  end

  def wait(what)
    deadline = Time.now + PATIENCE
    until yield
      raise "waited in vain for #{what}:\n#{File.read(File.join(@dir, 'log'))}" if Time.now > deadline

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

  def start(queue:, n:, **)
    @crews[queue] << Crew.new(@url, queue, n)
    nil
  end

  def finish(queue:, **)
    @crews.delete(queue).each(&:finish)
    nil
  end

  def fail(queue:, after: nil, **)
    before = Sidekiq::RetrySet.new.map(&:jid)
    @crews.delete(queue).each { |crew| crew.finish((after || 3600).ceil) }
    Sidekiq::RetrySet.new.each { |job| job.kill unless before.include?(job.jid) } if after.nil?
    nil
  end

  def abandon(queue:, **)
    @crews.delete(queue).each { |crew| crew.stop(:KILL) }
    nil
  end

  def report(queue:, **)
    of = ->(jobs) { jobs.count { |job| job.queue == queue } }
    {
      counts: {
        enqueued: Sidekiq::Queue.new(queue).size, scheduled: of.call(Sidekiq::ScheduledSet.new),
        retry: of.call(Sidekiq::RetrySet.new), dead: of.call(Sidekiq::DeadSet.new),
        busy: Sidekiq::Workers.new.count { |_, _, work| work["queue"] == queue }
      },
      paused: Sidekiq::Queue.new(queue).paused?, workers: Sidekiq::ProcessSet.new.size
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
