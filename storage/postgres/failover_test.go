package postgres_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// demote restarts a server as a standby: one that answers, and whose data stands still.
func demote(t *testing.T, cluster *storagetest.Cluster) {
	t.Helper()
	var dir string
	if err := connect(t, cluster.SuperuserURL()).QueryRow(t.Context(), "SHOW data_directory").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	cluster.Stop(t)
	if err := os.WriteFile(filepath.Join(dir, "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cluster.Start(t)
}

// Case 52.
func TestReadRefusesAServerThatLostItsPrimaryRole(t *testing.T) {
	cluster := storagetest.StartCluster(t)
	dsn := cluster.SuperuserURL()
	engine := open(t, postgres.Config{URL: always(dsn), SQL: static(oneJob)})
	ready(t, engine, "mail")
	demote(t, cluster)
	for range 2 {
		mustFail(t, engine, driver.Unavailable, "standby", "all hosts")
	}

	// Somebody who begins with a standby has chosen it.
	fresh := open(t, postgres.Config{URL: always(dsn), SQL: static(oneJob)})
	reading, err := fresh.Read(t.Context(), every)
	if err != nil {
		t.Fatal(err)
	}
	if len(reading.Notes) != 1 || !strings.Contains(reading.Notes[0], "standby") {
		t.Errorf("got notes %q, want one about the standby", reading.Notes)
	}
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: listening(static(oneJob))}))
	s.wait(t, "edge polling", func(s seen) bool { return s.mode == driver.ModeEdgePoll && strings.Contains(s.why, "standby") })
}

func TestSeveralHostsLeadToThePrimary(t *testing.T) {
	old, next := storagetest.StartCluster(t), storagetest.StartCluster(t)
	for name, cluster := range map[string]*storagetest.Cluster{"old": old, "next": next} {
		run(t, connect(t, cluster.SuperuserURL()), "CREATE TABLE jobs AS SELECT '"+name+"' AS queue, 1 AS ready",
			// A role that is read-only by default is none the less served by a primary.
			"ALTER ROLE postgres SET default_transaction_read_only = on")
	}
	u, err := url.Parse(old.SuperuserURL())
	if err != nil {
		t.Fatal(err)
	}
	u.Host = old.Address() + "," + next.Address()
	engine := open(t, postgres.Config{URL: always(u.String()), SQL: listening(static("SELECT * FROM jobs"))})
	s := watch(t, engine)
	if got := ready(t, engine, "old"); got != 1 {
		t.Errorf("got %d from the first host", got)
	}
	s.listens(t)
	demote(t, old)
	if got := ready(t, engine, "next"); got != 1 {
		t.Errorf("got %d from the second host", got)
	}
	s.wait(t, "listening to the second", func(s seen) bool {
		return s.mode == driver.ModeListen && len(s.modes) > 1 && s.signals[""] > 1
	})
	notify(t, connect(t, next.SuperuserURL()), "mail")
	s.wait(t, "a signal from the second", func(s seen) bool { return s.signals["mail"] > 0 })

	demote(t, next)
	mustFail(t, engine, driver.Unavailable)
}
