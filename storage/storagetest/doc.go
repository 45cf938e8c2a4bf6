// Package storagetest holds what every engine and preset is tested with: throwaway servers, PostgreSQL
// ([Postgres], [StartCluster]) and Redis ([StartRedis]), fixtures that write jobs with the job library itself
// ([RiverPostgres], [RiverSQLite]), and the conformance suite ([Run]) that holds a driver.Reader and
// driver.Watcher against their contracts. It is imported by tests only.
//
// Nothing here is skipped silently: a missing server program fails the test and names the remedy.
package storagetest
