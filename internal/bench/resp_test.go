package main

import (
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/storagetest"
)

func TestRESPConnTellsRepliesFromInvalidations(t *testing.T) {
	server := storagetest.StartRedis(t)
	tracker, err := trackRESP(t.Context(), server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	producer, err := dialRESP(t.Context(), server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for round := range int64(3) {
		count, err := tracker.do("LLEN", "mail")
		if err != nil || count.n != round {
			t.Fatalf("LLEN = %d, %v; want %d", count.n, err, round)
		}
		if _, err := producer.do("LPUSH", "mail", "job"); err != nil {
			t.Fatal(err)
		}
		if round == 1 { // what is not waited for is passed over
			if pong, err := tracker.do("PING"); err != nil || pong.text != "PONG" {
				t.Fatalf("PING = %q, %v", pong.text, err)
			}
			continue
		}
		if err := tracker.await(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRESPConnTakesEveryReplyOfAPipeline(t *testing.T) {
	server := storagetest.StartRedis(t)
	conn, err := dialRESP(t.Context(), server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	commands := [][]string{
		{"HELLO", "3"},
		{"MULTI"},
		{"HSET", "job", "data", "a\r\nb"},
		{"HGETALL", "job"},
		{"EXEC"},
		{"ZADD", "due", "1.5", "job"},
		{"ZSCORE", "due", "job"},
		{"GET", "none"},
		{"SISMEMBER", "none", "x"},
	}
	for _, command := range commands {
		conn.add(command...)
	}
	if err := conn.flush(len(commands)); err != nil {
		t.Fatal(err)
	}
	if got, err := conn.do("HGET", "job", "data"); err != nil || got.text != "a\r\nb" {
		t.Errorf("after a pipeline, HGET = %q, %v", got.text, err)
	}
	if _, err := conn.do("LLEN", "job"); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("LLEN of a hash: %v, want WRONGTYPE", err)
	}
}
