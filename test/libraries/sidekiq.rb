# Drives Sidekiq, as Debian's package has it. Times are seconds from now. The commands:
#
#   open     {url}
#   enqueue  {queue, n, retry}   → [jid]; retry is how often a failed job is tried again, or false
#   schedule {queue, n, after}   → [jid]; a negative after makes them due and not promoted
#   start    {queues, n, beat}   has a process with n threads claim n jobs of the queues, and hold them; it beats again
#                                at once then unless beat is false
#   quiet    {queues}            has it take no more jobs, and beat
#   finish   {queues}            lets the held jobs complete, and ends their process
#   fail     {queues, after}     lets them fail, to be tried again after a time, and ends their process
#   abandon  {queues}            → [identity]; kills the process
#   cancel   {queue, jids}       removes jobs from the queue
#   promote  {}                  promotes what is due, as a process does each few seconds
#   report   {queue}             → {size, latency, due, later, running, processes, threads}, as Sidekiq says
#   close    {}                  kills what is left
require "sidekiq"
require "sidekiq/api"
require "sidekiq/launcher"

require_relative "commands"

Sidekiq.logger = Logger.new(nil)
Redis.silence_deprecations = true # of how Sidekiq calls it

# The jobs that a process has claimed, until it is said how they end.
class Held
  def initialize
    @begun = Queue.new
    @mutex = Mutex.new
    @decided = ConditionVariable.new
  end

  # run is what a job does.
  def run
    @begun << true
    @mutex.synchronize { @decided.wait(@mutex) until @verdict }
    raise "failed on purpose" if @verdict == :fail
  end

  # await returns when n jobs are held.
  def await(count)
    count.times { @begun.pop }
  end

  def end(verdict)
    @mutex.synchronize do
      @verdict = verdict
      @decided.broadcast
    end
    sleep 0.005 until Sidekiq::Processor::WORKER_STATE.size.zero?
  end
end

HELD = Held.new # of the process that a Crew forks

class Work
  include Sidekiq::Worker

  def perform(*)
    HELD.run
  end
end

# A Crew is a process of Sidekiq, without its command line. It is told what to do by one word a line.
class Crew
  def initialize(url, queues, threads, beat)
    @queues = queues
    commands, @commands = IO.pipe
    @answers, answers = IO.pipe
    @pid = fork do
      [@commands, @answers].each(&:close)
      $stdin.reopen(File::NULL)
      run(url, threads, beat, commands, answers)
    ensure
      exit!
    end
    [commands, answers].each(&:close)
    answer
  end

  attr_reader :queues

  # tell has it do something and returns what it answers.
  def tell(word)
    @commands.puts(word)
    answer
  end

  # kill ends it as a crash does.
  def kill
    Process.kill(:KILL, @pid)
    reap
  end

  def reap
    Process.wait(@pid)
    [@commands, @answers].each(&:close)
  end

  private

  def answer
    @answers.gets&.chomp || raise("the process of Sidekiq has died")
  end

  def run(url, threads, beat, commands, answers)
    answers.sync = true
    Sidekiq.redis = { url: url, size: threads + 5 }
    @launcher = Sidekiq::Launcher.new(Sidekiq.options.merge(queues: @queues, concurrency: threads, timeout: 0))
    @launcher.run
    HELD.await(threads)
    beat_again if beat
    answers.puts("ready")
    commands.each_line { |word| answers.puts(obey(word.chomp)) }
  end

  # beat_again tells of the jobs. The first beat is another thread's and may be under way with what it saw before them.
  def beat_again
    sleep 0.005 until Sidekiq.redis { |conn| conn.exists?(@launcher.identity) }
    @launcher.send(:heartbeat)
  end

  def obey(word)
    case word
    when "identity"
      return @launcher.identity
    when "quiet"
      @launcher.quiet
      beat_again
    else
      HELD.end(word.to_sym)
      @launcher.stop
    end
    word
  end
end

class Commands
  def open(url:)
    @url = url
    @crews = []
    Sidekiq.redis = { url: url, size: 2 }
    nil
  end

  def enqueue(queue:, n:, **job)
    Sidekiq::Client.push_bulk("class" => Work, "queue" => queue, "args" => Array.new(n) { |i| [i] }, **job.transform_keys(&:to_s))
  end

  def schedule(queue:, n:, after:)
    enqueue(queue: queue, n: n, at: Time.now.to_f + after)
  end

  def start(queues:, n:, beat: true)
    @crews << Crew.new(@url, queues, n, beat)
    nil
  end

  def quiet(queues:)
    @crews.each { |crew| crew.tell("quiet") if crew.queues == queues }
    nil
  end

  def finish(queues:)
    take(queues).each { |crew| stop(crew, "finish") }
    nil
  end

  # fail lets the jobs fail. Sidekiq adds some random seconds to when it will try them again.
  def fail(queues:, after:)
    before = Sidekiq::RetrySet.new.map(&:jid)
    finished = take(queues)
    finished.each { |crew| stop(crew, "fail") }
    Sidekiq::RetrySet.new.reject { |job| before.include?(job.jid) }.each { |job| job.reschedule(Time.now.to_f + after) }
    nil
  end

  def abandon(queues:)
    take(queues).map do |crew|
      identity = crew.tell("identity")
      crew.kill
      identity
    end
  end

  def cancel(queue:, jids:)
    jids.each { |jid| Sidekiq::Queue.new(queue).find_job(jid).delete }
    nil
  end

  def promote
    Sidekiq::Scheduled::Enq.new.enqueue_jobs
    nil
  end

  def report(queue:)
    q = Sidekiq::Queue.new(queue)
    delayed = [Sidekiq::ScheduledSet.new, Sidekiq::RetrySet.new].flat_map { |set| set.select { |job| job.queue == queue }.map(&:at) }
    due, later = delayed.partition { |at| at <= Time.now }
    processes = Sidekiq::ProcessSet.new.select { |process| process["queues"].include?(queue) }
    running = Sidekiq::Workers.new.count { |_, _, work| work["queue"] == queue }
    { size: q.size, latency: q.latency, due: due.size, later: later.size, running: running,
      processes: processes.size, threads: processes.sum { |process| process["concurrency"] } }
  end

  def close
    @crews.each(&:kill)
    @crews = []
    Sidekiq.redis_pool.shutdown(&:close)
    nil
  end

  private

  def stop(crew, how)
    crew.tell(how)
    crew.kill
  end

  def take(queues)
    taken, @crews = @crews.partition { |crew| crew.queues == queues }
    taken
  end
end

serve(Commands.new)
