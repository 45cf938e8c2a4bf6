package sqlite

import (
	"errors"
	"io"
	"os"
)

// inRollbackTransaction says whether a writer that uses a rollback journal is in the middle of a transaction.
//
// A reader that takes its shared lock just then keeps the writer from committing, and a writer without a busy
// timeout fails. So nobody looks while the journal beside the file is in use: it is there in DELETE mode, not
// empty in TRUNCATE mode, and does not begin with 28 zero bytes in PERSIST mode. SQLite takes no locks on the
// journal, so opening it takes none away. https://www.sqlite.org/fileformat2.html#the_rollback_journal
func inRollbackTransaction(path string) bool {
	journal, err := os.Open(path + "-journal")
	if err != nil {
		return false
	}
	defer journal.Close()
	var header [28]byte
	n, err := io.ReadFull(journal, header[:])
	if n == 0 || (err != nil && !errors.Is(err, io.ErrUnexpectedEOF)) {
		return false
	}
	return header != [28]byte{}
}
