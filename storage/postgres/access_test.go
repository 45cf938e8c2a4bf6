package postgres_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// newRole creates a role without any privilege. Roles belong to the whole server, so the test drops it.
func newRole(t *testing.T, dsn, name string) string {
	t.Helper()
	conn := connect(t, dsn)
	run(t, conn, "CREATE ROLE "+name+" LOGIN")
	t.Cleanup(func() { run(t, connect(t, dsn), "DROP OWNED BY "+name, "DROP ROLE "+name) })
	return as(t, dsn, name, "")
}

func TestReadNamesTheGrantThatIsMissing(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, `CREATE SCHEMA "My Schema"`, `CREATE TABLE "My Schema".jobs AS SELECT 'mail' AS queue, 1 AS ready`)
	limited := newRole(t, dsn, "granted")
	engine := open(t, postgres.Config{URL: always(limited), SQL: static("SELECT * FROM {schema}jobs"), Schema: "My Schema"})
	for _, want := range []string{`GRANT USAGE ON SCHEMA "My Schema" TO "granted"`, `GRANT SELECT ON "My Schema"."jobs" TO "granted"`} {
		err := failure(t, engine, driver.Denied, "permission denied")
		_, grant, _ := strings.Cut(err.Message, "as the owner run: ")
		if want != grant {
			t.Fatalf("got %q, want %q", grant, want)
		}
		run(t, conn, grant)
	}
	ready(t, engine, "mail")
}

// Case 56.
func TestReadRefusesRowsThatAPolicyHides(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, "CREATE TABLE jobs AS SELECT 'mail' AS queue, 1 AS ready",
		"CREATE VIEW invoked WITH (security_invoker) AS SELECT * FROM jobs")
	limited := newRole(t, dsn, "policed")
	run(t, conn, "GRANT SELECT ON jobs, invoked TO policed")
	for _, relation := range []string{"jobs", "invoked"} {
		engine := open(t, postgres.Config{URL: always(limited), SQL: static("SELECT * FROM " + relation)})
		ready(t, engine, "mail") // the statement is planned, and the plan kept
		run(t, conn, "ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
		mustFail(t, engine, driver.Denied, "row-level security", "BYPASSRLS")
		run(t, conn, "CREATE POLICY p ON jobs USING (queue <> 'mail')")
		mustFail(t, engine, driver.Denied, "row-level security")
		run(t, conn, "DROP POLICY p ON jobs", "ALTER TABLE jobs DISABLE ROW LEVEL SECURITY")
	}
}

// Case 57.
func TestReadFindsTheTablesInASchemaOfAnyName(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, "CREATE TABLE jobs AS SELECT 'mail' AS queue, 1 AS ready")
	for _, schema := range []string{"Order", "My Schema", `a"b`, "x; drop", "x.y", "$1", "@wants", "{schema}"} {
		t.Run(schema, func(t *testing.T) {
			q := `"` + strings.ReplaceAll(schema, `"`, `""`) + `"`
			engine := open(t, postgres.Config{URL: always(dsn), SQL: static("SELECT * FROM {schema}jobs"), Schema: schema})
			// Not the table of the same name in the search path, and never a zero.
			mustFail(t, engine, driver.Schema, "does not exist", "migrations", "schema")
			run(t, conn, "CREATE SCHEMA "+q)
			mustFail(t, engine, driver.Schema, "does not exist")
			run(t, conn, "CREATE TABLE "+q+`.jobs AS SELECT 'mail' AS queue, 7 AS ready`)
			if got := ready(t, engine, "mail"); got != 7 {
				t.Errorf("got %d ready, want 7", got)
			}
		})
	}
	if _, err := postgres.Open(postgres.Config{URL: always(dsn), SQL: static("SELECT 1"), Schema: "a\x00b"}); err == nil {
		t.Error("a zero byte in the schema's name: want an error")
	}
}

func TestReadSaysWhatTheSchemaLacks(t *testing.T) {
	dsn := storagetest.Postgres(t)
	tests := map[string]string{
		"SELECT * FROM nowhere.jobs":  "does not exist",
		"SELECT absent FROM pg_class": `column "absent" does not exist`,
		"SELECT absent()":             "function absent() does not exist",
		"SELECT NULL::absent":         `type "absent" does not exist`,
	}
	for query, says := range tests {
		mustFail(t, open(t, postgres.Config{URL: always(dsn), SQL: static(query)}), driver.Schema, says)
	}
	other := strings.Replace(dsn, "/test_", "/absent_", 1)
	mustFail(t, open(t, postgres.Config{URL: always(other), SQL: static("SELECT 1")}), driver.Schema, "database", "does not exist")
}

// Case 24.
func TestReadRefusesWhatTheQueryCannotCompute(t *testing.T) {
	dsn := storagetest.Postgres(t)
	mustFail(t, open(t, postgres.Config{URL: always(dsn), SQL: static("SELECT 'mail' AS queue, 1/0 AS ready")}), driver.Contract, "division by zero")
}

