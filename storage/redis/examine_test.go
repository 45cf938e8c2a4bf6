package redis_test

import (
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// finds holds the first finding of a check against a level and words.
func finds(t *testing.T, engine *redis.Engine, check string, level driver.Level, says ...string) {
	t.Helper()
	findings, err := engine.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Check != check {
			continue
		}
		if f.Level != level {
			t.Errorf("%s: got %+v, want level %s", check, f, level)
		}
		for _, part := range says {
			if !strings.Contains(f.Found+"; "+f.Remedy, part) {
				t.Errorf("%s: %+v does not say %q", check, f, part)
			}
		}
		return
	}
	t.Errorf("there is no finding for %s: %+v", check, findings)
}

func TestExamineFindsAServerThatEvicts(t *testing.T) {
	server := storagetest.StartRedis(t)
	engine := open(t, server.URL())
	finds(t, engine, "server", driver.LevelOK, "a master")
	finds(t, engine, "credentials", driver.LevelOK, "none")
	finds(t, engine, "eviction", driver.LevelOK, "noeviction")
	server.Do(t, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	finds(t, engine, "eviction", driver.LevelNote, "allkeys-lru", "noeviction")
	server.Do(t, "CONFIG", "SET", "maxmemory", "1gb")
	finds(t, engine, "eviction", driver.LevelWarn, "throws jobs away", "CONFIG SET maxmemory-policy noeviction")
	server.Do(t, "CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "1kb")
	finds(t, engine, "memory", driver.LevelWarn, "of maxmemory are in use")
}

// Case 36.
func TestExamineSaysWhichCommandsAreRefused(t *testing.T) {
	server := storagetest.StartRedis(t)
	rules := strings.Fields("-@all +ping +hello +auth +role +client|tracking +client|setname +client|id " +
		"+llen +zcount +zcard +zrangebyscore +smembers +scard +hget +exists ~*")
	server.AddUser(t, "reader", "hunter2", rules...)
	engine := open(t, server.UserURL("reader", "hunter2"))
	_, _ = tryRead(t, engine, "mail") // finds out
	finds(t, engine, "credentials", driver.LevelOK, "reader")
	finds(t, engine, "server", driver.LevelNote, "INFO is refused")
	finds(t, engine, "permissions", driver.LevelWarn, "MULTI is refused", "ACL SETUSER reader +multi")
}

func TestADeniedCommandComesWithTheLineThatAllowsIt(t *testing.T) {
	server := storagetest.StartRedis(t)
	server.AddUser(t, "reader", "hunter2", "-@all", "+ping", "+hello", "+auth", "+client", "+time", "+role", "~*")
	reading, err := tryRead(t, open(t, server.UserURL("reader", "hunter2")), "mail")
	for _, failed := range reading.Failed {
		err = failed
	}
	fails(t, err, driver.Denied, "as an administrator run: ACL SETUSER reader +")
}

func TestADeniedKeyComesWithTheLineThatAllowsIt(t *testing.T) {
	server := storagetest.StartRedis(t)
	server.AddUser(t, "reader", "hunter2", "+@all", "~other:*")
	reading, err := tryRead(t, open(t, server.UserURL("reader", "hunter2")), "mail")
	for _, failed := range reading.Failed {
		err = failed
	}
	fails(t, err, driver.Denied, `as an administrator run: ACL SETUSER reader "%R~shop:`)
}

func TestExamineKnowsAClusterAndItsNodesFromAServer(t *testing.T) {
	cluster := storagetest.StartRedisCluster(t)
	finds(t, open(t, cluster.Nodes()[0].URL()), "server", driver.LevelFail, "a node of a cluster", "redis+cluster:")
	whole := open(t, "redis+cluster://"+strings.Join(cluster.Addrs(), ","))
	finds(t, whole, "cluster", driver.LevelOK, "nodes are known")
	finds(t, whole, "server", driver.LevelOK, cluster.Addrs()[0][:9])
}

func TestExamineNamesTheMasterOfSentinels(t *testing.T) {
	sentinels := storagetest.StartSentinel(t)
	engine := open(t, "redis+sentinel://"+strings.Join(sentinels.Addrs(), ",")+"/"+sentinels.Master())
	finds(t, engine, "sentinel", driver.LevelOK, "named the master of "+sentinels.Master())
	finds(t, engine, "server", driver.LevelOK, "a master")
}

func TestExamineKnowsAReplica(t *testing.T) {
	primary := storagetest.StartRedis(t)
	replica := storagetest.StartRedis(t, storagetest.ReplicaOf(primary))
	finds(t, open(t, replica.URL()), "server", driver.LevelNote, "a replica")
}

func TestExamineFailsWhereNobodyIsLetIn(t *testing.T) {
	server := storagetest.StartRedis(t, storagetest.WithPassword("hunter2"))
	_, err := open(t, "redis://:hunter3@"+server.Addr()).Examine(t.Context())
	fails(t, err, driver.Denied, "password is wrong")
}
