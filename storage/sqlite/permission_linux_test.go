package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leadsman/leadsman/storage/driver"
)

// nobody is the user that asNobody acts as.
const nobody = 65534

// asNobody runs do with the file permissions of a user that owns nothing, and waits for it. Only one thread changes
// its identity; it ends with do.
func asNobody[T any](do func() T) T {
	done := make(chan T)
	go func() {
		runtime.LockOSThread() // and never unlock: the runtime then ends the thread
		if os.Geteuid() == 0 {
			_, _ = unix.SetfsgidRetGid(nobody)
			_, _ = unix.SetfsuidRetUid(nobody) // from root to another user, it takes the privileges over files away
		}
		done <- do()
	}()
	return <-done
}

// publicDir makes a directory that everybody may enter and nobody but its owner may write to.
func publicDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// readOnly makes the tests of a non-root user see what nobody sees.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		chmod(t, dir, 0o555)
		t.Cleanup(func() { chmod(t, dir, 0o755) })
	}
}

// Case 63.
func TestReadExplainsAWALThatItCannotOpenReadOnly(t *testing.T) {
	leave := map[string]func(t *testing.T, s *store){
		"no log": func(_ *testing.T, s *store) { s.close() },
		"a log left over": func(t *testing.T, s *store) {
			// A writer that died: its log is there and the shared memory is not.
			copyFile(t, s.path, s.path+".died")
			copyFile(t, s.path+"-wal", s.path+".died-wal")
			s.close()
			rename(t, s.path+".died", s.path)
			rename(t, s.path+".died-wal", s.path+"-wal")
		},
	}
	for name, do := range leave {
		t.Run(name, func(t *testing.T) {
			dir := publicDir(t)
			writer := newWAL(t, filepath.Join(dir, "jobs.db"))
			writer.insert(2)
			do(t, writer)
			chmod(t, writer.path, 0o644)
			readOnly(t, dir)
			engine := openEngine(t, writer.path)
			err := asNobody(func() error { _, err := read(t.Context(), engine); return err })
			var known *driver.Error
			if !errors.As(err, &known) || known.Kind != driver.Unavailable {
				t.Fatalf("Read = %v, want unavailable", err)
			}
			for _, word := range []string{"WAL mode", "jobs.db-shm", "write to " + dir, "journal_mode=DELETE"} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q does not say %q", err, word)
				}
			}
		})
	}
}

func TestReadWorksReadOnlyWithoutAWAL(t *testing.T) {
	dir := publicDir(t)
	writer := newRollback(t, filepath.Join(dir, "jobs.db"), "DELETE")
	writer.insert(2)
	chmod(t, writer.path, 0o644)
	readOnly(t, dir)
	engine := openEngine(t, writer.path)
	got := asNobody(func() any {
		reading, err := read(t.Context(), engine)
		if err != nil {
			return err
		}
		return reading.Queues[0].Ready
	})
	if got != int64(2) {
		t.Errorf("Read = %v, want 2 ready", got)
	}
}

func TestReadIsDeniedWithoutPermission(t *testing.T) {
	dir := publicDir(t)
	writer := newRollback(t, filepath.Join(dir, "jobs.db"), "DELETE")
	writer.close()
	chmod(t, writer.path, 0)
	engine := openEngine(t, writer.path)
	read := func() error { _, err := read(t.Context(), engine); return err }
	var known *driver.Error
	if err := asNobody(read); !errors.As(err, &known) || known.Kind != driver.Denied {
		t.Errorf("Read of a forbidden file = %v, want denied", err)
	}
	chmod(t, dir, 0o700)
	if os.Geteuid() == 0 {
		if err := asNobody(read); !errors.As(err, &known) || known.Kind != driver.Denied {
			t.Errorf("Read in a forbidden folder = %v, want denied", err)
		}
	}
}

func TestWatchPollsWhereTheFolderCannotBeWatched(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a folder of one's own that one cannot watch needs a second user")
	}
	dir := publicDir(t)
	writer := newRollback(t, filepath.Join(dir, "jobs.db"), "DELETE")
	chmod(t, writer.path, 0o644)
	chmod(t, dir, 0o711)
	engine := openEngine(t, writer.path)
	signals := &sink{changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- asNobody(func() error { return engine.Watch(ctx, signals) }) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch = %v, want nil", err)
		}
	}()
	signals.awaitChange(t, "edge poll with the reason", func() bool {
		return strings.HasPrefix(signals.mode(), "edge poll: ") && strings.Contains(signals.mode(), "permission denied")
	})
	before := signals.count()
	writer.insert(1)
	signals.awaitChange(t, "a signal all the same", func() bool { return signals.count() > before })
}
