// Package e2e holds leadsman against KEDA itself: its tests run the built binary and talk to it through KEDA's
// own scalers, unmodified, as KEDA's operator does. Jobs come from River's own client.
//
// It is a module of its own because KEDA's scalers bring half the cloud with them, and nobody who imports leadsman
// should have to download that.
//
// Each test has a server, a database and ScaledObjects of its own. Times are logged (go test -v) and only generous
// deadlines are asserted: what leadsman promises is measured by its benchmarks.
package e2e
