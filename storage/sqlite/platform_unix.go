//go:build unix

package sqlite

import "golang.org/x/sys/unix"

// readable says whether the process may read path.
func readable(path string) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, unix.AT_EACCESS) == nil
}
