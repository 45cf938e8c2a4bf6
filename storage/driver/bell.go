package driver

// A Bell says where a job library's jobs come into being, so that a trigger can announce them where the library does not,
// or where only some of its clients do. The engine writes the trigger ("leadsman trigger-sql" prints it for a database
// administrator) and listens to it where it finds it; it never installs it. PostgreSQL only.
type Bell struct {
	// Preset is the preset's name, of which the trigger's function has its own.
	Preset string
	// Queue is an expression over NEW, the row: the queue's name as SQL.Query returns it. NULL and '' stand for jobs
	// of no queue. It is part of the trigger's condition, and so holds no subquery.
	Queue string
	// Tables are those that jobs enter.
	Tables []BellTable
	// Silent says, in sentences for people, what makes a job runnable without ringing, such as the end of a pause. The
	// slow poll finds it. "" where there is nothing of that sort.
	Silent string
}

// A BellTable is a table whose inserts, and some of whose updates, make jobs runnable, be it at a later time.
type BellTable struct {
	// Name is the table's, without its schema.
	Name string
	// Each is a query for libraries that make a table for each queue: it returns the table's name and the queue's, text
	// both, and {schema} in it is SQL.Query's. Name is "" then, and Bell.Queue is TG_ARGV[0]: the queue's name as Each
	// gave it when the trigger was made. A queue made later has no bell until the trigger is installed anew.
	Each string
	// Insert is a condition on NEW: which inserted rows are jobs that will be runnable. "" is all.
	Insert string
	// Update is a condition on OLD and NEW: which updates make a job runnable, or runnable earlier. "" is none.
	Update string
}