func TestReadSaysThatTheServerIsFull(t *testing.T) {
	dsn := storagetest.Postgres(t)
	limited := newRole(t, dsn, "crowded")
	run(t, connect(t, dsn), "ALTER ROLE crowded CONNECTION LIMIT 0")
	mustFail(t, open(t, postgres.Config{URL: always(limited), SQL: static("SELECT 1")}), driver.Unavailable, "too many connections", "53300")
}

// passwords are such as people and generators make.
var passwords = []string{
	`a@b/c#d?e%`, `it's\`, "tab\there", "new\nline", ` leading and trailing `, `"quoted"`, `$1 {schema} %41`, `pässwörd`, `hunter2:x`, `'`, `\'`,
}

// Case 48.
func TestAnyPasswordWorksInBothForms(t *testing.T) {
	cluster := storagetest.StartCluster(t, storagetest.Password("hunter2"))
	dsn := cluster.Database(t)
	conn := connect(t, dsn)
	run(t, conn, "CREATE ROLE odd LOGIN")
	host, port, _ := strings.Cut(cluster.Address(), ":")
	for _, password := range passwords {
		t.Run(password, func(t *testing.T) {
			run(t, conn, "ALTER ROLE odd PASSWORD '"+strings.ReplaceAll(password, "'", "''")+"'")
			quoted := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password) + "'"
			forms := map[string]string{
				"URL":     as(t, dsn, "odd", password),
				"keyword": "host=" + host + " port=" + port + " dbname=postgres user=odd sslmode=disable password=" + quoted,
			}
			for form, text := range forms {
				engine := open(t, postgres.Config{URL: always(text), SQL: static("SELECT session_user::text AS queue, 1 AS ready")})
				if got := ready(t, engine, "odd"); got != 1 {
					t.Errorf("%s: got %d", form, got)
				}
				for _, secret := range []string{password, url.QueryEscape(password), text} {
					if !strings.Contains(strings.Join(postgres.Secrets(text), "\n"), secret) {
						t.Errorf("%s: Secrets does not hold %q", form, secret)
					}
				}
				if loc := postgres.Location(text); !strings.HasPrefix(loc, cluster.Address()+"/") {
					t.Errorf("%s: Location is %q", form, loc)
				}
			}
		})
	}
}

// Case 28.
func TestErrorsHoldNoPassword(t *testing.T) {
	cluster := storagetest.StartCluster(t, storagetest.Password("right"))
	address := cluster.Address()
	host, port, _ := strings.Cut(address, ":")
	tests := map[string]struct {
		dsn  string
		kind driver.Kind
	}{
		"refused":              {"postgres://postgres:hunter2@" + address + "/postgres?sslmode=disable", driver.Denied},
		"refused, keyword":     {"host=" + host + " port=" + port + " user=postgres password=hunter2", driver.Denied},
		"unreachable":          {"postgres://postgres:hunter2@127.0.0.1:1/postgres", driver.Unavailable},
		"no such host":         {"postgres://postgres:hunter2@host.invalid/postgres", driver.Unavailable},
		"at in the password":   {"postgres://postgres:p@hunter2@" + address + "/postgres", driver.Unavailable},
		"slash":                {"postgres://postgres:a/hunter2@" + address + "/postgres", driver.Unavailable},
		"hash":                 {"postgres://postgres:1#hunter2@" + address + "/postgres", driver.Unavailable},
		"question mark":        {"postgres://postgres:1?hunter2@" + address + "/postgres", driver.Unavailable},
		"percent":              {"postgres://postgres:%hunter2@" + address + "/postgres", driver.Unavailable},
		"colon":                {"postgres://postgres:hunter2:hunter2x", driver.Unavailable},
		"open quote":           {"host=" + host + " password='hunter2", driver.Unavailable},
		"space in the keyword": {"host=" + host + " password=a hunter2", driver.Unavailable},
		"parameter":            {"postgres://postgres@127.0.0.1:1/postgres?password=hunter2", driver.Unavailable},
		"unknown scheme":       {"mysql://root:hunter2@" + address, driver.Unavailable},
		"bad parameter":        {"postgres://postgres:hunter2@" + address + "/postgres?sslmode=hunter2", driver.Unavailable},
		"empty":                {" ", driver.Unavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			engine := open(t, postgres.Config{URL: always(tt.dsn), SQL: listening(static("SELECT 1"))})
			if err := failure(t, engine, tt.kind); strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error holds the password: %v", err)
			}
			sink := watch(t, engine)
			sink.wait(t, "a mode", func(s seen) bool { return s.mode != "" })
			if s := sink.now(); strings.Contains(s.why, "hunter2") {
				t.Errorf("the reason holds the password: %s", s.why)
			}
			if loc := postgres.Location(tt.dsn); strings.Contains(loc, "hunter2") {
				t.Errorf("Location holds the password: %s", loc)
			}
		})
	}
}
