//go:build unix

package storagetest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// dialRedis connects as an engine would, in RESP3 over TCP.
func dialRedis(t *testing.T, url string, change ...func(*rueidis.ClientOption)) (rueidis.Client, error) { //nolint:ireturn // rueidis's
	t.Helper()
	opt, err := rueidis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	opt.ForceSingleClient, opt.DisableCache = true, true
	for _, f := range change {
		f(&opt)
	}
	client, err := rueidis.NewClient(opt)
	if err == nil {
		t.Cleanup(client.Close)
	}
	return client, err
}

func do(t *testing.T, client rueidis.Client, command ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return client.Do(ctx, client.B().Arbitrary(command...).Build()).Error()
}

func integer(t *testing.T, m rueidis.RedisResult) int64 {
	t.Helper()
	n, err := m.AsInt64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func text(t *testing.T, m rueidis.RedisResult) string {
	t.Helper()
	s, err := m.ToString()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRedisStartsEmptyAndIsReachedByItsURL(t *testing.T) {
	a, b := StartRedis(t), StartRedis(t)
	a.Do(t, "RPUSH", "q", "x", "y")
	client, err := dialRedis(t, a.URL())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := client.Do(t.Context(), client.B().Llen().Key("q").Build()).AsInt64(); n != 2 || err != nil {
		t.Errorf("LLEN over TCP = %d, %v; want 2", n, err)
	}
	if n := integer(t, b.Do(t, "DBSIZE")); n != 0 {
		t.Errorf("the second server holds %d keys, want none", n)
	}
}

func TestRedisIsGoneAfterTheTest(t *testing.T) {
	var dir string
	var pid int
	t.Run("inner", func(t *testing.T) {
		s := StartRedis(t)
		dir, pid = s.dir, s.server.pid
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("its directory is still there: %v", err)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("its process %d is still there", pid)
	}
}

func TestRedisKeepsItsPortOverStopKillAndFreeze(t *testing.T) {
	s := StartRedis(t, WithConfig("appendonly", "yes"), WithConfig("appendfsync", "always"))
	url := s.URL()
	s.Do(t, "SET", "k", "v")
	s.Restart(t)
	s.Kill(t)
	if _, err := dialRedis(t, url); err == nil {
		t.Error("a killed server was connected to")
	}
	s.Start(t)

	s.Signal(t, syscall.SIGSTOP)
	_, err := dialRedis(t, url, func(o *rueidis.ClientOption) {
		o.Dialer.Timeout, o.ConnWriteTimeout = time.Second, 300*time.Millisecond
	})
	if err == nil {
		t.Error("a frozen server answered")
	}
	s.Signal(t, syscall.SIGCONT)
	if got := text(t, s.Do(t, "GET", "k")); got != "v" || s.URL() != url {
		t.Errorf("k = %q at %s, want v at %s", got, s.URL(), url)
	}
}

func TestRedisForgetsOverARestartByDefault(t *testing.T) {
	s := StartRedis(t)
	s.Do(t, "SET", "k", "v")
	s.Restart(t)
	if got := s.Do(t, "GET", "k"); !rueidis.IsRedisNil(got.Error()) {
		t.Errorf("k = %v after a restart, want none", got)
	}
}

func TestKillingAFrozenRedisEnds(t *testing.T) {
	s := StartRedis(t)
	s.Signal(t, syscall.SIGSTOP)
	s.Kill(t)
}

func TestRedisTakesDirectives(t *testing.T) {
	s := StartRedis(t, WithConfig("notify-keyspace-events", "Kl"), WithConfig("rename-command", "HELLO", ""))
	if got, err := s.Do(t, "CONFIG", "GET", "notify-keyspace-events").AsStrMap(); err != nil || got["notify-keyspace-events"] != "lK" {
		t.Errorf("notify-keyspace-events = %v, %v; want lK", got, err)
	}
	// Without HELLO there is no RESP3: rueidis falls back by itself, and says so of whatever needs it.
	client, err := dialRedis(t, s.URL(), func(o *rueidis.ClientOption) { o.AlwaysRESP2 = true })
	if err != nil {
		t.Fatal(err)
	}
	if err := do(t, client, "HELLO", "3"); err == nil || !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("HELLO = %v, want an unknown command", err)
	}
}

func TestRedisWithAMistakenDirectiveSaysWhat(t *testing.T) {
	if _, err := newRedis(WithConfig("no-such-thing", "yes")); err == nil || !strings.Contains(err.Error(), "no-such-thing") {
		t.Errorf("err = %v, want one that names no-such-thing", err)
	}
}

func TestRedisAsksForItsPassword(t *testing.T) {
	const password = `it's a@b/c#d?e%\ "`
	s := StartRedis(t, WithPassword(password))
	s.Do(t, "SET", "k", "v")
	if _, err := dialRedis(t, s.URL()); err != nil {
		t.Errorf("with the password: %v", err)
	}
	client, err := dialRedis(t, s.URL(), func(o *rueidis.ClientOption) { o.Password = "" })
	if err == nil {
		err = do(t, client, "GET", "k")
	}
	if err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without the password: %v, want NOAUTH", err)
	}
}

func TestRedisUserMayDoWhatItsRulesSay(t *testing.T) {
	s := StartRedis(t)
	s.AddUser(t, "reader", "p@ss/word", "%R~queue:*", "+llen", "+hello")
	client, err := dialRedis(t, s.UserURL("reader", "p@ss/word"))
	if err != nil {
		t.Fatal(err)
	}
	if err := do(t, client, "LLEN", "queue:mail"); err != nil {
		t.Errorf("LLEN of a key that it may read: %v", err)
	}
	for _, refused := range [][]string{{"LLEN", "other"}, {"LPUSH", "queue:mail", "x"}} {
		if err := do(t, client, refused...); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("%v = %v, want NOPERM", refused, err)
		}
	}
}

