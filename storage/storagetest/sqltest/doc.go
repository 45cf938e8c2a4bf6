// Package sqltest is what presets for SQL job queues are tested with beyond the conformance suite: a database whose
// tables a test writes itself ([DB]), harnesses of the two engines for storagetest.Run ([PostgresHarness],
// [SQLiteHarness]), the golden text of a query, the GRANT lines of a README, and what a query cost ([Explain]).
//
// It is for libraries that cannot be run in a Go test: their schema is written by hand, with the same tables, columns
// and indexes, and a fixture writes the rows that the library would write. It is imported by tests only.
package sqltest
