package driver

import "time"

// A Preset is how one job library lays out its queues: data for the engines. A nil field means that the
// library does not run there.
type Preset struct {
	Name     string
	Postgres *SQL
	SQLite   *SQL
	Redis    *Redis
}

// SQL is a job library in a SQL database.
//
// Query returns one row per wanted queue, with columns by the row contract:
//
//	queue text, ready bigint                        required
//	lookahead float8 (seconds)                      required unless Static
//	known bool, running, scheduled bigint, saturated bool,
//	oldest_seconds float8 or oldest_ready_at timestamptz,
//	next_due_seconds float8 or next_due_at timestamptz,
//	paused bool, workers bigint, capacity bigint    optional
//
// NULL counts as 0 in a count and as "none" elsewhere. In the text, {schema} stands for the quoted schema
// and a dot, or nothing when the source names none. Unless Static, it uses the named parameters
//
//	@wants            JSON: [{"queue": text or null for every queue, "lookahead": seconds}, …]
//	@limit            bigint, the bound of each count
//	@running_max_age  float8, seconds after which a running job counts as an orphan
type SQL struct {
	Query string
	// Version is a query for libraries whose tables differ by version: it returns one row with one integer, the
	// schema's version, or no row or NULL where the library is not installed. "" where Query fits all versions. It
	// takes no parameters and is read once per connection.
	Version string
	// Layouts are what stands for Query where there is a Version: the one that holds it. A version that none
	// holds is an error of Kind Schema that names it and those known.
	Layouts []Layout
	// Activity is Query for reads of named queues that need to know no more than ready, running, saturated and
	// next_due_seconds ([Request.Activity]): the read between a job and the wake that it causes. "" where Query is quick enough.
	// It stands beside a Query with parameters, not beside Layouts.
	Activity string
	// Static says that Query takes no parameters and returns every queue there is: the engine picks the
	// wanted ones. Such a preset has no lookahead.
	Static bool
	// Schema is used where the source names none; "" leaves it to the database's search path.
	Schema string
	// RunningMaxAge is used where the source names none.
	RunningMaxAge time.Duration
	// Listen is how the library announces jobs; nil when it does not. PostgreSQL only.
	Listen *Listen
	// Bell is for a trigger that announces jobs; nil where a trigger of the library's own does, or where its tables
	// are not known. PostgreSQL only.
	Bell *Bell
	// Notes are shown as the source's conditions.
	Notes []string
}

// A Layout is the query for the versions of a library's schema from From to To, both included.
type Layout struct {
	From, To int64
	Query    string
}

// Listen is a NOTIFY channel and how its payload names the queue.
type Listen struct {
	// Channels are listened to together. {schema} stands for the bare schema name.
	Channels []string
	// Query returns more channels in its first column, for libraries that compute their names. It takes no
	// parameters, is read when the listening begins, and {schema} in it is SQL.Query's. "" where there is none.
	Query string
	// Partial says why not every job is announced, for libraries that announce only what they were told to.
	// Then the mode is [ModeEdgePoll] with this reason, and notifications only make it quicker. "" where
	// listening is enough.
	Partial string
	// Payload is a [PayloadForm] or a dot-separated path into a JSON payload, such as "queue".
	Payload string
	// Echo says when to look again after a notification, for libraries that announce the first of several
	// inserts only.
	Echo []time.Duration
}

// Payload forms that are no JSON path.
const (
	PayloadNone  = "none"   // says nothing of the queue: look at all
	PayloadQueue = "=queue" // the payload is the queue's name
)
