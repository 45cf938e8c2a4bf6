package main

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// fillQueues makes River's tables and puts three jobs into each of a number of queues, those of over.
func fillQueues(b *bed, url string, queues int) {
	load(b, url, fmt.Sprintf(`SELECT 'mail-' || to_char(i / 3, 'FM00000'), 1 + i %% 3, i FROM generate_series(0, %d) AS i`, 3*queues-1))
}

// fillQueue makes River's tables and puts n ready jobs into one queue, in blocks of all four priorities, so that the
// order is the index's already.
func fillQueue(b *bed, url string, n int) {
	load(b, url, fmt.Sprintf(`SELECT '%s', 1 + 4 * i::bigint / %d, i FROM generate_series(0, %d) AS i`, wakeQueue, n, n-1))
}

// load makes River's tables and adds a ready job for each row (queue, priority, number) of a query, all at once: into the
// empty table without its indexes, which are made afterwards as River made them, and with the statistics that
// autovacuum would come to.
func load(b *bed, url, rows string) {
	storagetest.RiverPostgres(b, url)
	b.withConn(url, func(conn *pgx.Conn) {
		exec := func(sql string) {
			_, err := conn.Exec(b.ctx, sql)
			b.must(err)
		}
		result, err := conn.Query(b.ctx, `SELECT indexname, indexdef FROM pg_indexes
			WHERE tablename = 'river_job' AND indexname <> 'river_job_pkey'`)
		b.must(err)
		type index struct{ Name, Def string }
		indexes, err := pgx.CollectRows(result, pgx.RowToStructByPos[index])
		b.must(err)
		for _, i := range indexes {
			exec("DROP INDEX " + pgx.Identifier{i.Name}.Sanitize())
		}
		exec("SET maintenance_work_mem = '512MB'")
		exec(`BEGIN; TRUNCATE river_job; INSERT INTO river_job (kind, args, max_attempts, state, queue, priority, scheduled_at, created_at)
			SELECT 'bench', '{}', 25, 'available', queue, priority, now() - interval '1 hour' + i * interval '1 microsecond', now()
			FROM (` + rows + `) AS job(queue, priority, i); COMMIT`)
		for _, i := range indexes {
			exec(i.Def)
		}
		exec("VACUUM (ANALYZE) river_job")
	})
}
