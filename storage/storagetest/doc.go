// Package storagetest holds what every engine and preset is tested with: throwaway servers, PostgreSQL
// ([Postgres], [StartCluster]) and Redis ([StartRedis], [StartSentinel], [StartRedisCluster]), fixtures that write
// jobs with the job library itself ([RiverPostgres], [RiverSQLite]), programs of test/libraries that do so in other
// languages ([Node], [Python], [Script], [OpenLibrary]), and the conformance suite ([Run]) that holds a driver.Reader and
// driver.Watcher against their contracts. It is imported by tests only.
//
// Nothing here is skipped silently: a missing server program fails the test and names the remedy.
package storagetest
