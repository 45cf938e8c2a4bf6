package redis_test

import (
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// Case 38.
func TestPasswordsThatAreWrongAreDenied(t *testing.T) {
	server := storagetest.StartRedis(t, storagetest.WithPassword("hunter2"))
	free := storagetest.StartRedis(t)
	server.AddUser(t, "reader", "a@b/c#d?e%", append(append([]string{}, base...), "+client|tracking")...)
	at := "@" + server.Addr()
	for name, test := range map[string]struct {
		url  string
		kind driver.Kind // of the error
		says string      // "" for no error
	}{
		"none":                    {"redis://" + server.Addr(), driver.Denied, "the server wants a password"},
		"an empty one":            {"redis://:" + at, driver.Denied, "the server wants a password"},
		"a wrong one":             {"redis://:hunter3" + at, driver.Denied, "the user or the password is wrong"},
		"of a wrong user":         {"redis://nobody:hunter2" + at, driver.Denied, "the user or the password is wrong"},
		"of the default user":     {"redis://:hunter2" + at, 0, ""},
		"of another user":         {server.UserURL("reader", "a@b/c#d?e%"), 0, ""},
		"where none is asked for": {"redis://:hunter2@" + free.Addr(), 0, ""}, // the user default takes any
		"empty, where none is":    {"redis://user:@" + free.Addr(), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tryRead(t, open(t, test.url), "mail")
			if test.says == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			fails(t, err, test.kind, test.says)
			if strings.Contains(err.Error(), "hunter") {
				t.Errorf("the password shows: %v", err)
			}
		})
	}
}

func TestPasswordsAreReadAnewForEachSession(t *testing.T) {
	server := storagetest.StartRedis(t)
	server.AddUser(t, "reader", "old", append(append([]string{}, base...), "+client|tracking")...)
	password := "old"
	engine, err := redis.Open(redis.Config{
		URL: func() (string, error) { return server.UserURL("reader", password), nil }, Redis: &shop,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	read(t, engine, "mail")
	password = "new"
	server.Do(t, "ACL", "SETUSER", "reader", "resetpass", ">new")
	server.Do(t, "CLIENT", "KILL", "USER", "reader")
	eventually(t, "it reads with the new password", func() bool { _, err := tryRead(t, engine, "mail"); return err == nil })
}

// Case 39.
func TestTLSIsAskedForWhereItIsMissing(t *testing.T) {
	secure, plain := storagetest.StartRedis(t, storagetest.WithTLS()), storagetest.StartRedis(t)
	for name, test := range map[string]struct{ url, says string }{
		"a server with TLS, in the clear": {"redis://" + secure.Addr(), "begin the URL with rediss:"},
		"a server without, by TLS":        {"rediss://" + plain.Addr(), "begin the URL with redis:"},
		"an unknown authority":            {"rediss://" + secure.Addr(), "?caFile="},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tryRead(t, open(t, test.url), "mail")
			fails(t, err, driver.Unavailable, test.says)
		})
	}
}

func TestTLSWithItsAuthorityAndAClientCertificate(t *testing.T) {
	server := storagetest.StartRedis(t, storagetest.WithMutualTLS())
	cert, key := server.ClientCertificate()
	engine := open(t, server.URL()+"?caFile="+server.CAFile()+"&certFile="+cert+"&keyFile="+key)
	s := storagetest.Watch(t, engine)
	s.AwaitWatch(t, driver.ModeTracking)
	shopOf(t, server).Insert("mail", 1)
	if got := ready(t, engine, "mail"); got != 1 {
		t.Errorf("ready = %d, want 1", got)
	}
	_, err := tryRead(t, open(t, server.URL()+"?caFile="+server.CAFile()), "mail")
	if err == nil {
		t.Error("a server that asks for a certificate was read without one")
	}
}

func TestServerThatTakesNoMoreConnectionsIsUnavailable(t *testing.T) {
	server := storagetest.StartRedis(t, storagetest.WithConfig("maxclients", "1"))
	shopOf(t, server).Insert("mail", 1) // its connection is the one
	_, err := tryRead(t, open(t, server.URL()), "mail")
	fails(t, err, driver.Unavailable)
}

func TestSourceAsksForTheDatabaseOfItsURL(t *testing.T) {
	server := storagetest.StartRedis(t)
	one := open(t, strings.TrimSuffix(server.URL(), "/0")+"/1")
	shopOf(t, server).Insert("mail", 1) // in 0
	if got := ready(t, one, "mail"); got != 0 {
		t.Errorf("ready = %d in database 1, want 0", got)
	}
	_, err := tryRead(t, open(t, strings.TrimSuffix(server.URL(), "/0")+"/99"), "mail")
	fails(t, err, driver.Schema, "fewer databases")
}
