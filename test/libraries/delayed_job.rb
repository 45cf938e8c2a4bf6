# Drives Delayed Job with Active Record, as Debian's packages have them.
require "active_record"
require "delayed_job_active_record"
require "erb"

require_relative "commands"

Time.zone_default = Time.find_zone!("UTC")
Delayed::Worker.logger = Logger.new(nil)

# A job that fails is tried again after the seconds that it says, and dies at once when it may be tried once.
Work = Struct.new(:fails, :again, :tries) do
  def perform
    raise "failed on purpose" if fails
  end

  def reschedule_at(now, _attempts)
    now + again
  end

  def max_attempts
    tries
  end

  def destroy_failed_jobs?
    false
  end
end

# The commands. Times are seconds from now.
class Commands
  # open connects and makes the table by the migration that Delayed Job's generator writes.
  def open(config:)
    ActiveRecord::Base.establish_connection(config)
    ActiveRecord::Migration.verbose = false
    library = Gem.loaded_specs.fetch("delayed_job_active_record").full_gem_path
    template = File.read(File.join(library, "lib/generators/delayed_job/templates/migration.rb"))
    migration_version = "[#{ActiveRecord::VERSION::MAJOR}.#{ActiveRecord::VERSION::MINOR}]"
    Object.send(:remove_const, :CreateDelayedJobs) if Object.const_defined?(:CreateDelayedJobs)
    TOPLEVEL_BINDING.eval(ERB.new(template).result_with_hash(migration_version: migration_version))
    CreateDelayedJobs.migrate(:up)
    Delayed::Job.reset_column_information
    nil
  end

  def close
    ActiveRecord::Base.connection_pool.disconnect!
    nil
  end

  # enqueue adds n jobs, due after a time.
  def enqueue(queue:, n:, after: 0, fails: false, again: 0, tries: nil)
    Delayed::Job.transaction do
      Array.new(n) do |i|
        Delayed::Job.enqueue(Work.new(fails, again, tries), queue: queue, priority: i % 3, run_at: Time.zone.now + after).id
      end
    end
  end

  # work adds n jobs and has a worker for each reserve it, and run it unless it is to be held.
  def work(queue:, n:, hold: false, **job)
    enqueue(queue: queue, n: n, **job)
    reserved = Array.new(n) { reserve(queue) }
    reserved.each { |worker, taken| worker.run(taken) } unless hold
    reserved.map { |_, taken| taken.id }
  end

  # age makes a job's lock older.
  def age(ids:, by:)
    locked = Time.zone.now - by
    Delayed::Job.where(id: ids).update_all(locked_at: locked, run_at: locked)
  end

  def destroy(ids:)
    Delayed::Job.where(id: ids).destroy_all.size
  end

  # ready is how many jobs of the queue a worker that has none yet could take now, as Delayed Job sees it.
  def ready(queue:)
    Delayed::Job.ready_to_run("nobody", Delayed::Worker.max_run_time).where(queue: queue).count
  end

  private

  def reserve(queue)
    worker = Delayed::Worker.new(quiet: true)
    worker.name = "test #{@workers = @workers.to_i + 1}" # a worker that has a job is given it again
    Delayed::Worker.queues = [queue]
    [worker, Delayed::Job.reserve(worker) || raise("no job of #{queue} to reserve")]
  end
end

serve(Commands.new)
