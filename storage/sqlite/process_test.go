package sqlite_test

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/leadsman/leadsman/storage/sqlite"
)

// The variables that make this test binary a writer instead.
const (
	writerPath  = "SQLITE_TEST_WRITER_PATH"
	writerCount = "SQLITE_TEST_WRITER_COUNT"
	inserted    = "inserted" // what the writer says when it has committed all
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerPath); path != "" {
		if err := beWriter(path, os.Getenv(writerCount)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// beWriter commits jobs, one by one, says so, and keeps the database open until its input ends.
func beWriter(path, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", sqlite.WriterDSN(path))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for range n {
		if _, err := db.Exec(`INSERT INTO jobs DEFAULT VALUES`); err != nil {
			return err
		}
	}
	fmt.Println(inserted)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startWriter commits n jobs in a process of its own, where SQLite's locks and shared memory are real, and returns
// when that is done. The database stays open there until end is called.
func startWriter(t *testing.T, path string, n int) (end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerPath+"="+path, writerCount+"="+strconv.Itoa(n))
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("writer process: %v", err)
		}
	})
	t.Cleanup(end)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != inserted+"\n" {
		t.Fatalf("writer process said %q, %v", line, err)
	}
	return end
}
