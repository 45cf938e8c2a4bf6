# What the Ruby programs share, as commands.js for Node: a command is one JSON object a line on standard input, {"do": name,
# …}, and is answered by one line on standard output, {"result": …} or {"error": text}. The end of the input ends the program.
require "json"

# serve answers each command with the method of that name of receiver, which takes what comes with it as keywords.
def serve(receiver)
  answers = $stdout.dup # those are the only ones: libraries that print write to standard error
  answers.sync = true
  $stdout.reopen($stderr)
  $stdin.each_line do |line|
    command = JSON.parse(line, symbolize_names: true)
    answer = begin
      { result: receiver.public_send(command.delete(:do), **command) }
    rescue StandardError => e
      { error: "#{e.class}: #{e.message}\n#{e.backtrace.first(5).join("\n")}" }
    end
    answers.puts(JSON.generate(answer))
  end
end
