package sqlite

import "os"

// trace is what the file system says of a database: by comparing two, a change is seen without opening
// anything, also where no file events arrive. It may say "same" after a write within the clock tick of the one
// before; a look that follows each change covers that.
type trace struct {
	db, wal os.FileInfo // nil for a file that is not there
}

func traceOf(path string) trace {
	return trace{db: statOrNil(path), wal: statOrNil(path + "-wal")}
}

func (t trace) equal(other trace) bool {
	return sameState(t.db, other.db) && sameState(t.wal, other.wal)
}

// replaced says whether the path named another file, or none, when other was taken.
func (t trace) replaced(other trace) bool { return !sameFile(t.db, other.db) }

func sameState(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b)
}

func statOrNil(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}
