# The job of sidekiq.rb, which Sidekiq's own program loads and works. It holds each job until the file "verdict" of the folder
# HELD says how all of them end, and tells there by files that a job has begun and that it fetches no more.
require "fileutils"
require "sidekiq"

Thread.new do # the standard input is a leash: it ends when sidekiq.rb does
  $stdin.read
  exit!(1)
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
