package sqlite_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/sqlite"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// seen makes a condition for awaitChange: a read finds n ready jobs.
func seen(t *testing.T, engine *sqlite.Engine, n int64) func() bool {
	return func() bool {
		t.Helper()
		return ready(t, engine) == n
	}
}

func TestWatchMissesNoInsertOfRiver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "river.db")
	fixture := storagetest.RiverSQLite(t, path)
	engine := openEngine(t, path, withRiver)
	signals := watch(t, engine)
	for n := range int64(500) {
		time.Sleep(rand.N(4 * time.Millisecond))
		fixture.Insert("jobs", 1)
		signals.awaitChange(t, "a read on a signal sees the insert", seen(t, engine, n+1))
	}
}

func TestWatchMissesNoInsertAmongMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	writer := newWAL(t, path)
	engine := openEngine(t, path)
	signals := watch(t, engine)
	for round := range int64(10) {
		for range 50 {
			time.Sleep(rand.N(time.Millisecond))
			writer.insert(1)
		}
		signals.awaitChange(t, "a read on a signal sees the last insert", seen(t, engine, 50*(round+1)))
	}
}

func TestWatchNoticesCommitsInEveryJournalMode(t *testing.T) {
	for _, mode := range []string{"DELETE", "TRUNCATE", "PERSIST"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobs.db")
			writer := newRollback(t, path, mode)
			engine := openEngine(t, path)
			signals := watch(t, engine)
			for n := range int64(50) {
				time.Sleep(rand.N(2 * time.Millisecond))
				writer.insert(1)
				signals.awaitChange(t, "a read on a signal sees the insert", seen(t, engine, n+1))
			}
		})
	}
}

func TestWatchNoticesAWriterThatSyncsEachCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	writer := newStore(t, path, "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	engine := openEngine(t, path)
	signals := watch(t, engine)
	for n := range int64(50) {
		writer.insert(1)
		signals.awaitChange(t, "a read on a signal sees the insert", seen(t, engine, n+1))
	}
}

func TestWatchNoticesAWriterInAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	newWAL(t, path).close()
	engine := openEngine(t, path)
	signals := watch(t, engine)
	startWriter(t, path, 100)
	signals.awaitChange(t, "a read on a signal sees the last insert", seen(t, engine, 100))
}

func TestWatchNoticesAFileThatIsCreatedLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	engine := openEngine(t, path)
	signals := watch(t, engine)
	if got := signals.mode(); got != "file events: " {
		t.Errorf("mode %q, want file events: the folder is there", got)
	}
	newWAL(t, path).insert(3)
	signals.awaitChange(t, "a read on a signal sees the new file", func() bool {
		reading, err := read(t.Context(), engine) // fails while the table is being made
		return err == nil && reading.Queues[0].Ready == 3
	})
}

func TestWatchSaysThatTheFolderIsMissingAndNoticesItLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	path := filepath.Join(dir, "jobs.db")
	engine := openEngine(t, path)
	signals := watch(t, engine)
	if got := signals.mode(); !strings.HasPrefix(got, string(driver.ModeEdgePoll)) || !strings.Contains(got, dir+" does not exist") {
		t.Errorf("mode %q, want edge poll because of the missing folder", got)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	signals.awaitChange(t, "file events", func() bool { return signals.mode() == "file events: " })
	writer := newWAL(t, path)
	writer.insert(1)
	signals.awaitChange(t, "a read on a signal sees the insert", seen(t, engine, 1))

	// The folder goes and comes back, as a volume that is mounted anew.
	writer.close()
	rename(t, dir, dir+"-old")
	signals.awaitChange(t, "edge poll", func() bool { return signals.mode() != "file events: " })
	rename(t, dir+"-old", dir)
	signals.awaitChange(t, "file events again", func() bool { return signals.mode() == "file events: " })
	newWAL(t, path).insert(1)
	signals.awaitChange(t, "a read on a signal sees the insert", seen(t, engine, 2))
}

func TestWatchSeesAFileThatReplacesTheOldOne(t *testing.T) {
	dir := t.TempDir()
	path, next := filepath.Join(dir, "jobs.db"), filepath.Join(dir, "next.db")
	engine := openEngine(t, path)
	signals := watch(t, engine)
	for round := range int64(5) {
		// What a person does who swaps a database: end the writers, move the new file there, start them.
		// That the old file's log is gone by then is up to us, too: an open reader would have kept it.
		replacement := newWAL(t, next)
		replacement.insert(int(round) + 1)
		replacement.close()
		rename(t, next, path)
		total := round + 1
		signals.awaitChange(t, "a read on a signal sees the rows of the new file", seen(t, engine, total))

		end := startWriter(t, path, 3)
		total += 3
		signals.awaitChange(t, "a read on a signal sees the inserts", seen(t, engine, total))
		awaitClosed(t, path)
		end()
		// Looking at the file after that makes a new log, which is empty and harms no file that comes next.
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
			t.Fatal("the last writer left its log behind: somebody else had the file open")
		}
	}
}

func TestWatchFollowsASymbolicLink(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	path, target := filepath.Join(dir, "jobs.db"), filepath.Join(data, "real.db")
	writer := newWAL(t, target)
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	engine := openEngine(t, path)
	signals := watch(t, engine)
	writer.insert(1)
	signals.awaitChange(t, "a read on a signal sees the insert", seen(t, engine, 1))

	other := newWAL(t, filepath.Join(data, "other.db"))
	other.insert(5)
	if err := os.Symlink(other.path, path+".next"); err != nil {
		t.Fatal(err)
	}
	rename(t, path+".next", path)
	signals.awaitChange(t, "a read on a signal sees where the link leads now", seen(t, engine, 5))
	other.insert(1)
	signals.awaitChange(t, "a read on a signal sees the insert", seen(t, engine, 6))
}

func TestWatchClosesTheFileWhenIdle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	newWAL(t, path).close()
	engine := openEngine(t, path)
	signals := watch(t, engine)
	before := signals.count()
	end := startWriter(t, path, 1)
	signals.awaitChange(t, "a signal", func() bool { return signals.count() > before })
	awaitClosed(t, path)
	end()
}

func TestWatchIsQuietWhileNothingChanges(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.db")
	newWAL(t, path).close()
	startWriter(t, path, 1)
	engine := openEngine(t, path)
	signals := watch(t, engine)
	ready(t, engine)
	awaitClosed(t, path)
	before := signals.count()
	for range 20 { // reads of ours are no changes
		ready(t, engine)
	}
	neighbour := newWAL(t, filepath.Join(dir, "other.db")) // nor are other files
	neighbour.insert(20)
	time.Sleep(600 * time.Millisecond) // two polls; there is nothing to wait for where nothing is the right answer
	if got := signals.count() - before; got != 0 {
		t.Errorf("%d signals without a change", got)
	}
}
