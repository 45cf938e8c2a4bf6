package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// A folder gives the file events of a directory. The directory is watched and not the file, because the file may
// not be there yet, may be replaced, and has its -wal and -journal beside it. Its methods work on nil: a folder
// whose events cannot be had, which has none.
type folder struct {
	notify *fsnotify.Watcher
	path   string
	info   os.FileInfo
}

// openFolder watches the directory that holds file.
func openFolder(file string) (*folder, error) {
	dir := filepath.Dir(file)
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := notify.Add(dir); err != nil {
		return nil, errors.Join(err, notify.Close())
	}
	return &folder{notify: notify, path: dir, info: info}, nil
}

func (f *folder) events() <-chan fsnotify.Event {
	if f == nil {
		return nil
	}
	return f.notify.Events
}

func (f *folder) errors() <-chan error {
	if f == nil {
		return nil
	}
	return f.notify.Errors
}

func (f *folder) close() error {
	if f == nil {
		return nil
	}
	return f.notify.Close()
}

// moved says whether its path names another directory by now, or none.
func (f *folder) moved() bool { return !sameFile(statOrNil(f.path), f.info) }

// resolve follows symbolic links as SQLite does, which puts -wal and -journal beside the file they lead to. What is
// not there yet is taken as it is written.
func resolve(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// concerns says whether an event may mean a commit, and closes the counter when the database was replaced. The
// -shm says nothing: commits change it through memory, which makes no event.
func (w *watch) concerns(event fsnotify.Event) bool {
	if event.Op == fsnotify.Chmod {
		return false
	}
	switch event.Name {
	case w.path:
		if event.Op&(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) != 0 {
			w.closeCounter()
		}
		return true
	case w.path + "-wal", w.path + "-journal":
		return true
	}
	return false
}

// folderReason says why there are no file events, and what to do.
func folderReason(file string, err error) string {
	dir := filepath.Dir(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("the folder %s does not exist yet; watching begins when it does", dir)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("the folder %s cannot be watched: permission denied; let leadsman's user read it", dir)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENOSPC):
		return fmt.Sprintf("the folder %s cannot be watched: %v; raise fs.inotify.max_user_instances or "+
			"fs.inotify.max_user_watches on the node", dir, err)
	}
	return fmt.Sprintf("the folder %s cannot be watched: %v", dir, err)
}