func TestRedisReplicaFollowsItsPrimary(t *testing.T) {
	for name, opts := range map[string][]RedisOption{
		"plain": nil, "password": {WithPassword("secret")}, "mutual TLS": {WithMutualTLS()},
	} {
		t.Run(name, func(t *testing.T) {
			primary := StartRedis(t, opts...)
			primary.Do(t, "SET", "k", "v")
			replica := StartRedis(t, ReplicaOf(primary))
			if got := text(t, replica.Do(t, "GET", "k")); got != "v" {
				t.Errorf("k on the replica = %q, want v", got)
			}
		})
	}
}

func TestRedisWithTLSIsVerifiedByItsAuthorityAlone(t *testing.T) {
	s, stranger := StartRedis(t, WithTLS()), StartRedis(t, WithTLS())
	if !strings.HasPrefix(s.URL(), "rediss://127.0.0.1:") {
		t.Errorf("URL = %s", s.URL())
	}
	if _, err := dialRedis(t, s.URL(), trust(t, s)); err != nil {
		t.Errorf("with its own authority: %v", err)
	}
	if _, err := dialRedis(t, s.URL(), trust(t, stranger)); err == nil {
		t.Error("verified with another's authority")
	}
}

func TestRedisWithMutualTLSAsksForACertificate(t *testing.T) {
	s := StartRedis(t, WithMutualTLS())
	client, err := dialRedis(t, s.URL(), trust(t, s))
	if err == nil {
		err = do(t, client, "PING")
	}
	if err == nil {
		t.Error("answered a client without a certificate")
	}
	cert, err := tls.LoadX509KeyPair(s.ClientCertificate())
	if err != nil {
		t.Fatal(err)
	}
	show := func(o *rueidis.ClientOption) { o.TLSConfig.Certificates = []tls.Certificate{cert} }
	if _, err := dialRedis(t, s.URL(), trust(t, s), show); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
}

// trust makes a client verify the server by one's authority.
func trust(t *testing.T, s *RedisServer) func(*rueidis.ClientOption) {
	t.Helper()
	content, err := os.ReadFile(s.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		t.Fatal("the authority's file holds no certificate")
	}
	return func(o *rueidis.ClientOption) { o.TLSConfig.RootCAs = pool }
}
