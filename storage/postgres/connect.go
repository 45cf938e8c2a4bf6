package postgres

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leadsman/leadsman/storage/driver"
)

const (
	// A connection is replaced after a while, so that a fail-over by DNS and a rotated password reach all of them.
	connLifetime = 5 * time.Minute
	connJitter   = 30 * time.Second
	connIdle     = time.Minute
	// cancelWait is how long a read that was given up waits for the server to say so before it hangs up.
	cancelWait = 250 * time.Millisecond
)

// A connState is what the engine knows of one connection.
type connState struct {
	user     string
	location string
	prepared map[string]bool // statements by name
	query    *query          // the one that fits the version of the tables; nil until that has been read
	used     bool            // it has carried a read or another statement before
}

const stateKey = "leadsman"

func stateOf(conn *pgx.Conn) *connState {
	data := conn.PgConn().CustomData()
	state, ok := data[stateKey].(*connState)
	if !ok {
		config := conn.Config()
		state = &connState{user: config.User, location: location(config), prepared: make(map[string]bool, 2)}
		data[stateKey] = state
	}
	return state
}

// newPool makes the pool without connecting. Where to connect to is asked for each new connection.
func (e *Engine) newPool() (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig("host=localhost user=none sslmode=disable")
	if err != nil {
		// Only the process's own PG… variables can be at fault.
		return nil, driver.Errorf(driver.Unavailable, "the environment's PG… variables do not make sense to a PostgreSQL client")
	}
	config.MaxConns = int32(min(e.cfg.MaxConns, 1000)) //nolint:gosec // it is from 1 to 1000
	config.MaxConnLifetime, config.MaxConnLifetimeJitter = connLifetime, connJitter
	config.MaxConnIdleTime = connIdle
	// A ping would double the round trips; a dead connection shows at the read, which has a second try.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.BeforeConnect = func(_ context.Context, target *pgx.ConnConfig) error {
		fresh, err := e.connConfig(e.cfg.URL)
		if err != nil {
			return err
		}
		// Hanging up alone would leave the backend waiting, for a lock perhaps, and the next read would add one.
		fresh.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
			return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelWait}
		}
		*target = *fresh
		return nil
	}
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		if conn.Config().DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
			e.unnamed.Store(true) // default_query_exec_mode in the URL: somebody knows their pooler
		}
		return nil
	}
	return pgxpool.NewWithConfig(context.Background(), config)
}

// connConfig reads and parses a URL for one connection. It adds no startup parameter to those that the user
// wrote, because some poolers refuse all but user and database.
func (e *Engine) connConfig(source func() (string, error)) (*pgx.ConnConfig, error) {
	dsn, err := source()
	if err != nil {
		return nil, &driver.Error{Kind: driver.Unavailable, Message: "the database URL cannot be read: " + err.Error(), Err: err}
	}
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = e.cfg.Timeout
	}
	config.DialFunc = e.dialer.dial
	if config.ValidateConnect == nil && len(hosts(config)) > 1 && !statesSessionAttrs(dsn) {
		// Several hosts mean a primary and its standbys. Not "read-write": a role may well be read-only by default.
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	return config, nil
}

func statesSessionAttrs(dsn string) bool {
	return strings.Contains(dsn, "target_session_attrs") || os.Getenv("PGTARGETSESSIONATTRS") != ""
}
