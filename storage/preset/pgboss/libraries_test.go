//go:build libraries

package pgboss_test

import (
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/pgboss"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestPgBossKeepsTheContracts(t *testing.T) { conform(t, newest, driver.ModeEdgePoll) }

func TestPgBoss9KeepsTheContracts(t *testing.T) { conform(t, release9, "") }

// conform runs the suite; push is "" for a release that announces nothing.
func conform(t *testing.T, release string, push driver.Mode) {
	t.Helper()
	storagetest.Run(t, sqltest.PostgresHarness(*pgboss.Preset.Postgres,
		func(db *sqltest.DB) *fixture { return newFixture(db, release) },
		storagetest.Abilities{Push: push, Everything: true, Lookahead: true, Retries: true, Orphans: true}))
}
