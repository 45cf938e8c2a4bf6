// Package redis reads job queues in Redis and its kin, and notices when they change.
//
// An [Engine] holds one connection to a server (one per node of a cluster) for all queues of a source. What is read
// comes from the preset, a driver.Redis, which plans reads in rounds; each round is one pipeline. The commands are
// those that count or look at one element: nothing scans, blocks, writes or runs a script.
//
// The same connection tracks what it reads (CLIENT TRACKING, in its default mode): the server tells once when a key
// that was read last is written. So reading arms, a write signals, and the read that follows arms again; there is no
// moment at which a write could go by between the two. Where the server does not offer it, Watch listens to what the
// library announces itself, or to keyspace notifications, and says which it is.
//
// A connection and what was found out about its server are a session. Whoever finds it broken drops it; the next
// read or Watch begins another.
package redis
