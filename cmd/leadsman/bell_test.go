package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/storage/storagetest"
)

const delayedJobs = `CREATE TABLE delayed_jobs (
	id bigserial PRIMARY KEY, priority integer NOT NULL DEFAULT 0, attempts integer NOT NULL DEFAULT 0,
	handler text NOT NULL, last_error text, run_at timestamp(6), locked_at timestamp(6), failed_at timestamp(6),
	locked_by character varying, queue character varying, created_at timestamp(6), updated_at timestamp(6))`

// A library that announces nothing, the trigger that trigger-sql prints, the server as people run it, and KEDA's stream.
func TestAnInsertWakesAStreamByTheBell(t *testing.T) {
	url := storagetest.Postgres(t)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) }) // nothing is lost with it
	bell, err := runRoot(t, "trigger-sql", "delayed_job")
	if err != nil {
		t.Fatal(err)
	}
	exec := func(sql string) {
		t.Helper()
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(delayedJobs)
	exec(bell)
	conn := serveSource(t, url, "delayed_job")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := pb.NewExternalScalerClient(conn).StreamIsActive(ctx,
		&pb.ScaledObjectRef{Name: "worker", Namespace: "default", ScalerMetadata: map[string]string{"queue": "mail"}}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	for armed := false; !armed; time.Sleep(10 * time.Millisecond) {
		sources, err := leadsmanv1.NewInspectorClient(conn).ListSources(ctx, &leadsmanv1.ListSourcesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		// Eight locks are those of the one queue that is waited for.
		err = db.QueryRow(ctx, `SELECT count(*) = 8 FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&armed)
		if err != nil {
			t.Fatal(err)
		}
		armed = armed && sources.GetSources()[0].GetPushMode() == "armed bell"
	}
	var channel string
	if err := db.QueryRow(ctx, `SELECT substring(obj_description('leadsman_bell_delayed_job'::regproc) FROM 'channel (\w+)')`).
		Scan(&channel); err != nil {
		t.Fatal(err)
	}
	exec("LISTEN " + channel)
	exec("INSERT INTO delayed_jobs (handler, queue, run_at) VALUES ('job', 'mail', now() AT TIME ZONE 'utc')")
	answer, err := stream.Recv()
	if err != nil || !answer.GetResult() {
		t.Errorf("the stream says %v, %v; want true", answer, err)
	}
	if _, err := db.WaitForNotification(ctx); err != nil {
		t.Errorf("the bell did not ring: %v", err)
	}
}

// serveSource runs "leadsman serve" over one source, whose streams look only when they are told to.
func serveSource(t *testing.T, url, preset string) *grpc.ClientConn {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "leadsman.yaml")
	config := fmt.Sprintf("grpc: {listen: %q}\nhttp: {listen: \"off\"}\nsources:\n  jobs: {url: %q, preset: %s, resync: 1h}\n", addr, url, preset)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	root := newRootCommand()
	root.SetArgs([]string{"serve", "--config", file})
	root.SetErr(t.Output())
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // it has served its purpose
	return conn
}
