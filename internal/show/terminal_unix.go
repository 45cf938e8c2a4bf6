//go:build unix

package show

import (
	"io"

	"golang.org/x/sys/unix"
)

// terminalHeight tells whether out is a terminal, and how many lines it has.
func terminalHeight(out io.Writer) (lines int, ok bool) {
	file, ok := out.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Row), true
}
