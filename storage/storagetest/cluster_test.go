//go:build unix

package storagetest

import (
	"bufio"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func count(t *testing.T, conn *pgx.Conn, query string) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPostgresGivesEachCallAnEmptyDatabase(t *testing.T) {
	a, b := connect(t, Postgres(t)), connect(t, Postgres(t))
	if _, err := a.Exec(t.Context(), "CREATE TABLE jobs (id int)"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, b, "SELECT count(*) FROM pg_tables WHERE tablename = 'jobs'"); n != 0 {
		t.Errorf("the second database holds the first one's table")
	}
}

func TestPostgresDropsTheDatabaseWhenTheTestEnds(t *testing.T) {
	var name string
	t.Run("inner", func(t *testing.T) {
		u, err := url.Parse(Postgres(t))
		if err != nil {
			t.Fatal(err)
		}
		name = strings.TrimPrefix(u.Path, "/")
	})
	conn := connect(t, Postgres(t))
	if n := count(t, conn, "SELECT count(*) FROM pg_database WHERE datname = '"+name+"'"); n != 0 {
		t.Errorf("database %s is still there", name)
	}
}

func TestClusterKeepsItsDataAndPortOverStopKillAndFreeze(t *testing.T) {
	c := StartCluster(t, Setting("max_connections", "20"), Password(`it's a@b/c#d?e%\ `))
	conn := connect(t, c.SuperuserURL())
	if _, err := conn.Exec(t.Context(), "CREATE TABLE jobs AS SELECT generate_series(1, 3)"); err != nil {
		t.Fatal(err)
	}
	c.Stop(t)
	if _, err := pgx.Connect(t.Context(), c.SuperuserURL()); err == nil {
		t.Error("a stopped server was connected to")
	}
	c.Start(t)
	c.Kill(t)
	c.Start(t)

	c.Signal(t, syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := pgx.Connect(ctx, c.SuperuserURL()); err == nil {
		t.Error("a frozen server answered")
	}
	c.Signal(t, syscall.SIGCONT)

	conn = connect(t, c.SuperuserURL())
	if n := count(t, conn, "SELECT count(*) FROM jobs"); n != 3 {
		t.Errorf("jobs = %d, want 3", n)
	}
	if n := count(t, conn, "SELECT current_setting('max_connections')::int"); n != 20 {
		t.Errorf("max_connections = %d, want 20", n)
	}
}

func TestClusterRefusesAWrongPassword(t *testing.T) {
	c := StartCluster(t, Password("right"))
	if _, err := pgx.Connect(t.Context(), strings.Replace(c.SuperuserURL(), "right", "wrong", 1)); err == nil {
		t.Error("connected with a wrong password")
	}
}

func TestStoppingAFrozenClusterEnds(t *testing.T) {
	c := StartCluster(t)
	connect(t, c.SuperuserURL())
	c.Signal(t, syscall.SIGSTOP)
	c.Stop(t)
}

// The server of a process that is killed goes with it: the test runs this test binary again, as the victim.
func TestServerGoesWhenTheProcessIsKilled(t *testing.T) {
	for _, state := range []string{"running", "frozen", "redis", "frozen redis"} {
		t.Run(state, func(t *testing.T) {
			dir, victim := startVictim(t, state)
			if err := victim.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = victim.Wait() // "signal: killed"
			eventually(t, func() bool {
				_, err := os.Stat(dir)
				return os.IsNotExist(err)
			}, "the killed process's server and its directory are gone")
		})
	}
}

// TestVictim starts a server and waits to be killed; it does so in the process that startVictim runs only.
func TestVictim(t *testing.T) {
	state := os.Getenv("STORAGETEST_VICTIM")
	if state == "" {
		return
	}
	var dir string
	var freeze func(testing.TB, syscall.Signal)
	if strings.Contains(state, "redis") {
		s := StartRedis(t)
		dir, freeze = s.dir, s.Signal
	} else {
		c := StartCluster(t)
		dir, freeze = c.dir, c.Signal
	}
	if strings.Contains(state, "frozen") {
		freeze(t, syscall.SIGSTOP)
	}
	if _, err := os.Stdout.WriteString(dir + "\n"); err != nil {
		t.Fatal(err)
	}
	select {}
}

// startVictim runs TestVictim in a process of its own and returns its server's directory.
func startVictim(t *testing.T, state string) (dir string, victim *exec.Cmd) {
	t.Helper()
	victim = exec.Command(os.Args[0], "-test.run=^TestVictim$")
	victim.Env = append(os.Environ(), "STORAGETEST_VICTIM="+state)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	dir = strings.TrimSpace(line)
	if err != nil || !filepath.IsAbs(dir) {
		t.Fatalf("the victim did not start its server: %q, %v", line, err)
	}
	return dir, victim
}

// eventually waits for a condition that other processes bring about.
func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", startTimeout, what)
		}
	}
}
