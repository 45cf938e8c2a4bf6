//go:build !unix

package show

import "io"

// terminalHeight knows no terminal here: output is plain.
func terminalHeight(io.Writer) (lines int, ok bool) { return 0, false }
