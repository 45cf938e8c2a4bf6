package main

import (
	"log/slog"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/airflow"
	"github.com/leadsman/leadsman/storage/preset/asynq"
	"github.com/leadsman/leadsman/storage/preset/bull"
	"github.com/leadsman/leadsman/storage/preset/bullmq"
	"github.com/leadsman/leadsman/storage/preset/celery"
	"github.com/leadsman/leadsman/storage/preset/delayedjob"
	"github.com/leadsman/leadsman/storage/preset/flexiq"
	"github.com/leadsman/leadsman/storage/preset/goodjob"
	"github.com/leadsman/leadsman/storage/preset/graphileworker"
	"github.com/leadsman/leadsman/storage/preset/laravel"
	"github.com/leadsman/leadsman/storage/preset/oban"
	"github.com/leadsman/leadsman/storage/preset/pgboss"
	"github.com/leadsman/leadsman/storage/preset/pgmq"
	"github.com/leadsman/leadsman/storage/preset/procrastinate"
	"github.com/leadsman/leadsman/storage/preset/que"
	"github.com/leadsman/leadsman/storage/preset/rediskeys"
	"github.com/leadsman/leadsman/storage/preset/redisstream"
	"github.com/leadsman/leadsman/storage/preset/resque"
	"github.com/leadsman/leadsman/storage/preset/river"
	"github.com/leadsman/leadsman/storage/preset/rq"
	"github.com/leadsman/leadsman/storage/preset/sidekiq"
	"github.com/leadsman/leadsman/storage/preset/solidqueue"
)

// engines are the places that jobs can be read from, by the name that config_source.go derives from a URL.
var engines = map[string]func(SourceConfig, driver.Preset, *slog.Logger) (opened, error){
	enginePostgres: openPostgres,
	engineRedis:    openRedis,
	engineSQLite:   openSQLite,
}

// presets are the job libraries whose queues can be read. What presetSQL reads by comes with each source.
var presets = map[string]driver.Preset{
	"airflow":         airflow.Preset,
	"asynq":           asynq.Preset,
	"bull":            bull.Preset,
	"bullmq":          bullmq.Preset,
	"celery":          celery.Preset,
	"delayed_job":     delayedjob.Preset,
	"flexiq":          flexiq.Preset,
	"good_job":        goodjob.Preset,
	"graphile_worker": graphileworker.Preset,
	"laravel":         laravel.Preset,
	"oban":            oban.Preset,
	"pg_boss":         pgboss.Preset,
	"pgmq":            pgmq.Preset,
	"procrastinate":   procrastinate.Preset,
	"que":             que.Preset,
	"redis":           rediskeys.Preset,
	"redis-stream":    redisstream.Preset,
	"resque":          resque.Preset,
	"river":           river.Preset,
	"rq":              rq.Preset,
	"sidekiq":         sidekiq.Preset,
	"solid_queue":     solidqueue.Preset,
	presetSQL:         {Name: presetSQL},
}
