# The job of sidekiq.rb, which Sidekiq's command line loads and works. It holds each job until the file "verdict" of the folder
# HELD says how all of them end, and tells there by files that a job has begun, that no more are fetched, and that all ended.
# Where the file "beat" is, it beats at once instead of within five seconds.
require "fileutils"
require "sidekiq"

Thread.new do # the standard input is a leash: it ends when sidekiq.rb does
  $stdin.read
  exit!(1)
end

# once calls the block when a file is in the folder, and removes the file.
def once(name)
  file = File.join(ENV.fetch("HELD"), name)
  Thread.new do
    loop do
      sleep 0.02 until File.exist?(file)
      yield
      File.delete(file)
    end
  end
end

once("beat") do
  launcher = Sidekiq::CLI.instance.launcher
  # The first beat is another thread's, and may be under way with what it saw before.
  sleep 0.02 until Sidekiq.redis { |redis| redis.exists?(launcher.identity) }
  launcher.send(:heartbeat)
end

once("ending") do
  sleep 0.02 until Sidekiq::Processor::WORKER_STATE.size.zero?
end

Sidekiq.configure_server do |config|
  config.on(:quiet) { FileUtils.touch(File.join(ENV.fetch("HELD"), "quiet")) }
end

class Held
  # The end of a job that is to be tried again after some seconds.
  class Failed < StandardError
    attr_reader :again

    def initialize(again)
      super("failed on purpose")
      @again = again
    end
  end

  include Sidekiq::Worker

  sidekiq_retry_in { |_count, error| error.again }

  def perform
    held = ENV.fetch("HELD")
    FileUtils.touch(File.join(held, "begun #{jid}"))
    verdict = File.join(held, "verdict")
    sleep 0.02 until File.exist?(verdict)
    again = File.read(verdict)
    raise Failed, again.to_i unless again.empty?
  end
end
