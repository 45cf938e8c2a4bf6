<?php

// Drives Laravel's database and Redis queues, as Debian's packages have them. As commands.js for Node: a command is one JSON object a
// line on standard input, {"do": name, …}, and is answered by one line on standard output, {"result": …} or
// {"error": text}. The end of the input ends the program. Times are seconds from now.

error_reporting(E_ALL & ~E_DEPRECATED); // of PHP's, by a release of Laravel that is older than it
ini_set('display_errors', 'stderr');

require 'Illuminate/Queue/autoload.php';
require 'Illuminate/Database/autoload.php';
require 'Illuminate/Redis/autoload.php';

use Illuminate\Container\Container;
use Illuminate\Database\Capsule\Manager as Database;
use Illuminate\Queue\DatabaseQueue;
use Illuminate\Queue\Queue;
use Illuminate\Queue\RedisQueue;
use Illuminate\Redis\RedisManager;
use Illuminate\Support\Facades\Facade;

final class Commands
{
    private Database $database;

    private RedisManager $redis;

    private Queue $queue;

    /** open connects to a database, and makes the table by the migration that `artisan queue:table` writes. */
    public function open(array $config, int $retryAfter): void
    {
        $this->database = new Database();
        $this->database->addConnection($config);
        $container = $this->database->getContainer();
        $container->instance('db', $this->database->getDatabaseManager());
        Facade::clearResolvedInstances();
        Facade::setFacadeApplication($container);

        $console = dirname((new ReflectionClass(DatabaseQueue::class))->getFileName()).'/Console';
        $name = 'Jobs'.bin2hex(random_bytes(8)); // a class can be declared once
        $migration = str_replace(
            ['{{tableClassName}}', '{{table}}'], [$name, 'jobs'], file_get_contents($console.'/stubs/jobs.stub')
        );
        eval(substr($migration, strlen('<?php')));
        $class = "Create{$name}Table";
        (new $class())->up();

        $this->queue = new DatabaseQueue($this->database->getConnection(), 'jobs', 'default', $retryAfter);
        $this->queue->setContainer($container);
        $this->queue->setConnectionName('database');
    }

    public function close(): void
    {
        $this->database->getDatabaseManager()->purge();
    }

    /** openRedis connects to Redis, with a prefix of all keys. */
    public function openRedis(string $host, int $port, string $prefix, int $retryAfter): void
    {
        $container = new Container();
        $this->redis = new RedisManager($container, 'phpredis', [
            'default' => ['host' => $host, 'port' => $port, 'database' => 0],
            'options' => ['prefix' => $prefix],
        ]);
        $this->queue = new RedisQueue($this->redis, 'default', 'default', $retryAfter);
        $this->queue->setContainer($container);
        $this->queue->setConnectionName('redis');
    }

    public function closeRedis(): void
    {
        $this->redis->purge('default');
    }

    /** push adds n jobs, which a worker may take after a time. */
    public function push(string $queue, int $n, int $after = 0): void
    {
        if ($after === 0) {
            $this->queue->bulk(array_fill(0, $n, 'Mail'), '', $queue);

            return;
        }
        for ($i = 0; $i < $n; $i++) {
            $this->queue->later($after, 'Mail', '', $queue);
        }
    }

    /** take adds n jobs, reserves as many, and answers their ids. */
    public function take(string $queue, int $n): array
    {
        return array_map(fn ($job) => $job->getJobId(), $this->reserve($queue, $n));
    }

    /** age makes reservations older. */
    public function age(array $ids, int $by): void
    {
        $this->database->getConnection()->table('jobs')->whereIn('id', $ids)->update(['reserved_at' => time() - $by]);
    }

    /** abandon adds n jobs and reserves as many in Redis, which was a time ago. */
    public function abandon(string $queue, int $n, int $by, int $retryAfter): void
    {
        foreach ($this->reserve($queue, $n) as $job) {
            $this->redis->connection()->zadd("queues:$queue:reserved", time() + $retryAfter - $by, $job->getReservedJob());
        }
    }

    /** release adds n jobs, reserves as many, and gives them back, to be tried after a time. */
    public function release(string $queue, int $n, int $after): void
    {
        foreach ($this->reserve($queue, $n) as $job) {
            $job->release($after);
        }
    }

    /** finish adds n jobs, reserves as many, and is done with them. */
    public function finish(string $queue, int $n): void
    {
        foreach ($this->reserve($queue, $n) as $job) {
            $job->delete();
        }
    }

    /** drain reserves jobs of the queue until Laravel hands out no more, and answers how many it was. */
    public function drain(string $queue): int
    {
        for ($n = 0; $this->queue->pop($queue) !== null; $n++);

        return $n;
    }

    /** size is Laravel's own count: ready, running and scheduled together. */
    public function size(string $queue): int
    {
        return $this->queue->size($queue);
    }

    private function reserve(string $queue, int $n): array
    {
        $this->push($queue, $n);
        $jobs = [];
        for ($i = 0; $i < $n; $i++) {
            $jobs[] = $this->queue->pop($queue) ?? throw new RuntimeException("no job of $queue to reserve");
        }

        return $jobs;
    }
}

$commands = new Commands();
while (($line = fgets(STDIN)) !== false) {
    try {
        $args = json_decode($line, true, 512, JSON_THROW_ON_ERROR);
        $name = $args['do'];
        unset($args['do']);
        $answer = ['result' => $commands->$name(...$args)];
    } catch (Throwable $e) {
        $answer = ['error' => (string) $e];
    }
    fwrite(STDOUT, json_encode($answer, JSON_INVALID_UTF8_SUBSTITUTE)."\n");
}
