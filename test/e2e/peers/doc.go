// Package peers sets leadsman beside what a user would take instead: KEDA's own triggers of the same queues, in one cluster, on
// one database, in one run. Beside both is the floor, a bare gRPC server in this process that pushes at the very moment.
//
// TestPeers measures how long it is from a job to spec.replicas = 1, in rounds that go from one contender to the next, so
// that noise hits them all alike; then what 1, 100 and 500 ScaledObjects cost the database and KEDA's operator while no
// job comes. Nothing absolute is asserted: a figure that falls short is shown as it is, and the test fails only if something
// could not be measured.
package peers
